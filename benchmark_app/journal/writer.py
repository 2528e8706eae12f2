"""Appending events to a journal file: one writer per file, one line per event, never half a line."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from types import TracebackType

from .events import Event

# `PyDLL` calls keep the lock, unlike those of `CDLL`.
_LIBC = ctypes.PyDLL(None, use_errno=True) if sys.platform == "linux" else None
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def _write(fd: int, data: memoryview) -> int:
    """`os.write` without giving up the interpreter lock where that can be had.

    A library's logging thread takes the lock whenever it is free, and keeps it for half a millisecond: more than all
    that is written here in an iteration.
    """
    if _LIBC is None:
        return os.write(fd, data)
    written: int = _LIBC.write(fd, bytes(data), len(data))
    if written < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return written


class JournalWriter:
    """Appends events to one file. Each line reaches the operating system before `append` returns.

    A line that does not fit on the disk is taken back whole, so that the file always ends with a complete line and
    more can be appended once there is space.

    Args:
        path: The journal file. It must not exist: a journal has one writer.

    Raises:
        FileExistsError: The file is already there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end = 0

    def append(self, event: Event) -> None:
        """Write one event.

        Raises:
            ValueError: The event holds NaN or an infinite number.
            OSError: The line could not be written whole (full disk); nothing of it stays in the file.
        """
        line = _ENCODER.encode({"kind": event.kind, **vars(event)}).encode() + b"\n"
        try:
            view = memoryview(line)
            while view:
                view = view[_write(self._fd, view) :]
        except OSError:
            os.ftruncate(self._fd, self._end)
            raise
        self._end += len(line)

    def sync(self) -> None:
        """Force what was written onto the disk."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file. Calling it twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
