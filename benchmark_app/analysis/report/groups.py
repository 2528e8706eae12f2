"""Runs of the same workload on the same library, engine and machine, and what they measured together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark_app.analysis import statistics
from benchmark_app.analysis.identity import IDENTITY
from benchmark_app.analysis.metrics import METRICS, Metric
from benchmark_app.analysis.verdict import Question, judge
from benchmark_app.bundle.schema import BUNDLES

# Column of the table of runs → its name on the page; together they are the identity of a group.
DIMENSIONS = {field.name: field.title for field in IDENTITY.values()}
# What a report compares; everything else must agree.
MIN_RUNS = 3  # with two, Student's interval is so wide that it says nothing
CONTENDERS = ("framework", "physics", "rendering")

Row = dict[str, Any]


@dataclass(frozen=True)
class Stat:
    """A metric over the runs of a group.

    Args:
        value: Mean of the runs; the geometric one where the metric is compared by ratios.
        low: Lower end of the 95 % interval by Student's t, on the same scale; None for fewer than `MIN_RUNS` runs.
        high: Its upper end.
        n: Runs that have the metric.
    """

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Group:
    """Runs that may be averaged.

    Args:
        identity: Value of every dimension.
        rows: All its runs, oldest first.
        counted: Those that enter statistics: completed and not perturbed.
        stats: Statistics by metric.
    """

    identity: dict[str, Any]
    rows: list[Row]
    counted: list[Row]
    stats: dict[str, Stat]

    @property
    def contest(self) -> tuple[Any, ...]:
        """Equal for groups that differ only in library, engine and renderer."""
        return tuple(value for name, value in self.identity.items() if name not in CONTENDERS)


def group_runs(rows: Iterable[Row]) -> list[Group]:
    """Sort runs into groups; groups of one task stand together, and in it those of one workload."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in DIMENSIONS), []).append(row)
    groups = [_group(dict(zip(DIMENSIONS, key, strict=True)), members) for key, members in found.items()]
    order = ("num_envs", *(name for name in DIMENSIONS if name not in CONTENDERS), *CONTENDERS)

    def place(group: Group) -> tuple[Any, ...]:
        of = group.identity
        return of["task"], list(BUNDLES).index(of["workflow"]), [_sortable(of[name]) for name in order]

    return sorted(groups, key=place)


def standings(groups: Sequence[Group]) -> dict[tuple[int, str], str]:
    """Who leads each contest, and who cannot be told from the leader.

    Within groups that differ only in library, engine and renderer, every group is tested against the one with the best
    value, all contests of the report together. Groups that share the best value lead together, unless all do; a group
    of fewer than `MIN_RUNS` runs never leads.

    Returns:
        (index of the group, metric) → `best`, `tie` (not separable from the best value) or `behind`; only where at
        least two groups have the metric and it has a better end.
    """
    contests: dict[tuple[Any, ...], list[int]] = {}
    for index, group in enumerate(groups):
        contests.setdefault(group.contest, []).append(index)
    result: dict[tuple[int, str], str] = {}
    asked: list[tuple[int, str]] = []
    questions: list[Question] = []
    for members in contests.values():
        for name, metric in METRICS.items():
            rivals = [index for index in members if name in groups[index].stats]
            if metric.direction is None or len(rivals) < 2:
                continue
            sign = 1 if metric.direction == "higher" else -1
            best = max(rivals, key=lambda index: (sign * groups[index].stats[name].value, groups[index].stats[name].n))
            equal = [index for index in rivals if groups[index].stats[name].value == groups[best].stats[name].value]
            for index in equal:
                leads = len(equal) < len(rivals) and groups[index].stats[name].n >= MIN_RUNS
                result[index, name] = "best" if leads else "tie"
            for index in rivals:
                if index not in equal:
                    asked.append((index, name))
                    questions.append(_question(metric, groups[best], groups[index]))
    for key, answer in zip(asked, judge(questions), strict=True):
        result[key] = "behind" if answer.verdict == "regressed" else "tie"
    return result


def values_of(rows: Iterable[Row], name: str) -> list[float]:
    """The values of a metric, of the runs that have it."""
    return [row[name] for row in rows if row.get(name) is not None]


def summarise(values: Sequence[float], metric: Metric) -> Stat | None:
    """Mean and interval of a few runs; None without a value."""
    if not values:
        return None
    ratios = metric.scale == "ratio" and min(values) > 0
    scaled = [math.log(value) for value in values] if ratios else list(values)
    back = math.exp if ratios else float
    centre = statistics.mean(scaled)
    if len(values) < MIN_RUNS:
        return Stat(back(centre), None, None, len(values))
    half = statistics.t_quantile(len(values) - 1, 0.975) * math.sqrt(statistics.variance(scaled) / len(values))
    low, high = back(centre - half), back(min(centre + half, 700.0))
    if metric.scale == "points":  # fractions
        low, high = max(0.0, low), min(1.0, high)
    return Stat(back(centre), low, high, len(values))


def _group(identity: dict[str, Any], rows: list[Row]) -> Group:
    counted = [row for row in rows if row["status"] == "completed" and not row["perturbed"]]
    stats = {name: summarise(values_of(counted, name), metric) for name, metric in METRICS.items()}
    return Group(identity, rows, counted, {name: stat for name, stat in stats.items() if stat is not None})


def _question(metric: Metric, best: Group, other: Group) -> Question:
    assert metric.direction is not None
    return Question(
        values_of(best.counted, metric.name),
        values_of(other.counted, metric.name),
        metric.direction,
        scale=metric.scale,
        min_effect=metric.min_effect,
        design="in turn" if metric.noise == "seed" else "apart",
    )


def _sortable(value: Any) -> tuple[bool, float, str]:
    return value is None, value if isinstance(value, int | float) else 0.0, str(value)
