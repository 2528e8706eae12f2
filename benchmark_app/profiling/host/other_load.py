"""How busy other processes keep the cores this one may use.

All busy time in /proc/stat, less our own: this process's, and that of the children it collected. Both are cumulative
counters, so that a mark costs one small read, and two marks are a window. One is made when the program starts: the
window before a run is then the time the program needs for its own start, and costs nobody a wait. /proc/stat counts in
hundredths of a second, which is why a window has a least length.

Standard library only.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LEAST_S = 0.2  # at a hundredth per core and kind of time, an error below 15 % of a core
STALE_S = 10.0  # a longer window says little about the moment at which the run begins


@dataclass(frozen=True)
class Mark:
    """Counters at one instant, of the cores this process may use.

    Attributes:
        t: When [s, monotonic clock].
        cores: Their numbers.
        busy_s: Time they were busy [s], summed.
        stolen_s: Time in which a hypervisor ran something else on them [s], summed.
        own_s: CPU time of this process and of what it started [s].
    """

    t: float
    cores: tuple[int, ...]
    busy_s: float
    stolen_s: float
    own_s: float


@dataclass(frozen=True)
class OtherLoad:
    """What others did between two marks.

    Attributes:
        seconds: Length of the window [s].
        cores: How many cores were looked at.
        percent: CPU time others used [%, 100 is one core].
        stolen_percent: CPU time a hypervisor took away [%, 100 is one core].
    """

    seconds: float
    cores: int
    percent: float
    stolen_percent: float


class Watch:
    """Keeps the mark at which the window before the next run begins."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._begin: Mark | None = None

    def begin(self) -> None:
        """The window before the next run begins here: nothing of ours runs but this process."""
        self._begin = mark(proc=self._proc)

    def before(self) -> tuple[OtherLoad | None, Mark | None]:
        """End the window here, which takes a wait only where it is shorter than `LEAST_S`.

        Returns:
            What others did in it, and the mark at its end, where a run may begin; None where the system does not tell.
        """
        stale = self._begin is None or time.monotonic() - self._begin.t > STALE_S
        if stale or self._begin.cores != usable_cores():  # type: ignore[union-attr]
            self.begin()
        begin = self._begin
        if begin is None:
            return None, None
        time.sleep(max(0.0, LEAST_S - (time.monotonic() - begin.t)))
        end = mark(proc=self._proc)
        return (None, None) if end is None else (between(begin, end), end)


def mark(unaccounted_s: float = 0.0, proc: Path = PROC) -> Mark | None:
    """Read the counters now; None where the system has none.

    Args:
        unaccounted_s: CPU time of processes of ours that this one never collected [s].
        proc: Where /proc is.
    """
    cores = usable_cores()
    times = core_times(proc, cores)
    if times is None:
        return None
    spent = os.times()
    own = spent.user + spent.system + spent.children_user + spent.children_system
    return Mark(time.monotonic(), cores, *times, own_s=own + unaccounted_s)


def between(begin: Mark, end: Mark) -> OtherLoad | None:
    """What others did from one mark to another; None where they are of other cores or too close together."""
    seconds = end.t - begin.t
    if begin.cores != end.cores or seconds < LEAST_S / 2:
        return None
    others = (end.busy_s - begin.busy_s) - (end.own_s - begin.own_s)
    most = 100.0 * len(end.cores)
    return OtherLoad(
        seconds=seconds,
        cores=len(end.cores),
        percent=min(most, max(0.0, 100.0 * others / seconds)),
        stolen_percent=min(most, max(0.0, 100.0 * (end.stolen_s - begin.stolen_s) / seconds)),
    )


def usable_cores() -> tuple[int, ...]:
    """Numbers of the cores this process may run on."""
    if sys.platform == "linux":
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def core_times(proc: Path, cores: tuple[int, ...]) -> tuple[float, float] | None:
    """Busy and stolen time of these cores [s], summed since the machine started; None where there is no /proc/stat."""
    try:
        lines = (proc / "stat").read_text().splitlines()
    except OSError:
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    wanted = {f"cpu{core}" for core in cores}
    busy = stolen = found = 0
    for line in lines:
        name, *fields = line.split()
        if name not in wanted:
            if not name.startswith("cpu"):
                break
            continue
        # user nice system idle iowait irq softirq steal; the time of guests is in `user` already. A core that waits
        # for a disk is free.
        values = [int(field) for field in fields[:8]] + [0] * (8 - len(fields[:8]))
        busy += values[0] + values[1] + values[2] + values[5] + values[6]
        stolen += values[7]
        found += 1
    if found != len(wanted):
        return None
    return busy / ticks, stolen / ticks


watch = Watch()
"""The window of this process; the program begins it as it starts."""
