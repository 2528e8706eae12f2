"""The golden file itself: reading, comparing, writing. Light."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import benchmark_app
from benchmark_app.bundle.write import write_text_file

from .findings import require

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a task's first steps gave on an engine.

    Attributes:
        steps: Steps played.
        episode_steps: The shortened time limit.
        observations: Observation groups by name, `[R, ROWS, dim]` for each of `shown`; of images the means of blocks.
        shown: Steps the observations are of; 0: before the first step.
        rewards: `[steps, ROWS]`.
        terminated: Steps and rows at which an episode ended by the task's rules, `[step, row]` each.
        truncated: The same by the time limit.
        tolerance: How far a number may lie off; see `allowed`.
        versions: Of the engine's packages.
    """

    steps: int
    episode_steps: int
    shown: list[int]
    observations: dict[str, list[list[list[float]]]]
    rewards: list[list[float]]
    terminated: list[list[int]]
    truncated: list[list[int]]
    tolerance: float
    versions: dict[str, str]


def compare(found: Record, wanted: Record) -> str:
    """What differs first, "" if nothing beyond the recorded tolerance does."""
    for key in ("steps", "episode_steps", "shown", "terminated", "truncated"):
        if getattr(found, key) != getattr(wanted, key):
            return f"{key} is {getattr(found, key)}, recorded {getattr(wanted, key)}"
    groups = [list(record.observations) for record in (found, wanted)]
    if groups[0] != groups[1]:
        return f"observation groups are {groups[0]}, recorded {groups[1]}"
    for name in groups[0]:
        one, other = found.observations[name], wanted.observations[name]
        widths = [len(observations[0][0]) for observations in (one, other)]
        if widths[0] != widths[1]:
            return f"observation '{name}' has {widths[0]} components, recorded {widths[1]}"
        for step, a, b in zip(wanted.shown, one, other, strict=True):
            for row, (mine, theirs) in enumerate(zip(a, b, strict=True)):
                for column, off in _off(mine, theirs, wanted.tolerance):
                    return f"observation '{name}'[{column}] of row {row} at step {step} is {off}"
    for step, (mine, theirs) in enumerate(zip(found.rewards, wanted.rewards, strict=True), start=1):
        for row, off in _off(mine, theirs, wanted.tolerance):
            return f"the reward of row {row} at step {step} is {off}"
    return ""


def allowed(value: float, tolerance: float) -> float:
    """How far a number may lie off: the tolerance, of one above 1 relative to it."""
    return tolerance * max(1.0, abs(value))


def read(path: Path) -> dict[str, Any]:
    """A golden file's content.

    Raises:
        AssertionError: It is none.
    """
    try:
        golden: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        understood = golden["format"] == FORMAT and isinstance(golden["engines"], dict) and golden["history"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise AssertionError(f"{path}: is no golden file ({error}); delete it and write it anew") from error
    require(bool(understood), f"{path}: is no golden file of format {FORMAT}; delete it and write it anew")
    return golden


def write(path: Path, task: str, records: dict[str, Record], reason: str, effect: str) -> list[str]:
    """Put new records into a golden file, with the reason and the expected effect on scores.

    Args:
        path: The file; what it holds of other engines, and its history, stay.
        task: The task's name.
        records: By engine.
        reason: Why the numbers change.
        effect: What becomes of scores.

    Returns:
        The engines whose record was replaced; those whose numbers are as they were are left alone.
    """
    golden: dict[str, Any] = (
        read(path) if path.is_file() else {"format": FORMAT, "task": task, "engines": {}, "history": []}
    )
    before = {name: Record(**entry) for name, entry in golden["engines"].items()}
    changed = {}
    for name, new in records.items():
        difference = compare(new, before[name]) if name in before else "recorded for the first time"
        if difference:
            changed[name] = difference
            golden["engines"][name] = asdict(new)
    if changed:
        entry = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "benchmark_app": benchmark_app.__version__,
            "reason": reason,
            "effect": effect,
            "changed": changed,
        }
        golden["history"].append(entry)
        golden["engines"] = dict(sorted(golden["engines"].items()))
        write_text_file(as_text(golden), path)
    return list(changed)


def as_text(golden: dict[str, Any]) -> str:
    """JSON with every row of numbers on one line."""
    spread = json.dumps(golden, indent=1, allow_nan=False)
    rows = re.compile(r"\[\s+([^\[\]{}\"]*?)\s+\]")
    return rows.sub(lambda row: f"[{' '.join(row[1].split())}]", spread) + "\n"


def _off(mine: list[float], theirs: list[float], tolerance: float) -> Iterator[tuple[int, str]]:
    for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        if not abs(one - other) <= allowed(other, tolerance):
            yield place, f"{one:.7g}, recorded {other:.7g}"
