"""The verb `scores`: how well policies do, by task, suite and overall."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.refusal import refuse

if TYPE_CHECKING:
    from benchmark_app.analysis.scores import Play

NONE = 1


def run(arguments: list[str]) -> int:
    """Print the scores of evaluations; see `--help`.

    Returns:
        Exit status: 0 there are some, 1 no evaluation counts as a score, 2 refused.
    """
    try:
        return _run(arguments)
    except UsageError as error:
        return refuse(str(error))


def _run(arguments: list[str]) -> int:
    parser = Parser(
        prog="python -m benchmark_app scores",
        description="How well policies do: success and returns of all completed evaluations (play), by task, suite and "
        "overall, for every seed and over seeds. Interrupted and smoke runs are left out, and named.",
        epilog="exit status: 0 there are scores, 1 nothing that was found counts as one, 2 refused",
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="folders, files or quoted globs")
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    args = parser.parse_args(arguments)

    from benchmark_app.analysis.discover import LoadError
    from benchmark_app.analysis.loading import Note
    from benchmark_app.analysis.plays import find_plays
    from benchmark_app.analysis.scores import score
    from benchmark_app.analysis.writers.scores import write_json, write_text

    try:
        found = find_plays(args.paths)
    except LoadError as error:
        raise UsageError(f"scores: {error}") from None
    for broken in found.broken:
        print(f"broken {broken}", file=sys.stderr)
    scores, older = score(found.plays)
    left_out = [*found.left_out, *(Note(old.path, _newer(old, new)) for old, new in older)]
    if not scores and not left_out:
        raise UsageError("scores: no evaluation found; name folders that hold play.json")
    print((write_json if args.json else write_text)(scores, left_out, found.notes), end="")
    return 0 if scores else NONE


def _newer(old: Play, new: Play) -> str:
    trained = ""
    if old.policy_iterations != new.policy_iterations:
        trained = f" (of a policy of {new.policy_iterations} iterations, this one is of {old.policy_iterations})"
    return f"a newer play of the same recipe, task and seed counts{trained}: {new.path}"
