"""A summary of runs in Markdown, for terminals and pull requests: conditions first, then rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.report.equivalences import describe_equivalence, in_order
from benchmark_app.analysis.report.groups import CONTENDERS, DIMENSIONS, Group, Stat, group_runs, standings
from benchmark_app.analysis.report.notices import find_notices
from benchmark_app.analysis.report.payload import Selection, conditions_of, facts_of
from benchmark_app.analysis.report.wording import RANKINGS
from benchmark_app.analysis.writers.markdown import text

_TITLES = {"training": "training", "play": "play", "runtime": "runtime", "startup": "start-up"}
_COLUMNS = 5  # of metrics: a table that wraps is read by no one
_MOST_LEFT_OUT = 20


def summarise_runs(selection: Selection, *, title: str) -> str:
    """Conditions, rankings and what was left out.

    Args:
        selection: The runs, at least one.
        title: Heading.
    """
    rows = selection.rows
    groups = group_runs(rows)
    lines = [f"## {text(title)}", "", text(" · ".join(facts_of(selection))), ""]
    notices = find_notices(rows, groups, conditions_of(rows))
    if notices:
        lines += ["### Conditions", ""]
        lines += [f"- **{text(notice.title)}.** {text(notice.detail)}" for notice in notices] + [""]
    ranked = [group for group in groups if group.counted]
    marks = standings(ranked)
    index_of = {id(group): index for index, group in enumerate(ranked)}
    by_workload = groupby(sorted(ranked, key=lambda group: str(group.contest)), key=lambda group: group.contest)
    contests = sorted((list(members) for _, members in by_workload), key=lambda members: index_of[id(members[0])])
    for members in contests:
        lines += _contest(members, marks, index_of, contests)
    if ranked:
        lines += [
            "**Bold**: best of its workload, where it has at least 3 runs. ≈: not separable from the best with these "
            "runs. In brackets: 95 % interval of the mean. Rates, times and memory are geometric means.",
            "",
        ]
    if selection.equivalences:
        lines += _equivalences(selection)
    if selection.left_out:
        lines += ["### About files", ""]
        lines += [f"- {text(path)}: {text(reason)}" for path, reason in selection.left_out[:_MOST_LEFT_OUT]]
        more = len(selection.left_out) - _MOST_LEFT_OUT
        lines += [f"- and {more} more"] if more > 0 else []
    return "\n".join(lines).rstrip() + "\n"


def _equivalences(selection: Selection) -> list[str]:
    lines = ["### Equivalence of engines", "", _row(["Task", "Reference", "Engine", "Seed", "Verdict", "Joints"])]
    lines.append(_row(["---"] * 6))
    for found in map(describe_equivalence, in_order(selection.equivalences)):
        verdict = f"{found['verdict']}: {found['meaning']}"
        cells = (
            found["task"],
            found["reference"],
            found["physics"],
            found["seed"],
            verdict,
            "; ".join(found["joints"]),
        )
        lines.append(_row([text(cell) for cell in cells]))
    return [*lines, ""]


def _contest(
    members: Sequence[Group],
    marks: Mapping[tuple[int, str], str],
    index_of: Mapping[int, int],
    contests: Sequence[Sequence[Group]],
) -> list[str]:
    """Heading and table of one workload; the best by its first metric comes first."""
    workflow, task = members[0].identity["workflow"], members[0].identity["task"]
    names = [name for name in RANKINGS[workflow] if any(name in group.stats for group in members)][:_COLUMNS]
    peers = [others[0] for others in contests if others[0].identity["workflow"] == workflow]
    lines = [f"### {text(str(task))} · {_TITLES[workflow]}", ""]
    if described := _described(members[0], peers):
        lines += [text(described), ""]
    heads = ["Library · engine", "Runs", *(_head(name) for name in names)]
    lines += [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    for group in sorted(members, key=lambda group: _order(group, names)):
        cells = [_cell(group.stats.get(name), marks.get((index_of[id(group)], name))) for name in names]
        label = " · ".join(
            str(group.identity[name]) for name in CONTENDERS if group.identity[name] not in (None, "none")
        )
        runs = (
            str(len(group.counted))
            if len(group.counted) == len(group.rows)
            else f"{len(group.counted)} of {len(group.rows)}"
        )
        lines.append(_row([text(label), runs, *cells]))
    return [*lines, ""]


def _described(group: Group, peers: Sequence[Group]) -> str:
    """The fields in which workloads of this kind differ."""
    fields = [name for name in DIMENSIONS if name not in (*CONTENDERS, "workflow", "task")]
    varying = [name for name in fields if len({str(peer.identity[name]) for peer in peers}) > 1]
    return ", ".join(
        f"{DIMENSIONS[name].lower()} {group.identity[name]}" for name in varying if group.identity[name] is not None
    )


def _order(group: Group, names: Sequence[str]) -> tuple[bool, float]:
    stat = group.stats.get(names[0]) if names else None
    if stat is None:
        return True, 0.0
    return False, stat.value if METRICS[names[0]].direction == "lower" else -stat.value


def _head(name: str) -> str:
    metric = METRICS[name]
    return text(f"{metric.title} [{metric.unit}]" if metric.unit else metric.title)


def _cell(stat: Stat | None, mark: str | None) -> str:
    if stat is None:
        return "–"
    value = (
        f"**{number(stat.value)}**"
        if mark == "best"
        else f"≈ {number(stat.value)}"
        if mark == "tie"
        else number(stat.value)
    )
    if stat.low is None or stat.high is None:
        return value
    return f"{value} ({number(stat.low)} to {number(stat.high)})"


def number(value: float) -> str:
    """Four significant digits, whole numbers from a thousand on."""
    if value == 0 or not math.isfinite(value):
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
