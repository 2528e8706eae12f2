"""The verb `compare`: which is better, and did it get worse?"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark_app.analysis.bisecting import SKIP
from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.refusal import refuse

if TYPE_CHECKING:
    from benchmark_app.analysis.compare import Options
    from benchmark_app.analysis.comparison import Comparison
    from benchmark_app.analysis.loading import Results

_SUFFIXES = {"terminal": ".txt", "markdown": ".md", "json": ".json", "junit": ".xml"}

_EPILOG = """\
examples:
  compare runs/main runs/branch                          did it get worse?
  compare --by framework runs                            which library is better?
  compare --baseline last:20 --store history.jsonl runs  is it worse than the last 20 commits?

exit status: 0 nothing regressed, 1 something regressed, 2 something could not be compared.
With --bisect: 0 good, 1 bad, 125 nothing can be said about this commit, which `git bisect run` skips. NEW is good if
nothing regressed and everything is unchanged; with --bad, if it is nearer to BASE than to the runs given there.
"""


def run(arguments: list[str]) -> int:
    """Compare runs and print the result; see `--help`.

    Returns:
        Exit status: 0 fine, 1 regression, 2 cannot compare or refused; with `--bisect` 125 instead of 2.
    """
    try:
        return _run(_parser().parse_intermixed_args(arguments))
    except UsageError as error:
        status = refuse(str(error))
        return SKIP if "--bisect" in arguments else status


def _parser() -> Parser:
    parser = Parser(
        prog="python -m benchmark_app compare",
        description="Compare two sets of runs, or the runs of one set by a field.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="BASE and NEW: folders, files or quoted globs")
    parser.add_argument("--by", metavar="FIELD", help="compare the values of this field inside one set of runs")
    parser.add_argument("--reference", metavar="VALUE", help="with --by: the value the others are compared with")
    parser.add_argument("--allow", metavar="FIELD", action="append", default=[], help="let this field differ")
    parser.add_argument("--baseline", metavar="last:N", help="compare with the last N commits of the store")
    parser.add_argument("--store", metavar="FILE", help="with --baseline: the history to take them from")
    parser.add_argument("--metric", metavar="NAME", nargs="+", default=[], help="judge only these (patterns allowed)")
    parser.add_argument("--thresholds", metavar="FILE", help="TOML file of your own rules")
    parser.add_argument("--show-thresholds", action="store_true", help="print the rules in force as such a file")
    parser.add_argument("--format", choices=tuple(_SUFFIXES), default="terminal", help="default: terminal")
    endings = ", ".join(f"*{suffix}" for suffix in _SUFFIXES.values())
    parser.add_argument("-o", "--output", metavar="FILE", help=f"write there ({endings}) instead of printing (-)")
    parser.add_argument("--bisect", action="store_true", help="exit status for `git bisect run`")
    parser.add_argument("--bad", metavar="PATH", help="with --bisect: runs that have the regression")
    return parser


def _run(args: argparse.Namespace) -> int:
    from benchmark_app.analysis.bisecting import bisect_between, bisect_lines, bisect_status
    from benchmark_app.analysis.compare import Options
    from benchmark_app.analysis.discover import LoadError
    from benchmark_app.analysis.identity import IdentityError, check_fields
    from benchmark_app.analysis.metrics import METRICS
    from benchmark_app.analysis.thresholds import ThresholdError, as_toml, load_thresholds

    _check(args)
    try:
        thresholds = load_thresholds({name: metric.min_effect for name, metric in METRICS.items()}, args.thresholds)
        if args.show_thresholds:
            print(as_toml(thresholds), end="")
            return 0
        check_fields([*args.allow, *([args.by] if args.by is not None else [])])
        options = Options(thresholds, tuple(dict.fromkeys(args.allow)), _metrics(args.metric))
        comparison = _compare(args, args.paths, options)
        to_bad = _compare(args, [args.paths[0], args.bad], options) if args.bad is not None else None
    except (ThresholdError, IdentityError, LoadError) as error:
        raise UsageError(f"compare: {error}") from None
    status, advice = comparison.status, list[str]()
    if to_bad is not None:
        status, advice = bisect_between(comparison, to_bad)
    elif args.bisect:
        status = bisect_status(comparison)
    elif not args.by and not args.baseline:
        advice = bisect_lines(comparison, args.paths[0], args.paths[1], args.thresholds)
    _write(args, _writer(args)(comparison, advice))
    return status


def _compare(args: argparse.Namespace, paths: list[str], options: Options) -> Comparison:
    """Load what was named, and compare it in the way that was asked for."""
    from benchmark_app.analysis.compare import compare, compare_by, compare_history
    from benchmark_app.analysis.loading import load

    if args.by:
        results = load(paths)
        return compare_by(_rows(results), args.by, options, reference=args.reference, notes=_notes(results))
    if args.baseline:
        from benchmark_app.analysis.history import HistoryError, read

        last, results = _last(args.baseline), load(paths)
        try:
            history = read(args.store)
        except HistoryError as error:
            raise UsageError(f"compare: {error}") from None
        notes = [*(f"left out of the history: {line}" for line in history.dropped), *_notes(results)]
        return compare_history(history.runs.to_dicts(), _rows(results), last, options, notes=notes)
    base, new = load(paths[:1]), load(paths[1:])
    sides = _rows(base), _rows(new)
    shared = {(row["run_id"], row["start_time_utc"]) for row in sides[0]} & {
        (row["run_id"], row["start_time_utc"]) for row in sides[1]
    }
    if shared:
        raise UsageError(
            f"compare: {paths[0]} and {paths[1]} share {len(shared)} runs, such as {min(shared)[0]}: give two sets"
        )
    return compare(*sides, options, labels=(paths[0], paths[1]), notes=[*_notes(base), *_notes(new)])


def _check(args: argparse.Namespace) -> None:
    """Refuse what does not go together, and an output that would destroy something."""
    if args.show_thresholds:
        return
    paths = args.paths
    if args.reference is not None and not args.by:
        raise UsageError("compare: --reference belongs to --by FIELD")
    if (args.store is None) != (args.baseline is None):
        raise UsageError("compare: --baseline last:N and --store FILE belong together")
    if args.by and args.baseline:
        raise UsageError("compare: --by and --baseline: give one of them")
    if args.bad is not None and (not args.bisect or args.by or args.baseline):
        raise UsageError("compare: --bad PATH belongs to --bisect and two paths, BASE and NEW")
    if not paths or (not args.by and not args.baseline and len(paths) != 2):
        wanted = "the runs" if args.by or args.baseline else "BASE and NEW (put globs in quotes)"
        raise UsageError(f"compare: {len(paths)} paths given, expected {wanted}")
    if args.output not in (None, "-"):
        _check_output(Path(args.output), _SUFFIXES[args.format])


def _check_output(output: Path, suffix: str) -> None:
    from benchmark_app.analysis.files import TargetError, check_target
    from benchmark_app.analysis.writers.json import is_comparison

    try:
        check_target("-o", output, suffix)
    except TargetError as error:
        raise UsageError(f"compare: {error}") from None
    if suffix == ".json" and output.exists() and not is_comparison(output):
        raise UsageError(f"compare: -o {output}: exists and is no comparison; remove it, or give another name")


def _rows(results: Results) -> list[dict[str, Any]]:
    return results.runs.to_dicts()


def _notes(results: Results) -> list[str]:
    return [*(f"left out {one}" for one in results.broken), *map(str, results.notes)]


def _last(baseline: str) -> int:
    word, _, number = baseline.partition(":")
    if word != "last" or not number.isdecimal() or int(number) < 1:
        raise UsageError(f"compare: --baseline {baseline}: expected last:N, such as last:20")
    return int(number)


def _metrics(patterns: Sequence[str]) -> frozenset[str] | None:
    from benchmark_app.analysis.metrics import METRICS

    judged = [name for name, metric in METRICS.items() if metric.direction is not None]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in judged):
            known = "it has no better end" if pattern in METRICS else f"known: {', '.join(judged)}"
            raise UsageError(f"compare: --metric {pattern}: no such metric to judge; {known}")
    return frozenset(n for n in judged if any(fnmatchcase(n, p) for p in patterns)) if patterns else None


def _writer(args: argparse.Namespace) -> Callable[[Comparison, Sequence[str]], str]:
    from benchmark_app.analysis.writers.json import write_json
    from benchmark_app.analysis.writers.junit import write_junit
    from benchmark_app.analysis.writers.markdown import write_markdown
    from benchmark_app.analysis.writers.terminal import write_terminal

    colour = args.output in (None, "-") and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    writers: dict[str, Callable[[Comparison, Sequence[str]], str]] = {
        "terminal": partial(write_terminal, colour=colour),
        "markdown": write_markdown,
        "json": write_json,
        "junit": write_junit,
    }
    return writers[args.format]


def _write(args: argparse.Namespace, text: str) -> None:
    from benchmark_app.analysis.files import write_file

    if args.output in (None, "-"):
        print(text, end="")
        return
    try:
        write_file(args.output, text)
    except OSError as error:
        raise UsageError(f"compare: -o {args.output}: {error.strerror or error}") from error
