"""Compare groups of runs: which can be compared, and for each metric a verdict.

Docs/design.md, section 5, says what must agree; docs/statistics.md, how the verdicts are reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmark_app.analysis.cases import Case, Options, Runs, by_key, counted, judged, unmatched, varying
from benchmark_app.analysis.comparison import Comparison, Refusal, describe
from benchmark_app.analysis.identity import IDENTITY
from benchmark_app.analysis.metrics import Metric
from benchmark_app.analysis.pairing import STARTED, Row, Samples, values_of
from benchmark_app.analysis.statistics import median

__all__ = ["Options", "compare", "compare_by", "compare_history"]

_ABSENT = object()


def compare(
    base: Iterable[Row],
    new: Iterable[Row],
    options: Options,
    *,
    labels: tuple[str, str] = ("BASE", "NEW"),
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare two sets of runs, workload by workload.

    A workload of BASE that NEW lacks is refused, with the fields in which the nearest one of NEW differs: a benchmark
    that silently lost half of its runs must not pass. One that only NEW has is a note.

    Args:
        base: Rows of the table of runs.
        new: Likewise.
        options: What the user decided.
        labels: Names of both sides.
        notes: What the reader must know of the loading.
    """
    fields = [field for field in IDENTITY if field not in options.allowed]
    of_base, of_new = Runs.of(base), Runs.of(new)
    before, after = by_key(of_base.completed, fields), by_key(of_new.completed, fields)
    cases, refusals = [], []
    one_of_each = [rows[0] for rows in after.values()]
    alone = [rows[0] for key, rows in after.items() if key not in before]
    for key, rows in before.items():
        workload = dict(zip(fields, key, strict=True))
        if key in after:
            sides = of_base.side(labels[0], rows, workload), of_new.side(labels[1], after[key], workload)
            cases.append(Case(workload, *sides, rows, after[key], varying(rows + after[key], options.allowed)))
        elif ended := of_new.ended(workload):
            refusals.append(
                Refusal(workload, f"{labels[1]} has no completed run of it: {', '.join(counted(ended))}", ())
            )
        else:
            refusals.append(unmatched(rows[0], workload, alone or one_of_each, options.allowed))
    if not before:
        refusals.append(Refusal({}, f"{labels[0]} has no completed run{of_base.how_ended}", ()))
    more = [f"only in {labels[1]}: {describe({field: row[field] for field in fields})}" for row in alone]
    return judged(cases, refusals, options, labels, None, [*notes, *more])


def compare_by(
    runs: Iterable[Row], axis: str, options: Options, *, reference: str | None = None, notes: Sequence[str] = ()
) -> Comparison:
    """Compare the values of one field inside one set of runs; everything else must agree.

    Args:
        runs: Rows of the table of runs.
        axis: A field of the identity.
        options: What the user decided.
        reference: The value of BASE; None takes the first in order of each workload. A workload that lacks it is
            refused.
        notes: What the reader must know of the loading.
    """
    fields = [field for field in IDENTITY if field != axis and field not in options.allowed]
    every = Runs.of(runs)
    cases, alone, refusals = [], [], []
    for key, rows in by_key(every.completed, fields).items():
        workload = dict(zip(fields, key, strict=True))
        values = {value: of_value for (value,), of_value in sorted(by_key(rows, [axis]).items(), key=_order)}
        named = {str(value): value for value in values}
        first = next(iter(values)) if reference is None else named.get(reference, _ABSENT)
        if first is _ABSENT:
            reason = f"{axis} {reference} does not occur in it, only {', '.join(named)}"
            refusals.append(Refusal(workload, reason, ()))
            continue
        if len(values) < 2:
            alone.append((workload | {axis: ", ".join(named)}, rows[0]))
            continue
        base = every.side(str(first), values[first], workload | {axis: first})
        for value, contenders in values.items():
            if value != first:
                side = every.side(str(value), contenders, workload | {axis: value})
                differ = varying(values[first] + contenders, options.allowed)
                cases.append(Case(workload, base, side, values[first], contenders, differ))
    one_of_each = [rows[0] for rows in by_key(every.completed, [*fields, axis]).values()]
    others = {value: [one for one in one_of_each if one[axis] != value] for value in {row[axis] for _, row in alone}}
    refusals += [unmatched(row, workload, others[row[axis]], options.allowed, axis) for workload, row in alone]
    labels = (reference or f"the first {axis}", "the others")
    if cases:  # the question has an answer; what stands alone is only worth a note
        notes = [*notes, *(f"nothing to compare {describe(one.workload)} with: {one.reason}" for one in refusals)]
        refusals = []
    elif not refusals:
        refusals = [Refusal({}, f"there is no completed run{every.how_ended}", ())]
    return judged(cases, refusals, options, labels, axis, notes)


def compare_history(
    history: Iterable[Row], new: Iterable[Row], last: int, options: Options, *, notes: Sequence[str] = ()
) -> Comparison:
    """Compare runs with the last commits of a rolling history, each by the median of its runs.

    Runs of a commit that is being judged are no history, and neither are runs whose commit is not known.

    Args:
        history: Rows of the store.
        new: Rows of the table of runs.
        last: How many points of each workload make the baseline.
        options: What the user decided.
        notes: What the reader must know of the loading.
    """
    fields = [field for field in IDENTITY if field not in options.allowed]
    of_new = Runs.of(new)
    judged_commits = {row["commit"] for row in of_new.completed} - {None}
    judged_runs = {(row["run_id"], row[STARTED]) for row in of_new.completed}
    of_store = Runs.of(
        row
        for row in history
        if row["commit"] is not None
        and row["commit"] not in judged_commits
        and (row["run_id"], row[STARTED]) not in judged_runs
    )
    known = by_key(of_store.completed, fields)
    labels = (f"the last {last} of the history", "NEW")
    cases, refusals = [], []
    for key, rows in by_key(of_new.completed, fields).items():
        workload = dict(zip(fields, key, strict=True))
        if key not in known:
            refusals.append(unmatched(rows[0], workload, [one[0] for one in known.values()], options.allowed))
            continue
        base = [row for point in _points(known[key])[-last:] for row in point]
        sides = of_store.side(labels[0], base, workload), of_new.side(labels[1], rows, workload)
        cases.append(Case(workload, *sides, base, rows, varying(base + rows, options.allowed)))
    if not of_new.completed:
        refusals.append(Refusal({}, f"there is no completed run{of_new.how_ended}", ()))
    return judged(cases, refusals, options, labels, None, notes, _by_point)


def _points(rows: Sequence[Row]) -> list[list[Row]]:
    """Runs by commit, in the order of the commits; where git knew no time, of their first runs."""
    found: dict[object, list[Row]] = {}
    for row in rows:
        found.setdefault(row["commit"], []).append(row)
    times = {key: of_point[0].get("commit_time_utc") or of_point[0][STARTED] for key, of_point in found.items()}
    return [found[key] for key in sorted(found, key=lambda key: (times[key] is not None, times[key]))]


def _by_point(case: Case, metric: Metric) -> Samples:
    """The median of every point of the history, and the runs to judge."""
    points = [values_of(point, metric.name, metric.noise) for point in _points(case.base)]
    return Samples(
        [median(values) for values in points if values], values_of(case.new, metric.name, metric.noise), "history"
    )


def _order(item: tuple[tuple[Any, ...], Any]) -> tuple[bool, float, str]:
    value = item[0][0]
    number = isinstance(value, int | float)
    return (not number, value if number else 0.0, str(value))
