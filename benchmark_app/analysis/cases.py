"""From the runs of two sides to judged groups: what the kinds of comparison share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark_app.analysis.comparison import Comparison, Group, MetricResult, Refusal, Side, Workload
from benchmark_app.analysis.identity import IDENTITY, differences
from benchmark_app.analysis.metrics import METRICS, Metric
from benchmark_app.analysis.pairing import STARTED, Row, Samples, pair_up
from benchmark_app.analysis.proportions import compare_proportions
from benchmark_app.analysis.thresholds import Thresholds
from benchmark_app.analysis.verdict import Question, judge

_NEAREST = 500  # candidates looked at for the workload that is nearest to one without counterpart

Take = Callable[["Case", Metric], Samples]


@dataclass(frozen=True)
class Options:
    """What the user decided.

    Args:
        thresholds: The rules.
        allowed: Fields that may differ.
        metrics: Metrics to judge; None judges every one that has a better end.
    """

    thresholds: Thresholds
    allowed: tuple[str, ...] = ()
    metrics: frozenset[str] | None = None


@dataclass(frozen=True)
class Case:
    """Runs of one workload on both sides, before anything is counted."""

    workload: Workload
    base_side: Side
    new_side: Side
    base: list[Row]
    new: list[Row]
    allowed: tuple[str, ...]


@dataclass(frozen=True)
class Runs:
    """The runs of a side: only completed ones count, in the order in which they started."""

    completed: list[Row]
    others: list[Row]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Runs:
        """Sort the rows of the table of runs."""
        ordered = sorted(rows, key=lambda row: (row[STARTED] is not None, row[STARTED]))
        completed = [row for row in ordered if row["status"] == "completed"]
        return cls(completed, [row for row in ordered if row["status"] != "completed"])

    def side(self, label: str, rows: Sequence[Row], workload: Workload) -> Side:
        """What to say about some completed runs of a workload."""
        commits = dict.fromkeys(row["commit"] for row in rows if row["commit"])
        ended = self.ended(workload)
        paths = tuple(str(row["path"]) for row in rows)
        return Side(label, len(rows), counted(ended), ended.total(), tuple(commits), paths)

    def ended(self, workload: Workload) -> Counter[str]:
        """How many runs of a workload did not complete. What such a run did not live to know counts as agreeing."""
        here = (row for row in self.others if all(row[name] in (None, value) for name, value in workload.items()))
        return Counter(row["status"] for row in here)

    @property
    def how_ended(self) -> str:
        """The same for all workloads, in parentheses; `""` if every run completed."""
        ended = self.ended({})
        return f" ({', '.join(counted(ended))})" if ended else ""


def counted(ended: Counter[str]) -> tuple[str, ...]:
    """Such as `2 crashed`, for each status."""
    return tuple(f"{number} {status}" for status, number in sorted(ended.items()))


def by_key(rows: Iterable[Row], fields: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some fields, in the order of their first rows."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[field] for field in fields), []).append(row)
    return found


def varying(rows: Sequence[Row], allowed: Sequence[str]) -> tuple[str, ...]:
    """The allowed fields that really differ, with their values."""
    values = {field: sorted({str(row[field]) for row in rows}) for field in allowed}
    return tuple(f"{field}: {', '.join(found)}" for field, found in values.items() if len(found) > 1)


def unmatched(
    row: Row, workload: Workload, candidates: Sequence[Row], allowed: Sequence[str], axis: str | None = None
) -> Refusal:
    """Say why a workload has no counterpart, by the run of the other side that is nearest to it."""
    fields = [field for field in IDENTITY if field != axis and field not in allowed]
    here = [row[field] for field in fields]

    def distance(other: Row) -> int:
        return sum(row_value != other[field] for field, row_value in zip(fields, here, strict=True))

    nearest = min(candidates[:_NEAREST], key=distance, default=None)
    if nearest is None:
        return Refusal(workload, "there is no completed run to compare it with", ())
    unlike = differences(row, nearest, axis=axis, allowed=allowed)
    return Refusal(workload, "; ".join(map(str, unlike)), tuple(one.field for one in unlike))


def decimated(case: Case) -> list[Refusal]:
    """A refusal if NEW failed to complete a larger share of its runs than BASE: the others may be the lucky ones."""
    base, new = case.base_side, case.new_side
    if new.share_failed <= base.share_failed:
        return []
    lost = f"{new.failed} of {new.runs + new.failed} runs of {new.label} did not complete ({', '.join(new.left_out)})"
    return [Refusal(case.workload, f"{lost}, {base.failed} of {base.runs + base.failed} of {base.label}", ())]


def from_runs(case: Case, metric: Metric) -> Samples:
    """The values of both sides, one per run."""
    return pair_up(case.base, case.new, metric.name, metric.noise)


def judged(
    cases: Sequence[Case],
    refusals: Sequence[Refusal],
    options: Options,
    labels: tuple[str, str],
    axis: str | None,
    notes: Sequence[str],
    take: Take = from_runs,
) -> Comparison:
    """Ask all questions of all cases together, so that their number is accounted for."""
    asked = [
        [(metric, samples, _question(metric, samples, case, options.thresholds)) for metric, samples in found]
        for case in cases
        for found in [_samples(case, options, axis, take)]
    ]
    answers = iter(judge([question for of_case in asked for _, _, question in of_case], options.thresholds.policy))
    groups = tuple(
        Group(
            case.workload,
            case.base_side,
            case.new_side,
            case.allowed,
            tuple(
                MetricResult(metric, question.min_effect, samples.design, next(answers))
                for metric, samples, question in of_case
            ),
        )
        for case, of_case in zip(cases, asked, strict=True)
    )
    every = [*refusals, *(one for case in cases if axis is None for one in decimated(case))]
    return Comparison(*labels, axis, options.allowed, options.thresholds, groups, tuple(every), tuple(notes))


def _samples(case: Case, options: Options, axis: str | None, take: Take) -> Iterator[tuple[Metric, Samples]]:
    for name, metric in METRICS.items():
        if metric.direction is None or name in options.thresholds.ignored:
            continue
        if options.metrics is not None and name not in options.metrics:
            continue
        if axis == "task" and metric.noise == "seed":
            continue  # returns and success of different tasks mean different things
        samples = take(case, metric)
        if samples.base or samples.new:
            yield metric, samples


def _question(metric: Metric, samples: Samples, case: Case, thresholds: Thresholds) -> Question:
    assert metric.direction is not None
    return Question(
        samples.base,
        samples.new,
        metric.direction,
        metric.scale,
        thresholds.min_effect[metric.name],
        samples.design,
        _pooled_p(case.base, case.new) if metric.name == "success_rate" else 0.0,
    )


def _pooled_p(base: Sequence[Row], new: Sequence[Row]) -> float:
    """P value of all episodes of all runs together; 0 where the runs do not count episodes.

    Runs that agree by luck, all at 100 %, have no spread: then only the number of their episodes says how much they
    know. A seed that was played twice played the same episodes.
    """
    counts = []
    for rows in (base, new):
        by_seed = {row["seed"]: row for row in rows}.values()
        if any(row["n_success"] is None or not row["n_episodes"] for row in by_seed):
            return 0.0
        counts += [int(sum(row["n_success"] for row in by_seed)), int(sum(row["n_episodes"] for row in by_seed))]
    return compare_proportions(*counts).p_value
