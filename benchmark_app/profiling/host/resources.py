"""CPU and memory of a process tree, seen from its parent."""

from __future__ import annotations

import time

import psutil

from .gpu import GpuSampler


class TreeSampler:
    """Samples a process and all its descendants.

    CPU is measured between two samples, so the first call to `sample` only sets the starting point and returns None:
    there is no reading of zero that would drag a mean down.

    Args:
        pid: Root of the tree.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._gpus = GpuSampler()
        self._cpu_s: dict[int, float] = {}
        self._at = 0.0

    def sample(self) -> tuple[float, float, dict[str, dict[str, float]]] | None:
        """Look at the tree once.

        Returns:
            CPU since the last sample [%, 100 is one core], resident memory [GiB] and GPU readings by UUID; None on the
            first call and when the process is gone.
        """
        now = time.monotonic()
        cpu_s: dict[int, float] = {}
        rss = 0
        try:
            tree = [self._root, *self._root.children(recursive=True)]
        except psutil.Error:
            return None
        for process in tree:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    rss += process.memory_info().rss
            except psutil.Error:
                continue  # it ended while we looked
            cpu_s[process.pid] = times.user + times.system
        # A process seen for the first time spent all of its CPU time since the last look.
        spent = sum(seconds - self._cpu_s.get(pid, 0.0) for pid, seconds in cpu_s.items())
        first, elapsed = not self._cpu_s, now - self._at
        self._cpu_s, self._at = cpu_s, now
        if first or not cpu_s or elapsed <= 0 or rss == 0:
            return None
        return max(0.0, 100.0 * spent / elapsed), rss / 2**30, self._gpus.sample()
