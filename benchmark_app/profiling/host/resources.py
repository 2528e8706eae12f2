"""What a worker's processes use of the machine, sampled from their parent."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from . import cgroup
from .energy import CpuEnergy
from .gpu import GpuSampler
from .process_tree import ProcessTree

_GIB = 2**30
GROUP_LOOKS = 5  # a wrapper that moves the worker into a group of its own does so at once


@dataclass(frozen=True)
class Sample:
    """One look.

    Attributes:
        cpu_pct: CPU since the last look [%, 100 is one core].
        ram_gb: Resident memory [GiB].
        ram_peak_gb: Most resident memory since the last look, spikes included [GiB]; None where it is not told.
        gpus: UUID → what `GpuSampler.sample` says of it.
        cpu_energy_j: Energy of whole processors since the sampler was made [J]; None where it cannot be read.
    """

    cpu_pct: float
    ram_gb: float
    ram_peak_gb: float | None
    gpus: dict[str, dict[str, float]]
    cpu_energy_j: float | None


class ResourceSampler:
    """Samples processes and all their descendants, GPUs, and the energy of processors.

    CPU is measured between two looks, so the first call to `sample` only sets the starting point and returns None:
    there is no reading of zero that would drag a mean down.

    Args:
        pids: Roots of the tree.
        gpus: Reads the GPUs; None where none is used.

    Attributes:
        cpu_s: CPU time the tree has used up to the last look [s].
        group_peak_gb: Most memory of the control group the worker has to itself [GiB]; None where it shares ours.
    """

    def __init__(self, pids: Iterable[int], gpus: GpuSampler | None = None) -> None:
        pids = list(pids)
        self._tree = ProcessTree(pids)
        self._gpus = gpus
        self._energy = CpuEnergy()
        self._root = pids[0]
        self._looks = 0
        self._group: cgroup.Group | None = None
        self._at: float | None = None
        self._earlier_peak = 0
        self.cpu_s = 0.0
        self.group_peak_gb: float | None = None

    def sample(self) -> Sample | None:
        """Look at everything once; None on the first call, and when no process is left to look at."""
        now = time.monotonic()
        seen = self._tree.look()
        if seen is None or seen.rss == 0:  # all that is left has ended
            return None
        self.look_at_group()
        energy = self._energy.read()
        spent, self.cpu_s = seen.cpu_s - self.cpu_s, seen.cpu_s
        before, self._at = self._at, now
        if before is None or now <= before:
            self._earlier_peak = seen.peak
            return None
        peak, self._earlier_peak = max(seen.peak, self._earlier_peak), 0
        return Sample(
            cpu_pct=max(0.0, 100.0 * spent / (now - before)),
            ram_gb=seen.rss / _GIB,
            ram_peak_gb=peak / _GIB if seen.exact else None,
            gpus=self._gpus.sample(seen.pids) if self._gpus is not None else {},
            cpu_energy_j=energy,
        )

    def look_at_group(self) -> None:
        """Bring the group's peak up to date; it is there to be read when the processes are not any more."""
        if self._group is None and self._looks < GROUP_LOOKS:
            self._looks += 1
            self._group = cgroup.apart(self._root)
        if self._group is not None and (peak := cgroup.peak_of(self._group)) is not None:
            self.group_peak_gb = peak / _GIB
