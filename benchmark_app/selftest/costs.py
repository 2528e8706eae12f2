"""What the clock can tell, and what watching a worker costs."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import pairwise

from benchmark_app.profiling.host.gpu import GpuSampler
from benchmark_app.profiling.host.resources import ResourceSampler

READINGS = 100_000
LOOKS = 100
MOST_CORES = 64


@dataclass(frozen=True)
class Clock:
    """The clock that times steps, `time.perf_counter`.

    Attributes:
        implementation: What it is made of, as Python says.
        step_s: Smallest difference between two readings that differ [s].
        read_s: What one reading costs [s].
        readings: How many were taken.
        backwards: How many were before the one that was taken just before.
        cores: Cores on which they were taken, from one to the next.
    """

    implementation: str
    step_s: float
    read_s: float
    readings: int
    backwards: int
    cores: int


def measure_clock() -> Clock:
    """Read the clock again and again, on one core after the other: what one core reads, the next must not precede."""
    read = time.perf_counter
    allowed = sorted(os.sched_getaffinity(0))
    visited = allowed[:MOST_CORES]
    each = READINGS // len(visited)
    readings: list[float] = []
    spent = 0.0
    try:
        for core in visited:
            os.sched_setaffinity(0, {core})
            begin = read()
            taken = [read() for _ in range(each)]
            spent += read() - begin
            readings += taken
    finally:
        os.sched_setaffinity(0, allowed)
    differences = [after - before for before, after in pairwise(readings)]
    info = time.get_clock_info("perf_counter")
    return Clock(
        implementation=info.implementation,
        step_s=min(difference for difference in differences if difference > 0),
        read_s=spent / len(readings),
        readings=len(readings),
        backwards=sum(difference < 0 for difference in differences),
        cores=len(visited),
    )


@dataclass(frozen=True)
class Watching:
    """What the supervisor's looks at a worker cost.

    Attributes:
        look_s: CPU time of one look at its processes, and at the GPUs where there are any [s].
        period_s: Time between two looks [s].
    """

    look_s: float
    period_s: float

    @property
    def core_share(self) -> float:
        """The part of one core it takes, 0 to 1."""
        return self.look_s / self.period_s


def measure_watching(period_s: float) -> Watching:
    """Look at this very process as at a worker.

    Args:
        period_s: `profiling.sample_period_s`.
    """
    sampler = ResourceSampler([os.getpid()], GpuSampler())
    sampler.sample()  # the first one only begins
    begin = time.process_time()
    for _ in range(LOOKS):
        sampler.sample()
    return Watching((time.process_time() - begin) / LOOKS, period_s)
