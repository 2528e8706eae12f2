"""Waiting for the other end without falling asleep at once. Standard library only."""

from __future__ import annotations

import os
import select
import socket
import time

AWAKE_S = 0.3e-3
"""How long to look for what is due before sleeping until it comes [s]."""


class Watch:
    """Looks for something to come, for a while, before whoever receives it falls asleep: waking takes tens of us.

    Args:
        sock: What is watched.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._looks = select.poll()
        self._looks.register(sock, select.POLLIN)

    def stay_awake(self, longest_s: float = AWAKE_S) -> None:
        """Return as soon as something is there, or the time is over. Whoever else wants this core gets it meanwhile."""
        end = time.perf_counter() + longest_s
        while not self._looks.poll(0) and time.perf_counter() < end:
            os.sched_yield()
