"""A sign of life in a folder: who works in it, and whether he still does, told to other machines, too.

A lock says so at once, but only to the machine that holds it: not every shared file system passes locks on.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

FILE = "heartbeat.json"
PERIOD_S = 5.0
STALE_S = 60.0
"""Silent for so long, a process on another machine counts as gone; clocks of two machines may differ by half of it."""


@dataclass(frozen=True, kw_only=True)
class Beat:
    """The last sign of life.

    Attributes:
        host: Name of the machine.
        pid: Process id there.
        age_s: Seconds since the sign.
    """

    host: str
    pid: int
    age_s: float


class Heartbeat:
    """Gives a sign of life in a folder for as long as the context lasts, and takes it away at the end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        with contextlib.suppress(OSError):  # a full disk: the lock still tells this machine
            self._path.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid()}) + "\n")
        self._thread.start()
        return self

    def _beat(self) -> None:
        while not self._ended.wait(PERIOD_S):
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def last_beat(folder: Path) -> Beat | None:
    """The last sign of life in a folder; None where there is none, because the work ended or never began."""
    path = folder / FILE
    try:
        age = time.time() - path.stat().st_mtime
        said: Any = json.loads(path.read_text(encoding="utf-8"))
        return Beat(host=str(said["host"]), pid=int(said["pid"]), age_s=max(0.0, age))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def is_live(folder: Path, lock: str) -> bool:
    """Whether a process works in a folder.

    Args:
        folder: The folder.
        lock: Name of the lock file that process holds.
    """
    beat = last_beat(folder)
    if beat is not None and beat.host != socket.gethostname():
        return beat.age_s < STALE_S
    return _is_locked(folder / lock)


def _is_locked(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
