"""Which runs of two sides belong together, judged by how the runs were made and never by what they measured.

Two things make runs of the same code differ. The machine drifts while they run, which matters to speeds and memory:
runs made in turn are neighbours in time and share the drift. The seed decides what is learned: runs of one seed begin
with the same networks and episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmark_app.analysis.metrics import Noise
from benchmark_app.analysis.statistics import mean
from benchmark_app.analysis.verdict import Design

STARTED = "start_time_utc"  # column: when a run started

MIN_PAIRS = 6
"""With fewer pairs the test of their differences has too few degrees of freedom and finds less than an unpaired one."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Samples:
    """Values of one metric on both sides, and the design they stand for."""

    base: list[float]
    new: list[float]
    design: Design


def pair_up(base: Sequence[Row], new: Sequence[Row], metric: str, noise: Noise) -> Samples:
    """Take a metric out of the runs of two sides.

    Args:
        base: Rows of the table of runs, in the order in which they started.
        new: Likewise.
        metric: A column.
        noise: What makes runs of the same code differ in this metric.
    """
    if noise == "seed":
        return _by_seed(_seeds(base, metric), _seeds(new, metric))
    return _by_time(_measured(base, metric), _measured(new, metric), metric)


def values_of(rows: Sequence[Row], metric: str, noise: Noise) -> list[float]:
    """The independent values of a metric: one per run, or one per seed where the seed is what differs."""
    if noise == "seed":
        return list(_seeds(rows, metric).values())
    return [row[metric] for row in _measured(rows, metric)]


def _measured(rows: Sequence[Row], metric: str) -> list[Row]:
    return [row for row in rows if row[metric] is not None]


def _seeds(rows: Sequence[Row], metric: str) -> dict[int, float]:
    """One value per seed: a seed run twice learns the same twice, and is not two samples."""
    values: dict[int, list[float]] = {}
    for row in _measured(rows, metric):
        values.setdefault(row["seed"], []).append(row[metric])
    return {seed: mean(repeated) for seed, repeated in values.items()}


def _by_seed(base: dict[int, float], new: dict[int, float]) -> Samples:
    if base.keys() == new.keys() and len(base) >= MIN_PAIRS:
        return Samples(list(base.values()), [new[seed] for seed in base], "paired")
    return Samples(list(base.values()), list(new.values()), "in turn")


def _by_time(base: Sequence[Row], new: Sequence[Row], metric: str) -> Samples:
    of_base, of_new = [row[metric] for row in base], [row[metric] for row in new]
    started = [(row[STARTED], side, row[metric]) for side, rows in enumerate((base, new)) for row in rows]
    times = [time for time, _, _ in started]
    if None in times or len(set(times)) < len(times):
        return Samples(of_base, of_new, "apart")
    started.sort()
    sides = [side for _, side, _ in started]
    couples = list(zip(started[::2], started[1::2], strict=False))
    if len(base) == len(new) >= MIN_PAIRS and all(first[1] != second[1] for first, second in couples):
        pairs = [(a[2], b[2]) if a[1] == 0 else (b[2], a[2]) for a, b in couples]
        return Samples([before for before, _ in pairs], [after for _, after in pairs], "paired")
    changes = sum(left != right for left, right in pairwise(sides))
    in_turn = min(len(base), len(new)) > 1 and changes >= min(len(base), len(new))
    return Samples(of_base, of_new, "in turn" if in_turn else "apart")
