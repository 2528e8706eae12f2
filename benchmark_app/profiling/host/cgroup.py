"""What the control groups of a process allow it, and what they did to it; versions 1 and 2.

Limits hold for a group and everything below it, so that the one that counts is the smallest on the way up to the mount.
In a container the mount ends at the container's own group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import small_files

ROOT = Path("/")
_NO_LIMIT = 2**60  # version 1 writes a number near 2^63 for "none"


@dataclass(frozen=True)
class Group:
    """The group of one controller.

    Attributes:
        version: 1 or 2.
        folder: Its folder.
        top: Folder where the hierarchy begins for this process.
    """

    version: int
    folder: Path
    top: Path

    def upwards(self) -> Iterator[Path]:
        """Its folder and those above it, up to the top."""
        folder = self.folder
        while True:
            yield folder
            if folder == self.top or folder == folder.parent:
                return
            folder = folder.parent


def group_of(controller: str, pid: int | str = "self", root: Path = ROOT) -> Group | None:
    """The group of a process for a controller such as `cpu` or `memory`; None where there is none, or it is hidden."""
    belongs = small_files.text(root / "proc" / str(pid) / "cgroup")
    mounts = small_files.text(root / "proc" / "self" / "mountinfo")
    if belongs is None or mounts is None:
        return None
    paths: dict[str, str] = {}
    for line in belongs.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in controllers.split(","):  # "" is version 2
            paths[name] = path
    version, key = (1, controller) if controller in paths else (2, "")
    if key not in paths:
        return None
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if not separator or len(fields) < 5 or len(kind) < 3:
            continue
        of_two = version == 2 and kind[0] == "cgroup2"
        if of_two or (version == 1 and kind[0] == "cgroup" and controller in kind[2].split(",")):
            top = root / fields[4].lstrip("/")
            shown = fields[3].rstrip("/")
            path = paths[key]
            inside = path[len(shown) :] if path == shown or path.startswith(f"{shown}/") else ""
            folder = top / inside.strip("/")
            return Group(version, folder if folder.is_dir() else top, top)
    return None


def limits(root: Path = ROOT) -> dict[str, Any]:
    """The limits of this process's groups, and how often and how long it was held back so far."""
    cpu, memory = group_of("cpu", root=root), group_of("memory", root=root)
    throttled = _throttled(cpu)
    return {
        "version": cpu.version if cpu is not None else memory.version if memory is not None else None,
        "cpu_limit_cores": _smallest(cpu, _cores),
        "memory_limit_gb": _gib(_smallest(memory, _bytes)),
        "cpu_throttled_s": throttled[0],
        "cpu_throttled_periods": throttled[1],
        "oom_kills": None if memory is None else _kills(memory),
    }


def _kills(group: Group) -> int | None:
    """Processes of a group the kernel has killed for want of memory; None where it is not counted."""
    name = "memory.events" if group.version == 2 else "memory.oom_control"
    return small_files.table(group.folder / name).get("oom_kill")


def apart(pid: int, root: Path = ROOT) -> Group | None:
    """The memory group of another process; None if it is this process's, too."""
    theirs, ours = group_of("memory", pid, root), group_of("memory", root=root)
    return None if theirs is None or ours is None or theirs.folder == ours.folder else theirs


def peak_of(group: Group) -> int | None:
    """Most memory [bytes] a group has ever held, with what the kernel keeps of the files it read and wrote."""
    return small_files.integer(group.folder / ("memory.peak" if group.version == 2 else "memory.max_usage_in_bytes"))


def _smallest(group: Group | None, read: Any) -> float | None:
    if group is None:
        return None
    found = [value for folder in group.upwards() if (value := read(folder, group.version)) is not None]
    return min(found, default=None)


def _cores(folder: Path, version: int) -> float | None:
    if version == 2:
        quota, _, period = (small_files.text(folder / "cpu.max") or "max").partition(" ")
        left, right = small_files.as_integer(quota), small_files.as_integer(period)
    else:
        left = small_files.integer(folder / "cpu.cfs_quota_us")
        right = small_files.integer(folder / "cpu.cfs_period_us")
    return left / right if left is not None and left > 0 and right else None


def _bytes(folder: Path, version: int) -> float | None:
    value = small_files.integer(folder / ("memory.max" if version == 2 else "memory.limit_in_bytes"))
    return value if value is not None and value < _NO_LIMIT else None


def _gib(value: float | None) -> float | None:
    return None if value is None else round(value / 2**30, 3)


def _throttled(group: Group | None) -> tuple[float | None, int | None]:
    """Time [s] and periods in which the group was held back, at the level where it was most."""
    best: tuple[float | None, int | None] = (None, None)
    for folder in group.upwards() if group is not None else ():
        stat = small_files.table(folder / "cpu.stat")
        seconds = stat["throttled_usec"] / 1e6 if "throttled_usec" in stat else None
        if seconds is None and "throttled_time" in stat:
            seconds = stat["throttled_time"] / 1e9
        if seconds is not None and (best[0] is None or seconds > best[0]):
            best = seconds, stat.get("nr_throttled")
    return best


class OomWatch:
    """Notices that the kernel kills processes for want of memory.

    Args:
        pid: A process of the group that is watched; it must live when this is made.
        root: Where /proc and /sys are.
    """

    def __init__(self, pid: int, root: Path = ROOT) -> None:
        self._root, self._group = root, group_of("memory", pid, root)
        self._before = self._counts()

    def _counts(self) -> tuple[int | None, int | None]:
        of_group = None if self._group is None else _kills(self._group)
        return of_group, small_files.table(self._root / "proc/vmstat").get("oom_kill")

    def found(self) -> str:
        """What happened since this was made, in words; "" if nothing did."""
        (group_before, machine_before), (group, machine) = self._before, self._counts()
        if group is not None and group_before is not None and group > group_before:
            limit = _smallest(self._group, _bytes)
            allowed = "" if limit is None else f" (it allows {limit / 2**30:.2f} GiB)"
            return f"the kernel ended it because its control group{allowed} was out of memory"
        if machine is not None and machine_before is not None and machine > machine_before:
            return "the kernel ended a process at that time because this machine was out of memory"
        return ""
