"""The conditions a run meets: readings before it and after it, and what happened in between.

A reading is plain JSON data; docs/conditions.md lists its fields. What cannot be read here is None.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import cgroup, gpu, machine
from .other_load import OtherLoad

ROOT = Path("/")

# Counter → where it stands in a reading. What they grew by while the run lasted is what concerns the run.
COUNTERS = {
    "cpu_throttle_events": ("cpu", "throttle_count"),
    "swapped_pages": ("memory", "swapped_pages"),
    "cgroup_throttled_s": ("cgroup", "cpu_throttled_s"),
    "cgroup_throttled_periods": ("cgroup", "cpu_throttled_periods"),
    "oom_kills": ("cgroup", "oom_kills"),
    "machine_oom_kills": ("memory", "oom_kills"),
    "cpu_pressure_s": ("pressure", "cpu_some_s"),
    "memory_pressure_s": ("pressure", "memory_full_s"),
    "io_pressure_s": ("pressure", "io_full_s"),
}


def read_host(before: OtherLoad | None = None, root: Path = ROOT) -> dict[str, Any]:
    """Read everything but the GPUs; a few milliseconds.

    Args:
        before: What others did just before; None where it is not known or was not looked at.
        root: Where /proc and /sys are.
    """
    return {
        "cpu": machine.read_cpu(root),
        "memory": machine.read_memory(root),
        "pressure": machine.read_pressure(root),
        "cgroup": cgroup.limits(root),
        "platform": machine.read_platform(root),
        "others": load_of(before),
    }


def read_gpus(uuids: Sequence[str] | None = None, own: Collection[int] = ()) -> dict[str, Any]:
    """Read the driver's version and the state of devices.

    Args:
        uuids: Which; None for all.
        own: Processes that are not counted among those that use a device.
    """
    wanted = None if uuids is None else {gpu.plain_uuid(uuid) for uuid in uuids}
    if wanted is not None and not wanted:
        return {"gpu_driver": None, "gpus": []}
    found = [device for device in gpu.all_devices() if wanted is None or gpu.plain_uuid(device.uuid) in wanted]
    return {"gpu_driver": gpu.driver() if found else None, "gpus": [gpu.describe(device, own) for device in found]}


def load_of(load: OtherLoad | None) -> dict[str, float | int] | None:
    """What others did, as it stands in a reading."""
    if load is None:
        return None
    return {
        "seconds": round(load.seconds, 3),
        "cores": load.cores,
        "percent": round(load.percent, 1),
        "stolen_percent": round(load.stolen_percent, 1),
    }


def growth(start: Mapping[str, Any], end: Mapping[str, Any]) -> dict[str, float | None]:
    """By how much each counter grew from one reading to another; None where it is not counted.

    A counter that became smaller belongs to something else by now (the process was moved to another group).
    """
    found: dict[str, float | None] = {}
    for name, (part, key) in COUNTERS.items():
        before, after = (reading.get(part, {}).get(key) for reading in (start, end))
        known = before is not None and after is not None and after >= before
        found[name] = round(after - before, 6) if known else None
    return found
