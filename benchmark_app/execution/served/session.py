"""What a session's process does: it holds one client's environments, and ends with the connection or with the server.

NumPy only, unless the engine needs more.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_app.execution.description import Board
from benchmark_app.execution.host import COMMANDS, EnvHost
from benchmark_app.execution.hosting import make_host
from benchmark_app.execution.link import CARRIED
from benchmark_app.execution.link import told as as_plain
from benchmark_app.parent_link import die_with_parent

from .connection import Connection, LostError, Message
from .frames import FrameError, Limits
from .plain import apart, together
from .printed import printed_warnings
from .told import ON_THE_BOARD, may_mark, of_a_state

FRAME_S = 30.0
"""How long the rest of a request may take once it has begun to arrive."""
REPLY_S = 60.0
"""How long a client may take to make room for an answer."""
GRACE_S = 1.5
"""How long a step may go on once the server is stopping."""
STOPPED = "the server was stopped"
WANTED = {"num_envs": int, "device": str}
"""What a client says when it opens a session."""


def main(fd: int) -> None:
    """Be a session.

    Args:
        fd: The connection to the client, who knows the token and asked for a session.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the server decides, and says so by closing the pipe
    sock = socket.socket(fileno=fd)
    sock.set_inheritable(False)
    die_with_parent()
    spec = json.loads(sys.stdin.buffer.readline())
    session = Session(Connection(sock, Limits(), may_mark), spec)
    threading.Thread(target=_watch, args=(sock, session), daemon=True).start()
    status = session.run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # what an engine's threads are at, nobody waits for


def _watch(sock: socket.socket, session: Session) -> None:
    """Have the session end when the pipe from the server closes."""
    sys.stdin.buffer.read()
    session.stopping = True
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RD)  # who waits for a request hears of it
    threading.Event().wait(GRACE_S)
    os._exit(1)


class Session:
    """One client's environments.

    Args:
        connection: The connection to it.
        spec: What the server says: the number of the session, the request that opened it, and what is served.

    Attributes:
        stopping: The server is being stopped.
    """

    def __init__(self, connection: Connection, spec: dict[str, Any]) -> None:
        self.stopping = False
        self._connection = connection
        self._spec = spec
        self._next_id: int = spec["id"]
        self._reporting = False
        self._failed = ""
        self._dumps: Path | None = None
        self._host: EnvHost | None = None

    def run(self) -> int:
        """Build the environments and do what is asked, to the end.

        Returns:
            Exit status: 0 the client ended it, or went away; 1 anything else.
        """
        try:
            if not self._build():
                return 1
            while self._serve_one():
                pass
        except LostError:
            if self.stopping:
                self._say_goodbye(STOPPED)
        except (FrameError, TimeoutError) as error:
            # What else it may have meant, nobody knows: it is not asked again.
            self._say_goodbye(f"malformed: {error}" if isinstance(error, FrameError) else "half a request")
            return 1
        finally:
            self._connection.close()
            if self._host is not None:
                self._host.close()
            if self._dumps is not None:
                with contextlib.suppress(OSError):  # there are some, to be kept
                    self._dumps.rmdir()
        return 0

    def _build(self) -> bool:
        """Build the environments the request asks for, and say what they are."""
        wanted = self._spec["request"]
        for name, kind in WANTED.items():
            if type(wanted.get(name)) is not kind:
                self._error("refused", f"{name}: must be given")
                return False
        if unknown := sorted(wanted.keys() - WANTED.keys()):
            self._error("refused", f"{', '.join(unknown)}: unknown")
            return False
        try:
            host = make_host(**self._spec["settings"], rows=wanted["num_envs"], device=wanted["device"])
        except Exception as error:
            traceback.print_exception(error)
            self._error("raised", error=error)
            return False
        self._host = host
        host.board = Board(host.description, host.rows)
        gc.freeze()  # what was made so far stays: no collection needs to look at it again
        self._answer({"session": self._spec["session"], "description": host.description.to_plain(), "pid": os.getpid()})
        return True

    def _serve_one(self) -> bool:
        """Answer one request.

        Returns:
            Whether there may be another.
        """
        message = self._connection.receive(None, FRAME_S)
        if message.id != self._next_id:
            raise FrameError(f"request {message.id} where {self._next_id} was due")
        if message.kind == "close":
            assert self._host is not None, "it was built"
            host, self._host = self._host, None
            host.close()
            self._answer({})
            return False
        if self._failed:
            self._error("failed", self._failed)
            return True
        try:
            values, arrays = self._do(message)
        except FrameError:
            raise
        except Exception as error:
            traceback.print_exception(error)
            if type(error) not in CARRIED.values():  # nothing an environment says: who knows what it left
                self._failed = f"an earlier request failed ({type(error).__name__}: {error})"
            self._error("raised", error=error)
        else:
            try:
                self._answer(values, arrays)
                self._connection.stay_awake()  # the next step mostly comes at once
            except FrameError as error:  # ours: nothing of it was sent
                self._failed = f"what the environment gave cannot be sent ({error})"
                self._error("failed", self._failed)
        return True

    def _do(self, message: Message) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        host = self._host
        assert host is not None, "it was built"
        if message.kind == "step":
            self._take_actions(host.board, message)
            host.step()
            return {}, of_a_state(host.board, reporting=self._reporting)
        if message.kind != "command" or message.values.keys() != {"name", "arguments"}:
            raise FrameError(f"{message.kind}: no such request")
        name, arguments = message.values["name"], together(message.values["arguments"], message.arrays)
        if name not in COMMANDS or not isinstance(arguments, dict):
            raise FrameError("command: must have a known name, and arguments")
        if name == "guard" and self._spec["files"] is not None:
            self._keep_dumps_here(arguments.get("settings"))
        told = host.command(name, arguments)
        if name == "warnings" and self._spec["files"] is not None:
            told["counts"] = self._with_printed(told["counts"])
        answer, arrays = apart(told)
        if name == "reporting":
            self._reporting = bool(arguments["enabled"])
        if name in ON_THE_BOARD:
            arrays |= of_a_state(host.board, reporting=False)
        return {"answer": answer}, arrays

    def _with_printed(self, counts: dict[str, int]) -> dict[str, int]:
        """Warnings that mean wrong physics, those among them that the engine only printed: no run watches this log."""
        sys.stdout.flush()
        sys.stderr.flush()
        printed = printed_warnings(Path(f"{self._spec['files']}.log"), self._spec["settings"]["physics"])
        return {name: max(counts.get(name, 0), printed.get(name, 0)) for name in {**counts, **printed}}

    def _keep_dumps_here(self, settings: Any) -> None:
        """Have a guard write where the server says, and not where a client does."""
        if isinstance(settings, dict):
            folder = Path(self._spec["files"])
            folder.mkdir(exist_ok=True)
            self._dumps, settings["directory"] = folder, str(folder)

    @staticmethod
    def _take_actions(board: Board, message: Message) -> None:
        actions, wanted = message.arrays.get("actions"), board["actions"]
        if actions is None or len(message.arrays) != 1 or message.values:
            raise FrameError("step: must have actions, and nothing else")
        if actions.shape != wanted.shape or actions.dtype != wanted.dtype:
            raise FrameError(f"actions: {actions.dtype} {list(actions.shape)} instead of float32 {list(wanted.shape)}")
        np.copyto(wanted, actions)

    def _answer(self, values: dict[str, Any], arrays: dict[str, np.ndarray] | None = None) -> None:
        sys.stdout.flush()  # what was printed of it is in the log before the client knows
        sys.stderr.flush()
        self._connection.send(self._next_id, "ok", values, arrays, REPLY_S)
        self._next_id += 1

    def _error(self, kind: str, message: str = "", error: Exception | None = None) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        values: dict[str, Any] = {"kind": kind, "message": message}
        if error is not None:
            values |= {"error": as_plain(error), "message": f"{type(error).__name__}: {error}"}
        self._connection.send(self._next_id, "error", values, timeout=REPLY_S)
        self._next_id += 1

    def _say_goodbye(self, message: str) -> None:
        """Tell the client why there will be no other answer, if it still listens."""
        with contextlib.suppress(LostError, TimeoutError, FrameError):
            self._connection.send(self._next_id, "bye", {"message": message}, timeout=1.0)
