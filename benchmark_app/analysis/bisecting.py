"""The `git bisect` lines that find the commit a regression came with."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark_app.analysis.comparison import Comparison, Group

SKIP = 125
"""Exit status with which `git bisect run` passes over a commit that cannot be judged; it takes 2 for a bad one."""

_MOST_RUNS = 10


def bisect_lines(comparison: Comparison, base: str) -> list[str]:
    """Shell lines for the first workload that regressed; none if nothing did, or if there are no commits in between.

    The commands that made NEW are repeated at every commit and compared with BASE, in the regressed metrics only.

    Args:
        comparison: BASE against NEW.
        base: The path of BASE.
    """
    if comparison.axis is not None:
        return []
    for group in comparison.groups:
        regressed = [one.metric.name for one in group.metrics if one.judgement.verdict == "regressed"]
        if regressed:
            return _lines(comparison, group, regressed, base)
    return []


def bisect_status(comparison: Comparison) -> int:
    """Exit status for `git bisect run`: 1 bad, 0 good, 125 for a commit about which nothing can be said."""
    verdicts = comparison.verdicts
    if verdicts["regressed"]:
        return 1
    return SKIP if comparison.status or verdicts["underpowered"] or verdicts["not comparable"] else 0


def _lines(comparison: Comparison, group: Group, regressed: Sequence[str], base: str) -> list[str]:
    good, bad = group.base.commits[-1:], group.new.commits[-1:]
    if good and good == bad:
        return []
    judge = ["python -m benchmark_app compare --bisect", *(f"--allow {field}" for field in comparison.allowed)]
    judge += ["--metric", *regressed, "--", shlex.quote(os.path.abspath(base)), '"$runs"']
    # A commit that knows no `compare --bisect` refuses it with 2, which git would take for a bad commit.
    script = [
        "runs=$(mktemp -d)",
        *_repeat(_commands(group.new.paths[-_MOST_RUNS:])),
        " ".join(judge),
        f"status=$?; [ $status -le 1 ] || status={SKIP}; exit $status",
    ]
    return [
        "To find the commit it came with:",
        f"git bisect start {bad[0] if bad else 'BAD'} {good[0] if good else 'GOOD'}",
        f"git bisect run sh -c {shlex.quote('; '.join(script))}",
    ]


def _repeat(commands: Sequence[str]) -> list[str]:
    """Run every command into a folder of its own; equal ones in a loop."""
    if len(set(commands)) == 1:
        numbers = " ".join(str(number + 1) for number in range(len(commands)))
        return [f'for i in {numbers}; do {commands[0]} hydra.run.dir="$runs/$i" || exit {SKIP}; done']
    return [f'{command} hydra.run.dir="$runs/{number}" || exit {SKIP}' for number, command in enumerate(commands, 1)]


def _commands(paths: Sequence[str]) -> list[str]:
    """The command of each run, as its folder tells, without where it wrote to."""
    found = []
    for path in paths:
        try:
            command = str(json.loads((Path(path).parent / "run.json").read_text(encoding="utf-8"))["command"])
        except (OSError, ValueError, KeyError, TypeError):
            command = "COMMAND"  # a bundle that was moved alone: the user puts in what made it
        words = [word for word in shlex.split(command) if not word.startswith("hydra.run.dir=")]
        found.append(shlex.join(words))
    return found
