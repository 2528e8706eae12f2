"""The verb `history`: results by commit and machine, and when they stepped."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.refusal import refuse

if TYPE_CHECKING:
    from benchmark_app.analysis.trend import Point, Step, Trend

_STORE = "benchmark_history.jsonl"


def run(arguments: list[str]) -> int:
    """Add runs to a store, or show what it holds; see `--help`.

    Returns:
        Exit status: 0 done, 2 refused.
    """
    try:
        args = _parser().parse_args(arguments)
        return _add(args) if args.action == "add" else _show(args)
    except UsageError as error:
        return refuse(str(error))


def _parser() -> Parser:
    parser = Parser(
        prog="python -m benchmark_app history",
        description="Keep results by commit and machine in a file of JSON lines, and see when they stepped.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="add|show")
    add = actions.add_parser("add", help="add runs to the store", allow_abbrev=False)
    add.add_argument("paths", nargs="+", metavar="PATH", help="folders, files or quoted globs")
    add.add_argument("--commit", metavar="SHA", help="the commit they are of, instead of the one the bundles tell")
    show = actions.add_parser("show", help="show what the store holds", allow_abbrev=False)
    show.add_argument("--metric", metavar="NAME", help="every point of this metric; without it, a line per metric")
    for action in (add, show):
        action.add_argument("--store", metavar="FILE", default=_STORE, help=f"default: {_STORE}")
    return parser


def _add(args: argparse.Namespace) -> int:
    from benchmark_app.analysis.files import TargetError, check_target
    from benchmark_app.analysis.history import HistoryError, add
    from benchmark_app.analysis.loading import LoadError

    try:
        check_target("--store", args.store, ".jsonl")
        added = add(args.paths, args.store, commit=args.commit)
    except (HistoryError, LoadError, TargetError) as error:
        raise UsageError(f"history add: {error}") from None
    for broken in added.broken:
        print(f"broken {broken}", file=sys.stderr)
    for note in added.notes:
        print(f"note {note}", file=sys.stderr)
    if added.without_commit:
        runs = "1 run names" if added.without_commit == 1 else f"{added.without_commit} runs name"
        way_out = "run from a git checkout, or give --commit SHA"
        print(f"note: {runs} no commit and will not count as a point of the history: {way_out}", file=sys.stderr)
    if added.new + added.replaced + added.known == 0:
        raise UsageError("history add: no runs found; name folders or files that hold bundles")
    counts = {"added": added.new, "added again with other content": added.replaced, "already there": added.known}
    print(f"{args.store}: " + ", ".join(f"{count} {what}" for what, count in counts.items() if count))
    return 0


def _show(args: argparse.Namespace) -> int:
    from benchmark_app.analysis.history import HistoryError, read
    from benchmark_app.analysis.metrics import METRICS
    from benchmark_app.analysis.trend import trends

    if args.metric is not None and args.metric not in METRICS:
        raise UsageError(f"history show: --metric {args.metric}: no such metric; known: {', '.join(METRICS)}")
    try:
        history = read(args.store)
    except HistoryError as error:
        raise UsageError(f"history show: {error}") from None
    for line in history.dropped:
        print(f"passed over: {line}", file=sys.stderr)
    found = trends(history, [args.metric] if args.metric is not None else None)
    if not found:
        raise UsageError(f"history show: {args.store} holds no completed run of a known commit with such a metric")
    workload = ""
    for trend in found:
        if (title := _workload(trend)) != workload:
            workload = title
            print(f"\n{title}" if trend is not found[0] else title)
        print("\n".join(_every_point(trend) if args.metric is not None else [_in_one_line(trend)]))
    return 0


def _workload(trend: Trend) -> str:
    """What all points of a trend have in common, in one line."""
    told = {name: value for name, value in trend.identity.items() if value not in (None, "", False)}
    return _plain(", ".join(f"{name}={value}" for name, value in told.items() if name != "schema_major"))


def _in_one_line(trend: Trend) -> str:
    last, steps = trend.points[-1], trend.steps
    told = "; ".join(f"{_judged(step, trend)} at {_commit(trend.points[step.index])}" for step in steps) or "no step"
    return f"  {trend.metric.name:32} {_number(last.value, trend):>20}  {_count(len(trend.points), 'point'):10}  {told}"


def _every_point(trend: Trend) -> list[str]:
    steps = {step.index: step for step in trend.steps}
    lines = []
    for index, point in enumerate(trend.points):
        mark = f"  <- {_judged(steps[index], trend)}" if index in steps else ""
        time = f"{point.time:%Y-%m-%d %H:%M}" if point.time is not None else "-"
        lines.append(
            f"  {time:16}  {_commit(point):18} {_count(point.n, 'run'):8}  {_number(point.value, trend):>20}{mark}"
        )
    return lines


def _judged(step: Step, trend: Trend) -> str:
    word = {True: "worse", False: "better", None: "changed"}[step.worse]
    size = f"{step.change:+.3g}" if trend.metric.scale == "points" else f"{step.change:+.1%}"
    return f"{word} by {size}"


def _number(value: float, trend: Trend) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{text} {trend.metric.unit}".rstrip()


def _commit(point: Point) -> str:
    return _plain(f"{point.commit[:12]}{'+dirty' if point.dirty else ''}")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _plain(text: str) -> str:
    """Text from a bundle as one line a terminal can take."""
    return "".join(c if c.isprintable() else "?" for c in text)
