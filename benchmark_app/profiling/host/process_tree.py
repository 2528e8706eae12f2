"""CPU time and memory of processes and all their descendants, from /proc.

Counters are cumulative, so that nothing is lost between two looks: the CPU time of a child that lived and died between
them stands in its parent's account of collected children, and the kernel keeps every process's high-water mark of
memory. The walk goes from parent to child and costs what the tree is large, not what the machine is busy.

Standard library and psutil, which stands in where there is no /proc.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One look at a process.

    Attributes:
        pid: Its number, which another process may get after it.
        born: When it was started, in the system's own unit: with the number, it names a process for good.
        parent: Number of its parent.
        cpu_s: CPU time it used itself [s].
        collected_s: CPU time of its children that ended and were waited for, and of theirs [s].
        rss: Resident memory [bytes].
        high_water: Largest resident memory it ever had [bytes]; None where the system does not tell.
    """

    pid: int
    born: float
    parent: int
    cpu_s: float
    collected_s: float
    rss: int
    high_water: int | None


@dataclass(frozen=True)
class TreeUse:
    """What a tree of processes has used.

    Attributes:
        cpu_s: CPU time since the roots were started [s], of processes that have ended, too.
        rss: Resident memory now [bytes]; memory that processes share is counted in each.
        peak: No more than this was resident at once since the last look [bytes]. For a single process it is exact,
            spikes included. Of several, the highest points since the last look are added as if they had coincided.
        pids: The processes.
        exact: The kernel told the high-water mark of every process.
    """

    cpu_s: float
    rss: int
    peak: int
    pids: frozenset[int]
    exact: bool


class ProcessTree:
    """Looks at processes and their descendants again and again.

    A descendant stays in the tree when its parent dies before it. A number that meanwhile belongs to another process
    is told by its time of birth.

    Args:
        roots: Numbers of the processes; they must not have been collected before the last look.
        proc: Where /proc is.
    """

    def __init__(self, roots: Iterable[int], proc: Path = PROC) -> None:
        self._roots = list(roots)
        self._proc = proc
        self._seen: dict[int, Process] = {}
        self._ended_s = 0.0

    def look(self) -> TreeUse | None:
        """Look once; None when no process is left."""
        now = self._walk()
        gone = [process for pid, process in self._seen.items() if pid not in now or now[pid].born != process.born]
        self._settle(gone, now)
        peak, exact = sum(process.rss for process in gone), True
        for pid, process in now.items():
            before = self._seen.get(pid)
            if before is not None and before.born != process.born:
                before = None
            exact = exact and process.high_water is not None
            peak += _highest(process, before)
        self._seen = now
        if not now:
            return None
        return TreeUse(
            cpu_s=self._ended_s + sum(process.cpu_s + process.collected_s for process in now.values()),
            rss=sum(process.rss for process in now.values()),
            peak=peak,
            pids=frozenset(now),
            exact=exact,
        )

    def _walk(self) -> dict[int, Process]:
        found: dict[int, Process] = {}
        queue = list(self._roots)
        while queue:
            pid = queue.pop()
            if pid in found or (process := look_at(pid, self._proc)) is None:
                continue
            found[pid] = process
            queue += children_of(pid, self._proc)
        for before in list(self._seen.values()):  # whose parent has died: nobody's child here, and still ours
            if before.pid in found:
                continue
            again = look_at(before.pid, self._proc)
            if again is not None and again.born == before.born:
                queue = [before.pid]
                while queue:
                    pid = queue.pop()
                    if pid not in found and (process := look_at(pid, self._proc)) is not None:
                        found[pid] = process
                        queue += children_of(pid, self._proc)
        return found

    def _settle(self, gone: Iterable[Process], now: dict[int, Process]) -> None:
        """Keep the CPU time of processes that have ended, unless an ancestor that collected them tells it."""
        owed: dict[int, float] = {}
        for process in gone:
            spent, ancestor = process.cpu_s + process.collected_s, process.parent
            while ancestor in self._seen and ancestor not in now:
                ancestor = self._seen[ancestor].parent
            if ancestor in now and ancestor in self._seen:
                owed[ancestor] = owed.get(ancestor, 0.0) + spent
            else:
                self._ended_s += spent
        for pid, spent in owed.items():
            # Looked at anew: it may have collected the child after it was looked at, and before the child was.
            now[pid] = look_at(pid, self._proc) or now[pid]
            told = now[pid].collected_s - self._seen[pid].collected_s
            self._ended_s += max(0.0, spent - told)  # it ignores its children's ends, and the kernel forgets them


def _highest(process: Process, before: Process | None) -> int:
    """Most memory [bytes] a process held since it was last looked at."""
    if process.high_water is not None and (before is None or process.high_water > (before.high_water or 0)):
        return process.high_water
    return max(process.rss, before.rss if before is not None else 0)


def look_at(pid: int, proc: Path = PROC) -> Process | None:
    """Look at one process; None if it is gone. One that ended and was not collected yet still tells its CPU time."""
    if not _TICKS or not proc.is_dir():
        return _by_psutil(pid)
    try:
        # The name, which may hold anything, ends at the last bracket.
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        status = (proc / str(pid) / "status").read_bytes()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    rss = _kib(status, b"VmRSS:")
    return Process(
        pid=pid,
        born=float(fields[19]),
        parent=int(fields[1]),
        cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS,
        collected_s=(int(fields[13]) + int(fields[14])) / _TICKS,
        rss=(rss or 0) * 1024,
        # An ended process has neither; what it held before stands in the last look.
        high_water=None if (high := _kib(status, b"VmHWM:")) is None and fields[0] not in b"ZX" else (high or 0) * 1024,
    )


def children_of(pid: int, proc: Path = PROC) -> list[int]:
    """Numbers of its children, of all of its threads."""
    if not _TICKS or not proc.is_dir():
        try:
            return [child.pid for child in psutil.Process(pid).children()]
        except psutil.Error:
            return []
    try:
        threads = os.listdir(proc / str(pid) / "task")
    except OSError:
        return []  # it ended
    found: list[int] = []
    missing = 0
    for thread in threads:
        try:
            with open(proc / str(pid) / "task" / thread / "children", "rb") as file:
                found += map(int, file.read().split())
        except OSError:
            missing += 1  # this thread ended
    if missing == len(threads) and not (proc / "thread-self" / "children").exists():
        return _scan(pid, proc)  # a kernel that was built without these files
    return found


def _scan(parent: int, proc: Path) -> list[int]:
    """Children found by looking at every process of the machine."""
    found = []
    for name in os.listdir(proc):
        if name.isdecimal() and (process := look_at(int(name), proc)) is not None and process.parent == parent:
            found.append(process.pid)
    return found


def _by_psutil(pid: int) -> Process | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            return Process(
                pid=pid,
                born=process.create_time(),
                parent=process.ppid(),
                cpu_s=times.user + times.system,
                collected_s=getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0),
                rss=process.memory_info().rss,
                high_water=None,
            )
    except psutil.Error:
        return None


def _kib(status: bytes, name: bytes) -> int | None:
    at = status.find(b"\n" + name)
    return int(status[at + 1 + len(name) :].split(None, 1)[0]) if at >= 0 else None


_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") and PROC.is_dir() else 0
