"""Load of the machine, from the supervisor's samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmark_app.bundle.aggregate import mean_std, sample_std
from benchmark_app.bundle.pick import every, last
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.schema import GpuResources, MeanStd, Resources
from benchmark_app.journal.events import Event, ResourceSample, WorkerFacts

Window = tuple[float, float] | None
Read = Callable[[ResourceSample], float | None]


def build_resources(events: Sequence[Event], window: Window, gaps: Gaps) -> tuple[Resources, bool]:
    """Aggregate the samples that fall into the measured loop, or all of them if none does.

    Returns:
        The resources, and whether the GPU aggregates were measured: zeros without a GPU stand for nothing.
    """
    samples = every(events, ResourceSample)
    inside = [s for s in samples if window is not None and window[0] <= s.t <= window[1]] or samples
    facts = last(events, WorkerFacts)
    devices = _devices(facts, samples, inside)
    used = devices.get(_logical_index(facts)) if facts is not None else None
    resources = Resources(
        gpu_util_pct=used.util_pct if used is not None else MeanStd(0.0, 0.0),
        gpu_mem_gb=used.mem_gb if used is not None else MeanStd(0.0, 0.0, 0.0),
        cpu_util_pct=gaps.stat("resources.cpu_util_pct", mean_std([s.cpu_pct for s in inside], peak=False), peak=False),
        ram_gb=gaps.stat("resources.ram_gb", _memory(samples, inside, lambda s: s.ram_gb)),
        devices=devices,
    )
    return resources, used is not None


def _devices(
    facts: WorkerFacts | None, samples: Sequence[ResourceSample], inside: Sequence[ResourceSample]
) -> dict[str, GpuResources]:
    """The worker's logical devices. NVML orders GPUs in its own way and knows no `CUDA_VISIBLE_DEVICES`, so that only
    the UUID says which is which.
    """
    result = {}
    for index, device in enumerate(facts.cuda_devices if facts is not None else []):
        util = mean_std(_values(inside, _gpu(device["uuid"], "util_pct")), peak=False)
        memory = _memory(samples, inside, _gpu(device["uuid"], "mem_gb"))
        if util is not None and memory is not None:
            result[str(index)] = GpuResources(util_pct=util, mem_gb=memory)
    return result


def _memory(samples: Sequence[ResourceSample], inside: Sequence[ResourceSample], read: Read) -> MeanStd | None:
    """Mean over the measured part, peak over the whole run: memory that was needed once is needed."""
    values = _values(inside, read)
    stat = mean_std(values)
    if stat is None:
        return None
    return MeanStd(stat.mean, sample_std(values), max(stat.mean, *_values(samples, read)))


def _values(samples: Sequence[ResourceSample], read: Read) -> list[float]:
    return [value for value in map(read, samples) if value is not None]


def _gpu(uuid: str, key: str) -> Read:
    """Reader of one number of one device."""
    wanted = _plain_uuid(uuid)

    def read(sample: ResourceSample) -> float | None:
        return next((gpu[key] for name, gpu in sample.gpus.items() if _plain_uuid(name) == wanted), None)

    return read


def _plain_uuid(uuid: str) -> str:
    """NVML writes `GPU-<uuid>`, torch the bare uuid."""
    return uuid.lower().removeprefix("gpu-")


def _logical_index(facts: WorkerFacts) -> str:
    """Key of the device the run used: `cuda:1` → `1`, `cuda` → `0`, anything else → one that no device has."""
    kind, _, index = facts.device.partition(":")
    return (index or "0") if kind == "cuda" else ""
