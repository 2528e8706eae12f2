"""Lines of the chart of history: the headline metrics of every workload over commits, steps for the worse marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmark_app.analysis.history import History
from benchmark_app.analysis.report.groups import CONTENDERS, DIMENSIONS, Group
from benchmark_app.analysis.report.wording import HEADLINES
from benchmark_app.analysis.trend import Point, Trend, trends

Line = dict[str, Any]


def draw_history(history: History, groups: Sequence[Group]) -> list[Line]:
    """One line for each metric and workload of the store that has at least two points, of the tasks of a report.

    Lines that differ only in library, engine and renderer share a chart, and so the places of their commits.

    Args:
        history: What the store holds.
        groups: The report's groups.
    """
    tasks = {group.identity["task"] for group in groups}
    names = list(dict.fromkeys(name for headlines in HEADLINES.values() for name in headlines))
    charts: dict[tuple[Any, ...], list[Trend]] = {}
    for trend in trends(history, names):
        told = trend.metric.name in HEADLINES[str(trend.identity["workflow"])]
        if told and trend.identity["task"] in tasks and len(trend.points) > 1:
            charts.setdefault((trend.metric.name, *_workload(trend)), []).append(trend)
    return [line for number, members in enumerate(charts.values()) for line in _chart(number, members, charts, groups)]


def _chart(
    number: int, members: Sequence[Trend], charts: dict[tuple[Any, ...], list[Trend]], groups: Sequence[Group]
) -> Iterable[Line]:
    known = sorted({_key(point): point for trend in members for point in trend.points}.values(), key=_order)
    place = {_key(point): index for index, point in enumerate(known)}
    for trend in members:
        yield {
            "metric": trend.metric.name,
            "chart": number,
            "task": trend.identity["task"],
            "note": _note(trend, [others[0] for others in charts.values()]),
            "name": " · ".join(
                str(trend.identity[name]) for name in CONTENDERS if trend.identity[name] not in (None, "none")
            ),
            "labels": [_label(point) for point in known],
            "points": [(place[_key(point)], point.value, None, None, point.n) for point in trend.points],
            "worse": [[step.index, _change(trend, step.change)] for step in trend.steps if step.worse],
            "groups": [index for index, group in enumerate(groups) if _concerns(trend, group)],
        }


def _workload(trend: Trend) -> tuple[Any, ...]:
    return tuple(value for name, value in trend.identity.items() if name not in CONTENDERS)


def _concerns(trend: Trend, group: Group) -> bool:
    return all(trend.identity[name] == group.identity[name] for name in ("workflow", "task", *CONTENDERS))


def _note(trend: Trend, all_trends: Sequence[Trend]) -> str:
    """What tells this workload from the others of the store."""
    names = [name for name in DIMENSIONS if name not in (*CONTENDERS, "task")]
    told = [name for name in names if len({str(other.identity[name]) for other in all_trends}) > 1]
    return ", ".join(f"{DIMENSIONS[name].lower()} {trend.identity[name]}" for name in told if trend.identity[name])


def _key(point: Point) -> tuple[Any, ...]:
    return (point.commit,) if not point.dirty else (point.commit, point.time)


def _order(point: Point) -> tuple[bool, Any]:
    return point.time is not None, point.time


def _label(point: Point) -> str:
    commit = f"{point.commit[:10]}{' with changes' if point.dirty else ''}"
    return f"{commit}, {point.time:%Y-%m-%d}" if point.time is not None else commit


def _change(trend: Trend, change: float) -> str:
    return f"{change:+.3g}" if trend.metric.scale == "points" else f"{change:+.1%}"
