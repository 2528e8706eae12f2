"""From readings to warnings: one table of rules, and the limits at which they speak.

The load average is recorded and has no rule: a run that follows another sees the other's load in it for minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A window of half a second is known to about 5 % of a core, and a quiet machine's services stay below a tenth of one.
BUSY_CORES = 0.3  # of one core: what others may use of the run's cores,
BUSY_SHARE = 0.05  # or this share of all cores, whichever is more
STOLEN_SHARE = 0.02
THROTTLED_SHARE = 0.01  # of the run's time
PRESSURE_SHARE = 0.01
SLOWED_SHARE = 0.01  # of the samples of a GPU's clock
SLOW_GOVERNORS = ("powersave", "conservative", "userspace")
OWN_GOVERNOR = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")  # their `powersave` still goes to full speed
CAPPED = 0.95  # of the possible frequency, or of a GPU's default power limit
LEAST_MEMORY_GB = 1.0
GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "xen")
BUSY_GPU = 5  # % of a device's time

Reading = Mapping[str, Any]
Sentences = Iterable[str]


@dataclass(frozen=True)
class Met:
    """What a run meets, for the rules to look at.

    Attributes:
        threads: CPU threads it takes, of all ranks together.
        start: Reading before it.
        end: Reading after it; empty before it has ended.
        during: What happened meanwhile; empty before it has ended.
    """

    threads: int
    start: Reading
    end: Reading
    during: Reading


def warnings_before(met: Met) -> list[str]:
    """What is wrong before a run starts, a sentence each."""
    return [text for rule in BEFORE for text in rule(met)]


def gpu_warnings_before(met: Met) -> list[str]:
    """What is wrong with the GPUs a run uses, before it starts."""
    return [text for rule in GPU_BEFORE for text in rule(met)]


def warnings_after(met: Met) -> list[str]:
    """What went wrong while it ran."""
    return [text for rule in DURING for text in rule(met)]


def _others_before(met: Met) -> Sentences:
    if text := _busy(met.start.get("others"), "before the run"):
        yield f"{text}: timings will be low and noisy"


def _others_during(met: Met) -> Sentences:
    if text := _busy(met.during.get("others"), "during the run"):
        yield f"{text}: timings are low and noisy"


def _busy(others: Reading | None, when: str) -> str:
    """`1.2 of 2 cores were busy with other processes before the run`; "" where they were not."""
    if others is None or others["percent"] < 100 * max(BUSY_CORES, BUSY_SHARE * others["cores"]):
        return ""
    cores = others["cores"]
    verb = "was" if cores == 1 else "were"
    return f"{others['percent'] / 100:.1f} of {_cores(cores)} {verb} busy with other processes {when}"


def _room(met: Met) -> Sentences:
    usable, limit = met.start["cpu"]["usable"], met.start["cgroup"]["cpu_limit_cores"]
    wants = "1 thread" if met.threads == 1 else f"{met.threads} threads"
    if met.threads > usable:
        yield f"the run takes {wants} and may use {_cores(usable)}: they will wait for each other"
    if limit is not None and limit < met.threads:
        yield f"the run takes {wants} and its control group allows {limit:g} cores: it will be held back"


def _clock_speed(met: Met) -> Sentences:
    cpu = met.start["cpu"]
    governor, driver = cpu["governor"] or "", cpu["driver"] or ""
    slow = [name for name in governor.split("+") if name in SLOW_GOVERNORS]
    if slow and not (slow == ["powersave"] and driver in OWN_GOVERNOR):
        yield f"the CPU governor is {governor}: cores do not run at full speed; set it to performance"
    allowed, possible = cpu["frequency_allowed_mhz"], cpu["frequency_possible_mhz"]
    if allowed is not None and possible and allowed < CAPPED * possible:
        yield f"cores are limited to {allowed:.0f} of {possible:.0f} MHz: timings will be low"
    if cpu["on_battery"]:
        yield "this computer runs on its battery: it saves energy, and timings will be low and noisy"


def _memory(met: Met) -> Sentences:
    free, limit = met.start["memory"]["available_gb"], met.start["cgroup"]["memory_limit_gb"]
    if free is not None and free < LEAST_MEMORY_GB:
        yield f"{free:.2f} GiB of memory are free: the run may be slowed down by swapping, or killed"
    if limit is not None and limit < LEAST_MEMORY_GB:
        yield f"the control group allows {limit:.2f} GiB of memory: the run may be killed"


def _clock(met: Met) -> Sentences:
    source = met.start["platform"]["clock_source"]
    if source is not None and source not in GOOD_CLOCKS:
        yield f"the clock source is {source}: reading the time is slow and adds to every step"


def _gpus_before(met: Met) -> Sentences:
    for device in met.start.get("gpus", ()):
        name = _named(device)
        if (device["util_pct"] or 0) >= BUSY_GPU:
            yield f"{name} was {device['util_pct']} % busy before the run: timings will be low and noisy"
        elif device["processes"]:
            held = "" if device["mem_used_gb"] is None else f", {device['mem_used_gb']:.1f} GiB are in use"
            yield f"{name} is shared with {_counted(device['processes'], 'other process')}{held}"
        limit, default = device["power_limit_w"], device["power_limit_default_w"]
        if limit is not None and default and limit < CAPPED * default:
            yield f"{name} is limited to {limit:.0f} of {default:.0f} W: timings will be low"
        hot = [why for why in device["slowed_by"] or () if why in ("thermal", "hardware_thermal", "power_brake")]
        if hot:
            yield f"{name} already runs slower ({', '.join(hot)}): timings will be low"
        if device["ecc_errors"]:
            yield f"{name} has {_counted(device['ecc_errors'], 'uncorrected memory error')} since its driver was loaded"


def _stolen(met: Met) -> Sentences:
    others = met.during.get("others")
    if others is not None and others["stolen_percent"] > 100 * STOLEN_SHARE * others["cores"]:
        share = others["stolen_percent"] / others["cores"]
        yield f"the hypervisor took {share:.0f} % of the cores' time away: timings are low and noisy"


def _heat(met: Met) -> Sentences:
    if events := met.during.get("cpu_throttle_events"):
        yield f"the CPU was slowed down {_counted(events, 'time')} because it was too hot: timings are low"


def _held_back(met: Met) -> Sentences:
    seconds, held = met.during.get("seconds"), met.during.get("cgroup_throttled_s")
    if seconds and held is not None and held > THROTTLED_SHARE * seconds:
        yield f"the control group held processes back for {held:.1f} s of the run's {seconds:.1f} s: timings are low"


def _swapping(met: Met) -> Sentences:
    if pages := met.during.get("swapped_pages"):
        yield f"the machine swapped {pages * 4 / 1024:.1f} MiB during the run: timings are low and noisy"


def _short_of_memory(met: Met) -> Sentences:
    seconds, waited = met.during.get("seconds"), met.during.get("memory_pressure_s")
    if seconds and waited is not None and waited > PRESSURE_SHARE * seconds:
        yield f"all processes waited {waited:.1f} s for memory during the run: timings are low and noisy"


def _threads(met: Met) -> Sentences:
    asked, found = met.during.get("threads_asked"), met.during.get("threads")
    if asked is not None and found is not None and found != asked:
        yield f"the worker computed with {_counted(found, 'thread')} although {asked} were asked for"


def _gpus_during(met: Met) -> Sentences:
    for uuid in met.during.get("gpus_lost", ()):
        yield f"the GPU {uuid} stopped answering during the run"
    samples = met.during.get("gpu_samples") or 0
    names = {device["uuid"]: _named(device) for device in met.end.get("gpus", ())}
    for uuid, counts in (met.during.get("gpus_slowed") or {}).items():
        often = {why: count for why, count in counts.items() if why != "power_cap" and count > SLOWED_SHARE * samples}
        if often:
            told = ", ".join(f"{why} in {100 * count / samples:.0f} % of the samples" for why, count in often.items())
            yield f"{names.get(uuid, f'the GPU {uuid}')} ran slower than it can ({told}): timings are low"


def _named(device: Reading) -> str:
    return f"the GPU {device['name'] or device['uuid']}"


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _counted(number: float, what: str) -> str:
    return f"{number:g} {what}" if number == 1 else f"{number:g} {what}{'es' if what.endswith('s') else 's'}"


Rule = Callable[[Met], Sentences]
BEFORE: Sequence[Rule] = (_others_before, _room, _clock_speed, _memory, _clock)
GPU_BEFORE: Sequence[Rule] = (_gpus_before,)
DURING: Sequence[Rule] = (
    _others_during, _stolen, _heat, _held_back, _swapping, _short_of_memory, _threads, _gpus_during,
)  # fmt: skip
