"""Series that only the journals beside a bundle hold: load of the machine, and when each iteration ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeGuard

from benchmark_app.bundle.resources import plain_uuid
from benchmark_app.journal.events import Event, Iteration, ResourceSample, WorkerFacts
from benchmark_app.journal.reader import read_journal

LOAD_POINTS = 60  # of a drawn line
_JOURNAL_BYTES = 64_000_000

Point = tuple[float, float]


@dataclass(frozen=True)
class OverTime:
    """What the journals of one run say.

    Args:
        load: `ram_gb`, `cpu_pct`, and `gpu_util_pct`, `gpu_mem_gb` where the run used a GPU, by seconds since its
            supervisor's first event; empty without a journal.
        ends: Seconds of training until the end of each iteration; empty without a journal.
    """

    load: dict[str, list[Point]]
    ends: list[float]


def read_over_time(bundle: Path) -> OverTime:
    """Read the journals beside a bundle, where there are any.

    A longer series is cut into equal pieces of samples, each drawn at its last one's time with its largest value: a
    peak is never lost, and what is drawn between the pieces is too high rather than too low.
    """
    supervisor, worker = _events(bundle, "supervisor"), _events(bundle, "worker")
    seconds = [event.iteration_s for event in worker if isinstance(event, Iteration)]
    ends = list(accumulate(seconds)) if all(map(_is_number, seconds)) else []
    samples = [event for event in supervisor if isinstance(event, ResourceSample)]
    gpu = _gpu_of(worker)
    readers: tuple[tuple[str, Callable[[ResourceSample], object]], ...] = (
        ("ram_gb", lambda sample: sample.ram_gb),
        ("cpu_pct", lambda sample: sample.cpu_pct),
        ("gpu_util_pct", lambda sample: gpu(sample).get("util_pct")),
        ("gpu_mem_gb", lambda sample: gpu(sample).get("mem_gb")),
    )
    found: dict[str, list[Point]] = {}
    for name, read in readers:
        values = ((sample.t - supervisor[0].t, read(sample)) for sample in samples)
        line = [(t, value) for t, value in values if _is_number(t) and _is_number(value)]
        if len(line) > 1:
            found[name] = _largest(line, LOAD_POINTS)
    return OverTime(found, ends)


def _events(bundle: Path, writer: str) -> list[Event]:
    path = bundle.parent / "journal" / f"{bundle.stem}.{writer}.jsonl"
    try:
        if path.stat().st_size > _JOURNAL_BYTES:
            return []
        return read_journal(path)[0]
    except OSError:
        return []


def _gpu_of(worker: Sequence[Event]) -> Callable[[ResourceSample], dict[str, float]]:
    """Reader of the GPU a run used: the one its worker names, by UUID, because NVML numbers devices its own way."""
    facts = next((event for event in worker if isinstance(event, WorkerFacts)), None)
    kind, _, index = facts.device.partition(":") if facts is not None else ("", "", "")
    wanted = ""
    if facts is not None and kind == "cuda" and int(index or 0) < len(facts.cuda_devices):
        wanted = plain_uuid(str(facts.cuda_devices[int(index or 0)].get("uuid", "")))

    def read(sample: ResourceSample) -> dict[str, float]:
        named = ((plain_uuid(uuid), values) for uuid, values in sample.gpus.items())
        return next((values for uuid, values in named if wanted and uuid == wanted), {})

    return read


def _is_number(value: object) -> TypeGuard[float]:
    """False for what a damaged or foreign journal may hold in a number's place."""
    return isinstance(value, int | float) and math.isfinite(value)


def _largest(line: list[Point], wanted: int) -> list[Point]:
    if len(line) <= wanted:
        return line
    edges = [round(i * len(line) / wanted) for i in range(wanted + 1)]
    pieces = (line[begin:end] for begin, end in pairwise(edges))
    return [(piece[-1][0], max(value for _, value in piece)) for piece in pieces]
