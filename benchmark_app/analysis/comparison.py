"""What a comparison found, as plain data: the writers' input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmark_app.analysis.metrics import Metric
from benchmark_app.analysis.thresholds import Thresholds
from benchmark_app.analysis.verdict import Design, Judgement

Workload = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Args:
        label: Its name for a reader: a path, or the value of the axis.
        runs: Runs that count.
        left_out: Runs that do not, with the reason: `2 crashed`.
        failed: How many those are.
        commits: Commits they were made at, oldest run first.
        paths: Their bundles, oldest first.
    """

    label: str
    runs: int
    left_out: tuple[str, ...]
    failed: int
    commits: tuple[str, ...]
    paths: tuple[str, ...]

    @property
    def share_failed(self) -> float:
        """The part of all its runs that did not complete, 0 to 1."""
        return self.failed / (self.runs + self.failed)


@dataclass(frozen=True)
class MetricResult:
    """One metric of one workload.

    Args:
        metric: The registry's entry.
        min_effect: The smallest change that mattered, as a fraction or in points.
        design: How the runs of both sides were matched.
        judgement: Numbers and verdict.
    """

    metric: Metric
    min_effect: float
    design: Design
    judgement: Judgement


@dataclass(frozen=True)
class Group:
    """One workload, run on both sides.

    Args:
        workload: The identity that both sides share.
        base: The reference.
        new: What is judged.
        allowed: Fields that differ and were allowed to, as `field: a, b`.
        metrics: Results in the registry's order.
    """

    workload: Workload
    base: Side
    new: Side
    allowed: tuple[str, ...]
    metrics: tuple[MetricResult, ...]


@dataclass(frozen=True)
class Refusal:
    """A workload of BASE without a counterpart, or one whose counterpart lost runs.

    Args:
        workload: Its identity.
        reason: One line that names the fields that differ.
        fields: Those fields, for `--allow`.
    """

    workload: Workload
    reason: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """All that was compared.

    Args:
        base: Name of BASE.
        new: Name of NEW.
        axis: The field that was compared along; None for BASE against NEW.
        allowed: Fields that were allowed to differ.
        thresholds: The rules.
        groups: What could be compared.
        refusals: What could not.
        notes: Whatever a reader must know besides: workloads only in NEW, files that could not be read.
    """

    base: str
    new: str
    axis: str | None
    allowed: tuple[str, ...]
    thresholds: Thresholds
    groups: tuple[Group, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]

    @property
    def verdicts(self) -> Counter[str]:
        """How often each verdict was reached."""
        return Counter(result.judgement.verdict for group in self.groups for result in group.metrics)

    @cached_property
    def telling(self) -> frozenset[str]:
        """The fields that name a workload in this comparison: the main ones, and those that tell two apart."""
        every = [*(group.workload for group in self.groups), *(refusal.workload for refusal in self.refusals)]
        varying = {name for name in set().union(*every) if len({str(one.get(name)) for one in every}) > 1}
        return frozenset(varying.union(("workflow", "task", "framework", "physics", "num_envs")))

    def is_lost(self, result: MetricResult) -> bool:
        """Whether BASE measured something that NEW cannot be compared in.

        What only NEW measures is a gain. What only one of two libraries measures says nothing about the other.
        """
        judgement = result.judgement
        if judgement.verdict != "not comparable" or not judgement.n_base:
            return False
        return self.axis is None or judgement.n_new > 0

    @property
    def status(self) -> int:
        """Exit status: 1 if anything regressed, otherwise 2 if anything could not be compared, otherwise 0."""
        if self.verdicts["regressed"]:
            return 1
        comparable = any(verdict != "not comparable" for verdict in self.verdicts)
        lost = any(self.is_lost(result) for group in self.groups for result in group.metrics)
        return 2 if self.refusals or lost or not comparable else 0


def describe(workload: Workload, fields: Collection[str] | None = None) -> str:
    """An identity in one line, without what does not apply.

    Args:
        workload: Value by field.
        fields: The ones to name; None names all.
    """
    told = {name: value for name, value in workload.items() if fields is None or name in fields}
    return " · ".join(f"{name}={value}" for name, value in told.items() if value not in (None, "", "none", False))
