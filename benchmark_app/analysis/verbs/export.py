"""The verb `export`: the runs for other programs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.bundle.check import BundleError
from benchmark_app.refusal import refuse

if TYPE_CHECKING:
    from benchmark_app.analysis import Results

_SUFFIXES = {"csv": ".csv", "parquet": ".parquet", "markdown": ".md"}
_FORMATS = (*_SUFFIXES, "isaaclab")


def run(arguments: list[str]) -> int:
    """Write the table of runs, or copies of their bundles; see `--help`.

    Returns:
        Exit status: 0 written, 2 refused or nothing to write.
    """
    try:
        return _run(_parser().parse_args(arguments))
    except UsageError as error:
        return refuse(str(error))


def _parser() -> Parser:
    parser = Parser(
        prog="python -m benchmark_app export",
        description="Write all runs as one table, or their bundles as Isaac Lab's harness looks for them.",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="folders, files or quoted globs")
    parser.add_argument("--csv", metavar="FILE", help="one row per run, all columns")
    parser.add_argument("--parquet", metavar="FILE", help="the same with types")
    parser.add_argument("--markdown", metavar="FILE", help="one table per workflow, for people; - prints it")
    parser.add_argument("--isaaclab", metavar="DIR", help="copies of the bundles, named as Isaac Lab names them")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    from benchmark_app.analysis import load
    from benchmark_app.analysis.files import TargetError, check_target
    from benchmark_app.analysis.loading import LoadError

    wanted = {name: getattr(arguments, name) for name in _FORMATS if getattr(arguments, name) is not None}
    if not wanted:
        raise UsageError("export: say what to write: --csv FILE, --parquet FILE, --markdown FILE or --isaaclab DIR")
    try:
        for name, suffix in _SUFFIXES.items():
            if name in wanted and (name, wanted[name]) != ("markdown", "-"):
                check_target(f"--{name}", wanted[name], suffix)
        results = load(arguments.paths)
    except (LoadError, TargetError) as error:
        raise UsageError(f"export: {error}") from None
    for broken in results.broken:
        print(f"broken {broken}", file=sys.stderr)
    for note in results.notes:
        print(f"note {note}", file=sys.stderr)
    if results.runs.is_empty():
        raise UsageError("export: no runs found; name folders or files that hold bundles")
    for name, target in wanted.items():
        try:
            _write(name, target, results)
        except BundleError as error:  # a file that changed since it was loaded
            raise UsageError(f"export: --{name} {target}: {error}") from None
        except OSError as error:
            raise UsageError(f"export: --{name} {target}: cannot be written ({error.strerror or error})") from None
    return 0


def _write(form: str, target: str, results: Results) -> None:
    from benchmark_app.analysis import export

    runs = results.runs
    if form == "isaaclab":
        written = export.write_isaaclab([results.file(path) for path in runs["path"]], target)
        print(f"{len(written)} bundles written below {target}")
        return
    if form == "markdown" and target == "-":
        print(export.markdown(runs), end="")
        return
    {"csv": export.write_csv, "parquet": export.write_parquet, "markdown": export.write_markdown}[form](runs, target)
    print(f"{runs.height} runs written to {target}")
