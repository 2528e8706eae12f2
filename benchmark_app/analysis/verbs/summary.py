"""The verb `summary`: how far runs of the same settings scatter."""

from __future__ import annotations

import json
import os
import sys

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.refusal import refuse


def run(arguments: list[str]) -> int:
    """Print the spread of repeated runs; see `--help`.

    Returns:
        Exit status: 0, or 2 refused.
    """
    try:
        return _run(arguments)
    except UsageError as error:
        return refuse(str(error))


def _run(arguments: list[str]) -> int:
    parser = Parser(
        prog="python -m benchmark_app summary",
        description="How far runs of the same settings scatter: for every configuration and metric the median, the "
        "smallest and largest run, and the spread between runs beside the one inside a run.",
        epilog="exit status: 0, or 2 where there is no result. A run with repeats=K leaves this in summary.json.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="folders, files or quoted globs")
    parser.add_argument("--json", action="store_true", help="print JSON: all metrics, all numbers")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON to a file, too")
    args = parser.parse_args(arguments)

    from benchmark_app.analysis.discover import LoadError
    from benchmark_app.analysis.files import TargetError, check_target, has_format, write_file
    from benchmark_app.analysis.loading import load
    from benchmark_app.analysis.repeats import FORMAT, repeats_of, to_plain
    from benchmark_app.analysis.writers.repeats import write_text

    if args.output is not None:
        try:
            check_target("-o", args.output, ".json")
        except TargetError as error:
            raise UsageError(f"summary: {error}") from None
        if os.path.exists(args.output) and not has_format(args.output, FORMAT):
            raise UsageError(f"summary: -o {args.output}: exists and is no summary; remove it, or give another name")
    try:
        results = load(args.paths)
    except LoadError as error:
        raise UsageError(f"summary: {error}") from None
    for broken in results.broken:
        print(f"broken {broken}", file=sys.stderr)
    found = repeats_of(results)
    if not found:
        raise UsageError("summary: no result found; name folders of runs")
    content = to_plain(found)
    if args.output is not None:
        try:
            write_file(args.output, json.dumps(content, indent=2, allow_nan=False) + "\n")
        except OSError as error:
            raise UsageError(f"summary: -o {args.output}: cannot be written ({error.strerror})") from None
    print(json.dumps(content, indent=2) if args.json else write_text(found), end="\n" if args.json else "")
    return 0
