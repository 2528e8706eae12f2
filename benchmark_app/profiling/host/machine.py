"""The state of this machine at one instant, as far as the system tells it. What it does not tell is None.

Counters (throttling, swap, pressure) count from the machine's start: only a difference of two readings means something.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from . import small_files
from .other_load import usable_cores

ROOT = Path("/")
MANY = 16  # cores whose frequency is looked at: on some machines every look interrupts the core

# Words in what the firmware calls the machine, by the kind of virtual machine they mean.
_MACHINES = {
    "kvm": "kvm", "qemu": "kvm", "vmware": "vmware", "virtualbox": "virtualbox", "amazon ec2": "amazon",
    "google compute": "google", "virtual machine": "hyperv", "openstack": "openstack", "xen": "xen",
    "parallels": "parallels",
}  # fmt: skip
_CONTAINERS = ("docker", "kubepods", "libpod", "podman", "lxc", "containerd")


def read_cpu(root: Path = ROOT) -> dict[str, Any]:
    """Load, cores, governor, frequency and heat."""
    cores = usable_cores()
    try:
        load: tuple[float | None, ...] = os.getloadavg()
    except (OSError, AttributeError):
        load = (None, None, None)
    folder = root / "sys/devices/system/cpu"
    looked_at = [folder / f"cpu{core}" for core in cores[:MANY]]
    return {
        "logical": os.cpu_count(),
        "usable": len(cores),
        "affinity": _ranges(cores),
        "load_1m": load[0],
        "load_5m": load[1],
        "load_15m": load[2],
        "driver": _same([small_files.text(core / "cpufreq/scaling_driver") for core in looked_at]),
        "governor": _same([small_files.text(core / "cpufreq/scaling_governor") for core in looked_at]),
        "frequency_mhz": _frequency(root, looked_at, cores),
        "frequency_allowed_mhz": _lowest([core / "cpufreq/scaling_max_freq" for core in looked_at]),
        "frequency_possible_mhz": _lowest([core / "cpufreq/cpuinfo_max_freq" for core in looked_at]),
        "throttle_count": _throttled(looked_at),
        "boost": _boost(folder),
        "smt": _truth(small_files.integer(folder / "smt/active")),
        "on_battery": _on_battery(root),
    }


def read_memory(root: Path = ROOT) -> dict[str, Any]:
    """Memory and swap of the machine; `swapped_pages` counts in and out together, `oom_kills` the whole machine's."""
    sizes: dict[str, int] = {}
    for line in (small_files.text(root / "proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        number = small_files.as_integer(rest.removesuffix("kB").strip())
        if number is not None:
            sizes[name] = number
    counts = small_files.table(root / "proc/vmstat")
    swapped = [counts[name] for name in ("pswpin", "pswpout") if name in counts]
    return {
        "total_gb": _gib(sizes.get("MemTotal")),
        "available_gb": _gib(sizes.get("MemAvailable")),
        "swap_gb": _gib(sizes.get("SwapTotal")),
        "swap_used_gb": _gib(sizes["SwapTotal"] - sizes["SwapFree"])
        if {"SwapTotal", "SwapFree"} <= set(sizes)
        else None,
        "swapped_pages": sum(swapped) if len(swapped) == 2 else None,
        "oom_kills": counts.get("oom_kill"),
    }


def read_pressure(root: Path = ROOT) -> dict[str, float | None]:
    """Time [s] in which some, or all (`full`), processes waited for cores, memory or disks: the kernel's PSI."""
    found: dict[str, float | None] = {}
    for kind in ("cpu", "memory", "io"):
        told = small_files.text(root / "proc/pressure" / kind) or ""
        totals = {line.split()[0]: line.rpartition("total=")[2] for line in told.splitlines() if "total=" in line}
        for share in ("some", "full"):
            total = small_files.as_integer(totals.get(share))
            found[f"{kind}_{share}_s"] = None if total is None else total / 1e6
    return found


def read_platform(root: Path = ROOT) -> dict[str, Any]:
    """What this system runs in, and by which clock; `none` means that it was looked for and is not there."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "clock_source": small_files.text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "container": _container(root),
        "virtual_machine": _virtual_machine(root),
    }


def _container(root: Path) -> str | None:
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if os.environ.get(name):
            return "apptainer"
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    first = small_files.text(root / "proc/1/cgroup")
    if first is None:
        return None
    return next((name for name in _CONTAINERS if name in first), "none")


def _virtual_machine(root: Path) -> str | None:
    if (told := small_files.text(root / "sys/hypervisor/type")) is not None:
        return told
    if "microsoft" in platform.release().lower():
        return "wsl"
    firmware = root / "sys/class/dmi/id"
    named = " ".join(small_files.text(firmware / name) or "" for name in ("sys_vendor", "product_name")).lower()
    for word, kind in _MACHINES.items():
        if word in named:
            return kind
    flags = next(
        (line for line in (small_files.text(root / "proc/cpuinfo") or "").splitlines() if line.startswith("flags")),
        None,
    )
    if flags is None:  # not an x86: nothing tells
        return None
    return "unknown" if "hypervisor" in flags.split() else "none"


def _frequency(root: Path, folders: list[Path], cores: tuple[int, ...]) -> float | None:
    """Mean clock speed of the cores [MHz]."""
    told = [small_files.integer(core / "cpufreq/scaling_cur_freq") for core in folders]
    known = [value / 1000 for value in told if value is not None]
    if not known:  # a virtual machine shows what its host says, if anything
        number, wanted = -1, set(cores[:MANY])
        for line in (small_files.text(root / "proc/cpuinfo") or "").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "processor":
                number = small_files.as_integer(value.strip()) if value.strip().isdigit() else -1  # type: ignore[assignment]
            elif name.strip() == "cpu MHz" and number in wanted:
                try:
                    known.append(float(value))
                except ValueError:
                    continue
    return round(sum(known) / len(known), 1) if known else None


def _lowest(paths: list[Path]) -> float | None:
    known = [value / 1000 for path in paths if (value := small_files.integer(path)) is not None]
    return min(known, default=None)


def _throttled(folders: list[Path]) -> int | None:
    """How often cores, and the package they are on, were slowed down because they were too hot."""
    cores = [small_files.integer(core / "thermal_throttle/core_throttle_count") for core in folders]
    packages = [small_files.integer(core / "thermal_throttle/package_throttle_count") for core in folders]
    known = [value for value in cores if value is not None]
    most = max((value for value in packages if value is not None), default=None)
    return None if not known and most is None else sum(known) + (most or 0)


def _boost(folder: Path) -> bool | None:
    """Whether cores may run above their nominal clock."""
    off = _truth(small_files.integer(folder / "intel_pstate/no_turbo"))
    return _truth(small_files.integer(folder / "cpufreq/boost")) if off is None else not off


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _on_battery(root: Path) -> bool | None:
    supplies = small_files.folders(root / "sys/class/power_supply")
    mains = [small_files.integer(each / "online") for each in supplies if small_files.text(each / "type") == "Mains"]
    known = [value for value in mains if value is not None]
    return not any(known) if known else None


def _same(values: list[str | None]) -> str | None:
    """The one value of all, several joined by `+`; None where none is told."""
    known = sorted({value for value in values if value})
    return "+".join(known) or None


def _gib(kib: int | None) -> float | None:
    return None if kib is None else round(kib / 2**20, 3)


def _ranges(numbers: tuple[int, ...]) -> str:
    """`0-3,8` for 0, 1, 2, 3, 8."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)
