"""A process with environments in it, as whoever steps them sees it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import benchmark_app
from benchmark_app.execution.awake import Watch
from benchmark_app.execution.description import Description
from benchmark_app.execution.link import EnvLink, LinkError, raise_told

from .messages import STEP, EndOfLink, receive, send, send_bytes

CLOSE_S = 10.0
"""How long a process may take to close its environments before it is ended."""
ENDING_S = 5.0
"""How long one whose socket has closed may take to end."""


class ProcessLink(EnvLink):
    """A process of this machine, and memory shared with it that has no name, so that nothing is left of it.


    It is started as a file, so that it loads exactly this package in whatever interpreter, in the process group
    of this one. Construction starts it; `opened` waits until its environments are built, so that several are at once.

    Args:
        environments: Keyword arguments of `hosting.make_host`.
        memory: File for the board of all parts, of no size yet.
        number: Number of the part.
        parts: How many parts there are.
        where: What it is called in messages: `environment process 1 (rows 512 to 1023)`.
        python: Interpreter; None: this one.
        cores: Processor cores it keeps to; empty: any.
        variables: Variables of its environment beside those of this process.
        log: File for its output; None: kept only to tell its last line if it dies.
        timeout_s: Longest time an answer may take [s].
    """

    def __init__(
        self,
        environments: Mapping[str, Any],
        memory: int,
        *,
        number: int = 0,
        parts: int = 1,
        where: str = "environment process",
        python: str | None = None,
        cores: tuple[int, ...] = (),
        variables: Mapping[str, str] | None = None,
        log: Path | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        self.rows = int(environments["rows"])
        self._where, self._log, self._timeout_s = where, log, timeout_s
        self._cores = cores
        self.core = cores[0] if len(cores) == 1 else None
        self._output: IO[bytes] = log.open("wb") if log is not None else tempfile.TemporaryFile()  # noqa: SIM115
        self._socket, theirs = socket.socketpair()
        self._watch = Watch(self._socket)
        program = Path(benchmark_app.__file__).parent / "worker" / "__main__.py"
        with theirs:
            self._process = subprocess.Popen(
                [python or sys.executable, "-P", str(program), "environments", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno(), memory],
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(variables or {})},
            )
        self._closed = self._silent = False
        request = {
            "environments": dict(environments),
            "memory": memory,
            "number": number,
            "parts": parts,
            "cores": list(cores),
            "path": [] if python else [path or os.getcwd() for path in sys.path],
        }
        self._socket.settimeout(timeout_s)
        self._guarded(lambda: send(self._socket, request))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def opened(self, timeout_s: float) -> None:
        """Wait until the environments are built.

        Raises:
            LinkError: The process died, or took longer than `timeout_s`.
            Exception: What building them raised.
        """
        self._socket.settimeout(timeout_s)
        answer = self._answer()
        self._socket.settimeout(self._timeout_s)
        self.description = Description.from_plain(answer["description"])

    def post_step(self) -> None:
        """Wake it with a byte."""
        self._guarded(lambda: send_bytes(self._socket, STEP))

    def wait_step(self, *, soon: bool = False) -> None:
        """Sleep until it answers: the core is its, or another one's. If that is due, not at once."""
        if soon:
            self._watch.stay_awake()
        if (message := self._guarded(lambda: receive(self._socket))) is not None:
            raise_told(message["error"])

    def post(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Send a frame."""
        message = {"name": name, "arguments": dict(arguments)}
        self._guarded(lambda: send(self._socket, message))

    def wait(self) -> dict[str, Any]:
        """Wait for a frame."""
        answer: dict[str, Any] = self._answer()["answer"]
        return answer

    def facts(self) -> dict[str, Any]:
        """Process, rows and cores."""
        return {"pid": self.pid, "rows": self.rows, "cores": list(self._cores), "log": str(self._log or "")}

    def close(self) -> None:
        """Let it close its environments, and end it if it takes too long."""
        if self._closed:
            return
        self._closed = True
        self._socket.close()
        if self._silent:  # it would not hear that the socket has closed either
            self._process.kill()
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def _answer(self) -> dict[str, Any]:
        message = self._guarded(lambda: receive(self._socket))
        assert message is not None, "a frame is answered by a frame"
        if "error" in message:
            raise_told(message["error"])
        found: dict[str, Any] = message
        return found

    def _guarded(self, exchange: Any) -> Any:
        """Do something with the socket; say what became of the process if that fails."""
        if self._closed:
            raise LinkError(f"{self._where} is closed")
        try:
            return exchange()
        except EndOfLink:
            raise LinkError(self._obituary()) from None
        except TimeoutError:
            self._silent, waited = True, self._socket.gettimeout()
            setting = "timeout_s" if waited == self._timeout_s else "start_timeout_s"
            raise LinkError(
                f"{self._where} did not answer within {waited:g} s (execution.{setting}){self._output_is()}"
            ) from None

    def _obituary(self) -> str:
        """How the process ended."""
        deadline = time.monotonic() + ENDING_S  # the socket closes a moment before the process ends
        while (code := self._process.poll()) is None and time.monotonic() < deadline:
            time.sleep(0.005)
        if code is None:
            how = "closed its socket"
        elif code < 0:
            how = f"was killed by {_signal(-code)}"
        else:
            how = f"ended with status {code}"
        return f"{self._where} {how}{self._output_is()}"

    def _output_is(self) -> str:
        if self._log is not None:
            return f"; its output is in {self._log}"
        with contextlib.suppress(OSError, ValueError):
            self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - 4000))
            if lines := self._output.read().decode(errors="replace").strip().splitlines():
                return f"; the last it said: {lines[-1]}"
        return ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
