"""The command line: a table of verbs, and without a verb the Hydra application that runs benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmark_app.refusal import REFUSED, refuse


def main(argv: list[str] | None = None) -> int:
    """Run a verb, or a benchmark.

    Args:
        argv: Arguments after the program's name; None takes them from the command line.

    Returns:
        Exit status: 0 completed, 1 crashed, 2 refused, 130 and 143 interrupted by SIGINT and SIGTERM.
    """
    arguments = sys.argv[1:] if argv is None else argv
    first = arguments[0] if arguments else ""
    if first in VERBS:
        return VERBS[first](arguments[1:])
    if first and "=" not in first and not first.startswith(("-", "~", "+")):
        return refuse(f"{first}: no such verb; known: {', '.join(VERBS)}; settings are written KEY=VALUE")

    from benchmark_app.compose import run_application

    return run_application(arguments)


def _validate(arguments: list[str]) -> int:
    from benchmark_app.bundle.validate import validate_paths

    if not arguments or arguments[0].startswith("-"):
        return _usage("validate PATH...", "Check result files, or every result file below a folder.", arguments)
    return validate_paths(arguments)


def _recover(arguments: list[str]) -> int:
    from benchmark_app.launch.recover import recover

    if not arguments or arguments[0].startswith("-"):
        return _usage("recover RUN_DIR...", "Rebuild the results of runs that were killed.", arguments)
    return max(recover(Path(argument)) for argument in arguments)


def _usage(form: str, what: str, arguments: list[str]) -> int:
    asked = arguments[:1] in (["-h"], ["--help"])
    print(f"usage: python -m benchmark_app {form}\n\n{what}", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else REFUSED


VERBS: dict[str, Callable[[list[str]], int]] = {"validate": _validate, "recover": _recover}
