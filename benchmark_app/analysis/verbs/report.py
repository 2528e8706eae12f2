"""The verb `report`: one HTML file, or a Markdown summary, of many runs."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.refusal import refuse

if TYPE_CHECKING:
    from benchmark_app.analysis.history import History
    from benchmark_app.analysis.report import Selection

LAST = 500  # runs; more make a page no one reads

_EPILOG = """\
examples:
  report outputs/latest                      report.html of the newest run or sweep
  report outputs -o week.html --last 200     the newest 200 runs below a folder
  report outputs/latest --markdown           a summary for a terminal or a pull request

exit status: 0 written, 2 no run to report, or refused.
"""


def run(arguments: list[str]) -> int:
    """Write a report; see `--help`.

    Returns:
        Exit status: 0 written, 2 refused.
    """
    try:
        return _run(_parser().parse_args(arguments), f"python -m benchmark_app report {shlex.join(arguments)}")
    except UsageError as error:
        return refuse(str(error))


def _parser() -> Parser:
    parser = Parser(
        prog="python -m benchmark_app report",
        description="Write one self-contained HTML file about runs: conditions, rankings, curves, costs, every run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="folders, files or quoted globs")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: report.html; --markdown prints")
    parser.add_argument("--markdown", action="store_true", help="a Markdown summary instead of HTML")
    parser.add_argument("--last", type=int, default=LAST, metavar="N", help=f"the newest N runs, default {LAST}")
    parser.add_argument("--title", default="Benchmark report", metavar="TEXT", help="heading of the report")
    parser.add_argument("--store", metavar="FILE", help="draw this history too, as `history add` wrote it")
    return parser


def _run(args: argparse.Namespace, command: str) -> int:
    _check(args)
    from benchmark_app.analysis.files import write_file
    from benchmark_app.analysis.report import write_report
    from benchmark_app.analysis.summary_markdown import summarise_runs

    selection, history = _select(args), _history(args)
    output = args.output or Path("report.html")
    try:
        if not args.markdown:
            write_report(selection, output, title=args.title, command=command, history=history)
        elif args.output is None:
            print(summarise_runs(selection, title=args.title), end="")
            return 0
        else:
            write_file(output, summarise_runs(selection, title=args.title))
    except OSError as error:
        raise UsageError(f"-o {output}: cannot be written ({error.strerror or error})") from None
    about = f", {_count(len(selection.left_out), 'note')} about files" if selection.left_out else ""
    also = f", {_count(len(selection.equivalences), 'equivalence result')}" if selection.equivalences else ""
    print(f"{output}: {_count(len(selection.rows), 'run')}{also}{about}")
    return 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _check(args: argparse.Namespace) -> None:
    """Refuse what would go wrong later, or do harm."""
    if args.last < 1:
        raise UsageError(f"--last {args.last}: expected at least 1")
    if args.markdown and args.store is not None:
        raise UsageError("--store: the Markdown summary has no history; see `history show`, or leave --markdown out")
    suffixes = (".md",) if args.markdown else (".html", ".htm")
    if args.output is not None:
        # A mistyped -o must not replace a bundle.
        if args.output.suffix.lower() not in suffixes:
            raise UsageError(f"-o {args.output}: expected a name that ends in {suffixes[0]}")
        if not args.output.absolute().parent.is_dir():
            raise UsageError(f"-o {args.output}: there is no folder {args.output.parent}; make it first")


def _select(args: argparse.Namespace) -> Selection:
    from benchmark_app.analysis.loading import LoadError, Unfinished, load
    from benchmark_app.analysis.report import select_runs

    try:
        results = load(args.paths)
    except LoadError as error:
        raise UsageError(f"report: {error}") from None
    selection = select_runs(results, args.last)
    if selection.empty:
        broken = f"; broken: {results.broken[0]}" if results.broken else ""
        more = f" and {len(results.broken) - 1} more" if len(results.broken) > 1 else ""
        unfinished = next((f"; {note}" for note in results.notes if isinstance(note, Unfinished)), "")
        raise UsageError(f"report: no bundle in {shlex.join(args.paths)}{broken}{more}{unfinished}")
    return selection


def _history(args: argparse.Namespace) -> History | None:
    from benchmark_app.analysis.history import HistoryError, read

    try:
        return read(args.store) if args.store is not None else None
    except HistoryError as error:
        raise UsageError(f"report: --store: {error}") from None
