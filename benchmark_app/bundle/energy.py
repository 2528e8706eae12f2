"""Energy of the measured part of a run, from counters that were read with each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from benchmark_app.bundle.loop import Loop
from benchmark_app.bundle.pick import every, last
from benchmark_app.bundle.resources import gpu_reader, used_device
from benchmark_app.journal.events import Event, ResourceSample, Scalar, WorkerFacts

Read = Callable[[ResourceSample], float | None]


def energy_extra(events: Sequence[Event], loop: Loop) -> dict[str, Scalar]:
    """Joules of whole processors and of the whole GPU that was used, idle power and other processes included.

    Counters are read twice a second or so, and taken to grow evenly in between; a part of the measured loop that lies
    before the first or after the last reading is filled in at the mean power of the rest. Keys are absent where a
    counter cannot be read, or was not read twice inside the loop.
    """
    if loop.window is None:
        return {}
    samples = every(events, ResourceSample)
    facts = last(events, WorkerFacts)
    device = used_device(facts) if facts is not None else None
    found = {
        "energy_cpu_j": _between(samples, lambda sample: sample.cpu_energy_j, *loop.window),
        "energy_gpu_j": None if device is None else _between(samples, gpu_reader(device, "energy_j"), *loop.window),
    }
    known = {name: joules for name, joules in found.items() if joules is not None}
    frames = sum(unit.frames for unit in loop.units if loop.window[0] <= unit.start and unit.end <= loop.window[1])
    if not known:
        return {}
    total = sum(known.values())
    per_million = {"energy_per_million_steps_j": total / frames * 1e6} if frames else {}
    return {**known, "energy_j": total, **per_million}


def _between(samples: Sequence[ResourceSample], read: Read, begin: float, end: float) -> float | None:
    """What a counter grew by from `begin` to `end` [s, monotonic clock]; None where too little of it is known."""
    points = [(sample.t, value) for sample in samples if (value := read(sample)) is not None]
    covered = [(max(t0, begin), min(t1, end), t1 - t0, v1 - v0) for (t0, v0), (t1, v1) in pairwise(points)]
    pieces = [(high - low, grown * (high - low) / length) for low, high, length, grown in covered if high > low]
    seconds = sum(length for length, _ in pieces)
    if seconds <= 0 or any(grown < 0 for _, grown in pieces):  # the driver was loaded anew
        return None
    return sum(grown for _, grown in pieces) * (end - begin) / seconds
