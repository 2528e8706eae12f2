"""The `git bisect` lines that find the commit a regression came with, and the answer they give at each commit."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark_app.analysis.comparison import Comparison, Group, MetricResult

SKIP = 125
"""Exit status with which `git bisect run` passes over a commit that cannot be judged; it takes 2 for a bad one."""

_MOST_RUNS = 10


def bisect_lines(comparison: Comparison, base: str, new: str, thresholds: str | None = None) -> list[str]:
    """Shell lines for the first workload that regressed; none if nothing did, or if there are no commits in between.

    The commands that made NEW are repeated at every commit, and their runs are judged in the metric that regressed most
    clearly: a commit of which one metric is good and another bad would have no answer.

    Args:
        comparison: BASE against NEW.
        base: The path of BASE.
        new: The path of NEW.
        thresholds: The user's file of rules, if there was one.
    """
    if comparison.axis is not None:
        return []
    for group in comparison.groups:
        regressed = [one for one in group.metrics if one.judgement.verdict == "regressed"]
        if regressed:
            clearest = max(regressed, key=_clearness)
            judge = ["compare --bisect", *(f"--allow {field}" for field in comparison.allowed)]
            judge += [f"--thresholds {_absolute(thresholds)}"] if thresholds is not None else []
            judge += [f"--bad {_absolute(new)} --metric {clearest.metric.name} -- {_absolute(base)}"]
            return _lines(group, clearest.metric.title, " ".join(judge))
    return []


def bisect_status(comparison: Comparison) -> int:
    """Exit status for `git bisect run`: 1 bad, 0 good, 125 for a commit about which nothing can be said."""
    verdicts = comparison.verdicts
    if verdicts["regressed"]:
        return 1
    return SKIP if comparison.status or verdicts["underpowered"] or verdicts["not comparable"] else 0


def bisect_between(to_new: Comparison, to_bad: Comparison) -> tuple[int, list[str]]:
    """Tell the runs of one commit from a regression that is known.

    Whether a commit is free of a regression is another question than whether it is as good as BASE within the minimum
    effect, and takes fewer runs: it is good if it is nearer to BASE and its interval excludes the regression, and bad
    if it is nearer to the regression and its interval excludes BASE.

    Args:
        to_new: BASE against the commit's runs.
        to_bad: BASE against runs that have the regression, with the same options.

    Returns:
        The exit status, as of `bisect_status`, and a line for each metric that regressed.
    """
    answers, lines = [], []
    for bad_group in to_bad.groups:
        groups = [group for group in to_new.groups if group.workload == bad_group.workload]
        here = {one.metric.name: one for group in groups for one in group.metrics}
        for bad in bad_group.metrics:
            if bad.judgement.verdict == "regressed":
                answer = _nearer(here[bad.metric.name], bad) if bad.metric.name in here else "not measured"
                answers.append(answer)
                lines.append(f"{bad.metric.title}: {answer}")
    if "bad" in answers:
        return 1, lines
    return 0 if answers and {*answers} == {"good"} else SKIP, lines or [f"{to_bad.new} has no regression to tell from"]


def _nearer(new: MetricResult, bad: MetricResult) -> str:
    """Whether runs are `good`, like BASE, or `bad`, like those with the regression; else what is in the way."""
    judgement, regression = new.judgement, bad.judgement.change
    if judgement.change is None or judgement.low is None or judgement.high is None or regression is None:
        return f"neither good nor bad ({judgement.reason})"
    half = math.sqrt(1 + regression) - 1 if new.metric.scale == "ratio" else regression / 2
    is_bad = judgement.change > half if regression > 0 else judgement.change < half
    other = 0.0 if is_bad else regression
    if judgement.low <= other <= judgement.high:
        return "neither good nor bad (the runs vary too much)"
    return "bad" if is_bad else "good"


def _clearness(result: MetricResult) -> float:
    """By how many standard deviations of a run a metric changed."""
    effect_size = result.judgement.effect_size
    return math.inf if effect_size is None else abs(effect_size)


def _absolute(path: str) -> str:
    return shlex.quote(os.path.abspath(path))


def _lines(group: Group, regressed: str, judge: str) -> list[str]:
    good, bad = group.base.commits[-1:], group.new.commits[-1:]
    if good and good == bad:
        return []
    runs = "; ".join(_repeat(_commands(group.new.paths[-_MOST_RUNS:])))
    # A commit that knows no `compare --bisect` refuses it with 2, which git would take for a bad commit.
    script = [
        "runs=$(mktemp -d)",
        f'({runs}; python -m benchmark_app {judge} "$runs")',
        'status=$?; rm -rf "$runs"',
        f"[ $status -le 1 ] || status={SKIP}; exit $status",
    ]
    return [
        f"To find the commit with which {regressed} regressed:",
        f"git bisect start {bad[0] if bad else 'BAD'} {good[0] if good else 'GOOD'}",
        f"git bisect run sh -c {shlex.quote('; '.join(script))}",
        "git bisect reset",
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
