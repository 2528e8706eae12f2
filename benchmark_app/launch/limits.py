"""The limits a user gives a run: how long it may take, and how much memory its worker may hold."""

from __future__ import annotations

import time
from collections.abc import Iterable

import psutil

from benchmark_app.settings import RunCfg

LOOK_S = 0.2  # between two looks at the memory, which cost a walk through the worker's processes


class Limits:
    """Whether a run has used up what it was given. The time counts from the making of this object.

    Args:
        cfg: The limits.

    Attributes:
        reached: The limit that ended the run, in a sentence; "" while none has.
    """

    def __init__(self, cfg: RunCfg) -> None:
        self._cfg = cfg
        self._ends = None if cfg.time_limit is None else time.monotonic() + cfg.time_limit
        self._next_look = 0.0
        self.reached = ""

    def out_of_time(self, now: float) -> bool:
        """Whether the run's time is over. A worker then still gets its grace to stop in.

        Args:
            now: The present [s, monotonic clock].
        """
        if self._ends is not None and now >= self._ends:
            self.reached = self.reached or f"the time limit was reached (run.time_limit={self._cfg.time_limit:g} s)"
        return bool(self.reached)

    def out_of_memory(self, now: float, pids: Iterable[int]) -> bool:
        """Whether processes and their descendants together hold more than allowed. They are to be ended at once.

        Resident memory counts, as the kernel's own limits do; memory shared between them is counted in each.

        Args:
            now: The present [s, monotonic clock].
            pids: The worker, or all ranks of it.
        """
        if self._cfg.memory_limit is None or now < self._next_look:
            return False
        self._next_look = now + LOOK_S
        held = sum(map(_resident, pids)) / 2**30
        if held <= self._cfg.memory_limit:
            return False
        self.reached = (
            f"the worker held {held:.2f} GiB, more than run.memory_limit={self._cfg.memory_limit:g} GiB allows"
        )
        return True


def _resident(pid: int) -> int:
    """Resident memory [bytes] of a process and its descendants; 0 if it is gone."""
    total = 0
    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0
    for process in tree:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue  # it ended while we looked
    return total
