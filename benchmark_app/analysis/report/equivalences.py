"""Equivalence runs in the report: which engines, how far they came apart, and the plot beside the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark_app.analysis.other_files import Equivalence
from benchmark_app.bundle.equivalence import VERDICTS

PLOT = "equivalence.svg"


def describe_equivalence(found: Equivalence) -> dict[str, Any]:
    """What a person wants to know of one result, as texts; what a damaged file lacks is `""`.

    Returns:
        `task`, `reference` and `physics` (engines), `verdict` (word), `meaning` (of the word, or why there is none),
        `joints` (how long each stayed within its tolerance), `seed`, `start`, `file`, `plot` (a path, or
        None where it is gone).
    """
    content = found.content
    comparison = content.get("comparison")
    comparison = comparison if isinstance(comparison, dict) else {}
    verdict = _text(comparison.get("verdict"))
    ended = " ".join(filter(None, (_text(content.get("status")), _text(content.get("reason")))))
    meaning = VERDICTS.get(verdict) or f"not compared: {ended or 'unknown reason'}"
    if content.get("synthetic") is not False:
        meaning = f"made by a stand-in worker, nothing was simulated; {meaning}"
    joints = comparison.get("joints")
    plot = Path(found.path).with_name(PLOT)
    return {
        "task": _text(content.get("task")),
        "reference": _text(content.get("reference_physics")),
        "physics": _text(content.get("physics")),
        "verdict": verdict or "none",
        "meaning": meaning,
        "joints": [_joint(joint) for joint in joints if isinstance(joint, dict)] if isinstance(joints, list) else [],
        "seed": _text(content.get("seed")),
        "start": _text(content.get("start_time_utc")),
        "file": os.fspath(found.path),
        "plot": plot if plot.is_file() else None,
    }


def in_order(found: Sequence[Equivalence]) -> list[Equivalence]:
    """Results by task, engines and start."""
    keys = ("task", "reference_physics", "physics", "start_time_utc")
    return sorted(found, key=lambda one: [_text(one.content.get(key)) for key in keys])


def _joint(joint: dict[str, Any]) -> str:
    horizon, tolerance = joint.get("horizon_s"), f"{_text(joint.get('tolerance'))} {_text(joint.get('unit'))}"
    if isinstance(horizon, int | float):
        return f"{_text(joint.get('name'))}: within {tolerance} until {horizon:.2f} s"
    return f"{_text(joint.get('name'))}: within {tolerance} throughout"


def _text(value: object) -> str:
    return "" if value is None else str(value)
