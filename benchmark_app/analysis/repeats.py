"""How far runs of the same settings scatter: between processes, and inside each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark_app.analysis.identity import IDENTITY
from benchmark_app.analysis.loading import Results
from benchmark_app.analysis.metrics import Metric, metrics_of
from benchmark_app.analysis.pairing import STARTED, Row
from benchmark_app.analysis.statistics import mean, median, variance

FORMAT = "benchmark_app summary"
VERSION = 1


@dataclass(frozen=True)
class Spread:
    """One metric over the repeats of a configuration, in the metric's unit.

    Args:
        n: Runs that measured it.
        median: Median over the runs.
        minimum: Smallest run.
        maximum: Largest run.
        mean: Mean over the runs.
        std: Standard deviation (n-1) between the runs; None for one run.
        cv: That as a fraction of the size of the mean; None for one run, or a mean of 0.
        within_std: Median over the runs of the standard deviation inside a run, over its iterations, steps, samples or
            episodes; None where a run has but one value.
        within_cv: That as a fraction of the size of the mean; None likewise.
    """

    n: int
    median: float
    minimum: float
    maximum: float
    mean: float
    std: float | None
    cv: float | None
    within_std: float | None
    within_cv: float | None

    @classmethod
    def of(cls, values: Sequence[float], within: Sequence[float]) -> Spread:
        """Of the values of all runs, and the deviations inside those that have one."""
        centre = mean(values)
        size = abs(centre)
        std = variance(values) ** 0.5 if len(values) > 1 else None
        inside = median(within) if within else None
        return cls(
            n=len(values),
            median=median(values),
            minimum=min(values),
            maximum=max(values),
            mean=centre,
            std=std,
            cv=None if std is None or size == 0 else std / size,
            within_std=inside,
            within_cv=None if inside is None or size == 0 else inside / size,
        )


@dataclass(frozen=True)
class Repeats:
    """The runs of one configuration: same identity, same seed.

    Args:
        identity: Values of all fields that runs must agree in, and the seed.
        status: How the runs ended: status → number.
        paths: Bundles of the completed ones, in the order in which they started.
        spreads: Metric → its spread over the completed runs.
    """

    identity: dict[str, Any]
    status: dict[str, int]
    paths: list[str]
    spreads: dict[str, Spread]


def repeats_of(results: Results) -> list[Repeats]:
    """Group runs by what was run, and tell how far each group scatters.

    A run that did not complete belongs to no group that completed ones know more about than it lived to tell: it counts
    with the first one whose known fields agree with its own.
    """
    rows = sorted(results.runs.to_dicts(), key=lambda row: (row[STARTED] is not None, row[STARTED]))
    fields = [*IDENTITY, "seed"]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["status"] == "completed":
            groups.setdefault(tuple(row[name] for name in fields), []).append(row)
    failed: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["status"] != "completed":
            own = tuple(row[name] for name in fields)
            alike = (key for key in groups if all(a in (None, b) for a, b in zip(own, key, strict=True)))
            failed.setdefault(next(alike, own), []).append(row)
    return [
        _repeats(results, dict(zip(fields, key, strict=True)), groups.get(key, []), failed.get(key, []))
        for key in dict.fromkeys([*groups, *failed])
    ]


def _repeats(results: Results, identity: dict[str, Any], completed: list[Row], failed: list[Row]) -> Repeats:
    status: dict[str, int] = {}
    for row in (*completed, *failed):
        status[row["status"]] = status.get(row["status"], 0) + 1
    bundles = [results.bundle(row["path"]) for row in completed]
    spreads = {}
    for metric in metrics_of(identity["workflow"]):
        measured = [(row[metric.name], bundle) for row, bundle in zip(completed, bundles, strict=True)]
        values = [value for value, _ in measured if value is not None]
        inside = [_within(metric, identity["workflow"], bundle) for value, bundle in measured if value is not None]
        if values:
            spreads[metric.name] = Spread.of(values, [std for std in inside if std is not None])
    return Repeats(identity, status, [str(row["path"]) for row in completed], spreads)


def _within(metric: Metric, workflow: str, bundle: Mapping[str, Any]) -> float | None:
    """The standard deviation that stands beside a mean in a bundle."""
    path, *others = metric.sources[workflow]
    section, _, key = path.rpartition(".")
    if others or key != "mean":
        return None
    value: Any = bundle
    for name in section.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    std = value.get("std") if isinstance(value, Mapping) else None
    return float(std) if isinstance(std, int | float) and not isinstance(std, bool) else None


def to_plain(found: Sequence[Repeats]) -> dict[str, Any]:
    """What `summary.json` holds."""
    return {"format": FORMAT, "version": VERSION, "configurations": [dataclasses.asdict(one) for one in found]}
