"""Which evaluations count as scores: plays with all their episodes beside them, read from their folders."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_app.analysis.discover import Paths
from benchmark_app.analysis.loading import Broken, Note, RawBundle, bundles
from benchmark_app.analysis.scores import Play
from benchmark_app.analysis.table import row_of
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.evaluation import EPISODES, Row

# Columns of the table of runs that say what a policy was made and played with. Not the number of environments, on which
# no episode depends, and not for how many iterations it was trained, which is each task's own.
RECIPE = (
    "framework",
    "physics",
    "rendering",
    "presets",
    "device_kind",
    "numerics",
    "settings",
    "overrides",
)
_FIELDS: dict[str, tuple[type, ...]] = {
    "index": (int,),
    "return": (float, int),
    "max_reward": (float, int, type(None)),
    "length": (int,),
    "success": (bool, type(None)),
    "metrics": (dict,),
    "reward_terms": (dict,),
}


@dataclass(frozen=True)
class Found:
    """What was found below some paths.

    Args:
        plays: Evaluations that count.
        left_out: The others, each with the reason.
        broken: Files that should be bundles and are none.
        notes: What else to know.
    """

    plays: list[Play] = field(default_factory=list)
    left_out: list[Note] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def find_plays(paths: Paths) -> Found:
    """Find the evaluations below paths.

    Raises:
        LoadError: A path that leads to no file.
    """
    found = Found()
    for path, bundle in bundles(paths, found.broken, found.notes, []):
        if bundle.workflow != "play":
            continue
        try:
            if reason := _no_score(bundle):
                raise _NotAScoreError(reason)
            found.plays.append(_play(path, bundle))
        except (_NotAScoreError, BundleError) as error:
            found.left_out.append(Note(path, str(error)))
    return found


class _NotAScoreError(ValueError):
    """Why an evaluation does not count, in a line."""


def _no_score(bundle: RawBundle) -> str:
    """Why the numbers of a play are no score, whatever they are; "" if they may be one."""
    run, extra = bundle["run"], bundle.get("extra") or {}
    if extra.get("smoke"):
        return "smoke: it was made to see that things work, and is never a score"
    if extra.get("synthetic"):
        return "synthetic: a test's worker pretended to play"
    if run["status"] != "completed":
        ended = f"{run['status']} after {extra.get('n_episodes', 0)} of {extra.get('n_episodes_planned', '?')} episodes"
        return f"{ended}: short episodes end first, so those that ended are no fair draw"
    return ""


def _play(path: str, bundle: RawBundle) -> Play:
    row, run, extra = row_of(path, "play", bundle), bundle["run"], bundle.get("extra") or {}
    return Play(
        path=row["path"],
        started=run["start_time_utc"],
        recipe=tuple((name, _without_suite(row[name]) if name == "presets" else row[name]) for name in RECIPE),
        policy_iterations=extra.get("policy_iterations"),
        task=run["task"],
        suite=str(extra.get("task_suite", "")),
        seed=run["seed"],
        rows=_episodes(path, run["seed"], extra),
    )


def _without_suite(presets: str) -> str:
    """Presets less the suite a run was part of: policies of several suites may be made alike."""
    return ",".join(preset for preset in presets.split(",") if not preset.startswith("suite="))


def _episodes(path: str, seed: int, extra: dict[str, Any]) -> list[Row]:
    """The rows beside a bundle: all of them, and of this very run."""
    file, expected = Path(path).with_name(EPISODES), extra.get("n_episodes")
    if "benchmark_app" not in extra:
        raise _NotAScoreError("another program wrote it, and keeps no episodes")
    folder = os.path.dirname(path) or "."
    again = f"`{shlex.join(['python', '-m', 'benchmark_app', 'recover', folder])}` writes it from the journal"
    try:
        rows = list(_read(file))
    except FileNotFoundError:
        raise _NotAScoreError(f"there is no {EPISODES} beside it; {again}") from None
    except (OSError, ValueError) as error:
        raise _NotAScoreError(f"{EPISODES} cannot be read ({error}); {again}") from None
    if [row["index"] for row in rows] != list(range(len(rows))) or len(rows) != expected or not rows:
        raise _NotAScoreError(f"{EPISODES} holds other episodes than the {expected} of the bundle; {again}")
    if any(row.get("seed") != seed for row in rows):
        raise _NotAScoreError(f"{EPISODES} is of another seed than the bundle's {seed}; {again}")
    return rows


def _read(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            if not isinstance(row, dict) or not all(_fits(row, name) for name in _FIELDS):
                raise ValueError(f"line {number} is no episode")
            yield row


def _fits(row: Row, name: str) -> bool:
    value = row.get(name, ...)
    if isinstance(value, dict):
        return dict in _FIELDS[name] and all(_is_number(number) for number in value.values() if number is not None)
    return type(value) in _FIELDS[name] and (value is None or _is_number(value))


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float)) and math.isfinite(value)
