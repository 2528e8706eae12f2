"""The worker's end of the pipe to its parent. Standard library only.

The pipe carries three things: the parent's request to stop, the worker's last words when it cannot write its journal,
and, by closing, the news that the other end is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading

STOP = b"stop\n"


class ParentLink:
    """Watches the pipe in a thread.

    Attributes:
        stop_requested: True once the parent asked the worker to stop at its next step. A plain attribute, because it
            is looked at in every environment step.

    Args:
        fd: File descriptor of the worker's end.
    """

    def __init__(self, fd: int) -> None:
        self.stop_requested = False
        self._socket = socket.socket(fileno=fd)
        self._socket.set_inheritable(False)
        die_with_parent()
        threading.Thread(target=self._watch, name="parent-link", daemon=True).start()

    def _watch(self) -> None:
        while True:
            try:
                data = self._socket.recv(64)
            except OSError:
                data = b""
            if not data:
                # The parent is gone: nobody would collect this process, or what it started.
                os.killpg(0, signal.SIGKILL)
            if STOP.strip() in data:
                self.stop_requested = True

    def last_words(self, text: str) -> None:
        """Tell the parent why this worker ends, when the journal cannot be written."""
        self._socket.sendall(text.encode(errors="replace")[:4000])


def die_with_parent() -> None:
    """Have the kernel end this process with its parent, even while native code holds the interpreter lock."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
