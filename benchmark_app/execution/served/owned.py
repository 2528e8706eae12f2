"""A server of one's own: started in another interpreter, and never left behind. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from . import auth
from .client import ServerError, ServerRefusal

HOST = "127.0.0.1"
STOP_S = 5.0
"""How long it may take to close its sessions."""


class OwnedServer:
    """A listening process that ends with this one, whatever ends this one.

    Args:
        python: The interpreter.
        settings: The environment it serves, in plain data.
        max_envs: Rows of a session.
        max_sessions: Sessions at a time.
        timeout_s: How long it may take until it listens [s].
        log: File for what it and its sessions print; None: where this process prints.

    Attributes:
        address: Where it listens.
        token: What it must be told.

    Raises:
        ServerRefusal: The interpreter cannot be started.
        ServerError: It ended, or took too long, before it served.
    """

    def __init__(
        self,
        python: str,
        settings: dict[str, Any],
        *,
        max_envs: int,
        max_sessions: int,
        timeout_s: float,
        log: Path | None = None,
    ) -> None:
        self._log = log
        self.token = auth.new_token()
        read, write = os.pipe()
        program = str(Path(__file__).with_name("__main__.py"))
        try:
            with contextlib.ExitStack() as stack:
                output = None if log is None else stack.enter_context(log.open("wb"))
                # In our group: who ends that ends both.
                self._process = subprocess.Popen(
                    [python, "-P", program, "serve", str(write)],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=None if output is None else subprocess.STDOUT,
                    pass_fds=[write],
                )
        except OSError as error:
            os.close(read)
            raise ServerRefusal(f"{python}: cannot be started ({error.strerror})") from None
        finally:
            os.close(write)
        spec = {"token": self.token, "settings": settings, "max_envs": max_envs, "max_sessions": max_sessions}
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it died at once, which is found out next
            self._process.stdin.write(json.dumps(spec).encode() + b"\n")
            self._process.stdin.flush()
        try:
            self.address = (HOST, self._port(read, python, timeout_s))
        except BaseException:
            self.close()
            raise
        finally:
            os.close(read)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def epitaph(self) -> str:
        """How it ended, "" while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(0.2)  # its connections break a moment before it can be collected
            return f"the server {how_it_ended(code)}{self._output_is()}"
        return ""

    def close(self) -> None:
        """Stop it, and wait until it is gone. Calling it twice is harmless."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _output_is(self) -> str:
        if self._log is None:
            return ""
        with contextlib.suppress(OSError):
            if lines := self._log.read_text(errors="replace").strip().splitlines():
                return f"; the last of {self._log}: {lines[-1]}"
        return f"; its output is in {self._log}"

    def _port(self, read: int, python: str, timeout_s: float) -> int:
        """The port, as soon as it listens."""
        said, deadline = b"", time.monotonic() + timeout_s
        while not said.endswith(b"\n"):
            if not select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise ServerError(f"{python}: its server did not start within {timeout_s:g} s")
            if not (data := os.read(read, 4096)):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    how = how_it_ended(self._process.wait(STOP_S))
                    raise ServerError(f"{python}: its server {how} before it served{self._output_is()}")
                raise ServerError(f"{python}: its server closed the pipe and runs on")
            said += data
        port: int = json.loads(said)["port"]
        return port


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
