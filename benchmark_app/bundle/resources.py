"""Load of the machine, from the supervisor's samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmark_app.bundle.aggregate import mean_std, sample_std
from benchmark_app.bundle.pick import every, last
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.schema import GpuResources, MeanStd, Resources
from benchmark_app.journal.events import Event, ResourceSample, Scalar, WorkerExited, WorkerFacts

Window = tuple[float, float] | None
Read = Callable[[ResourceSample], float | None]


def build_resources(events: Sequence[Event], window: Window, gaps: Gaps) -> tuple[Resources, bool]:
    """Aggregate the samples that fall into the measured loop, or all of them if none does.

    Returns:
        The resources, and whether the GPU aggregates were measured: zeros without a GPU stand for nothing.
    """
    samples = every(events, ResourceSample)
    peak, _ = ram_peak(events)
    inside = [s for s in samples if window is not None and window[0] <= s.t <= window[1]] or samples
    facts = last(events, WorkerFacts)
    devices = _devices(facts, samples, inside, gaps)
    used = devices.get(_logical_index(facts)) if facts is not None else None
    if used is not None and any(gap.startswith("resources.devices.") for gap in gaps.paths):
        gaps.paths.append("resources.gpu_util_pct")
    resources = Resources(
        gpu_util_pct=used.util_pct if used is not None else MeanStd(0.0, 0.0),
        gpu_mem_gb=used.mem_gb if used is not None else MeanStd(0.0, 0.0, 0.0),
        cpu_util_pct=gaps.stat("resources.cpu_util_pct", _cpu(samples, window), peak=False),
        ram_gb=gaps.stat("resources.ram_gb", _memory(samples, inside, lambda s: s.ram_gb, peak or 0.0)),
        devices=devices,
    )
    return resources, used is not None


def ram_peak(events: Sequence[Event]) -> tuple[float | None, str]:
    """Most memory the worker's processes held [GiB], and how that is known.

    `cgroup`: the high-water mark of the control group the worker has to itself, which counts files kept in memory, too.
    `high_water`: the kernel's mark of each process, read with every sample and when it ends, so that a spike between
    two samples counts. `samples`: the largest sample, where the system keeps no marks.
    """
    samples, exits = every(events, ResourceSample), every(events, WorkerExited)
    of_group = [peak for event in exits if (peak := event.group_peak_gb) is not None]
    if of_group:
        return max(of_group), "cgroup"
    told = [*(sample.ram_peak_gb for sample in samples), *(event.ram_peak_gb for event in exits)]
    marks = [peak for peak in told if peak is not None]
    if marks:
        return max(*marks, *(sample.ram_gb for sample in samples), 0.0), "high_water"
    return max((sample.ram_gb for sample in samples), default=None), "samples" if samples else ""


def resources_extra(events: Sequence[Event]) -> dict[str, Scalar]:
    """What the schema has no field for: where the peak of memory is from, CPU time, this process's share of the GPU."""
    found: dict[str, Scalar] = {}
    if source := ram_peak(events)[1]:
        found["ram_peak_source"] = source
    spent = [event.cpu_s for event in every(events, WorkerExited) if event.cpu_s is not None]
    if spent:
        found["worker_cpu_s"] = sum(spent)
    facts = last(events, WorkerFacts)
    device = used_device(facts) if facts is not None else None
    if device is not None:
        samples = every(events, ResourceSample)
        if held := _values(samples, gpu_reader(device, "process_mem_gb")):
            found["gpu_process_mem_peak_gb"] = max(held)
        if busy := _values(samples, gpu_reader(device, "process_util_pct")):
            found["gpu_process_util_pct"] = sum(busy) / len(busy)
    return found


def _cpu(samples: Sequence[ResourceSample], window: Window) -> MeanStd | None:
    """Mean over the measured part, to which a sample adds by as much of its time as lies in it; else over all samples.

    A sample is the mean of the time since the one before it, so that the first in a short loop is mostly of what was
    before the loop.
    """
    begin, end = window if window is not None else (0.0, 0.0)
    starts = [begin, *(sample.t for sample in samples)]
    shares = [min(s.t, end) - max(start, begin) for start, s in zip(starts, samples, strict=False)]
    used = [(share, sample.cpu_pct) for share, sample in zip(shares, samples, strict=True) if share > 0]
    if not used:
        return mean_std([sample.cpu_pct for sample in samples], peak=False)
    mean = sum(share * value for share, value in used) / sum(share for share, _ in used)
    return MeanStd(mean, sample_std([value for _, value in used]), None)


def _devices(
    facts: WorkerFacts | None, samples: Sequence[ResourceSample], inside: Sequence[ResourceSample], gaps: Gaps
) -> dict[str, GpuResources]:
    """The worker's logical devices. NVML orders GPUs in its own way and knows no `CUDA_VISIBLE_DEVICES`, so that only
    the UUID says which is which.
    """
    result = {}
    for index, device in enumerate(facts.cuda_devices if facts is not None else []):
        util = mean_std(_values(inside, gpu_reader(device["uuid"], "util_pct")), peak=False)
        memory = _memory(samples, inside, gpu_reader(device["uuid"], "mem_gb"))
        if memory is not None:
            # A part of a divided device (MIG) tells its memory, and no load.
            load = gaps.stat(f"resources.devices.{index}.util_pct", util, peak=False)
            result[str(index)] = GpuResources(util_pct=load, mem_gb=memory)
    return result


def used_device(facts: WorkerFacts) -> str | None:
    """UUID of the GPU the reporting worker computes on; None on a CPU."""
    index = _logical_index(facts)
    return facts.cuda_devices[int(index)]["uuid"] if index and int(index) < len(facts.cuda_devices) else None


def _memory(
    samples: Sequence[ResourceSample], inside: Sequence[ResourceSample], read: Read, mark: float = 0.0
) -> MeanStd | None:
    """Mean over the measured part, peak over the whole run: memory that was needed once is needed."""
    values = _values(inside, read)
    stat = mean_std(values)
    if stat is None:
        return None
    return MeanStd(stat.mean, sample_std(values), max(stat.mean, *_values(samples, read), mark))


def _values(samples: Sequence[ResourceSample], read: Read) -> list[float]:
    return [value for value in map(read, samples) if value is not None]


def gpu_reader(uuid: str, key: str) -> Read:
    """Reader of one number of one device."""
    wanted = plain_uuid(uuid)

    def read(sample: ResourceSample) -> float | None:
        return next((gpu.get(key) for name, gpu in sample.gpus.items() if plain_uuid(name) == wanted), None)

    return read


def plain_uuid(uuid: str) -> str:
    """NVML writes `GPU-<uuid>`, of a part of a device `MIG-<uuid>`, torch the bare uuid."""
    return uuid.lower().removeprefix("mig-").removeprefix("gpu-")


def _logical_index(facts: WorkerFacts) -> str:
    """Key of the device the run used: `cuda:1` → `1`, `cuda` → `0`, anything else → one that no device has."""
    kind, _, index = facts.device.partition(":")
    return (index or "0") if kind == "cuda" else ""
