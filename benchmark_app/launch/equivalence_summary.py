"""The end of an equivalence run, in a few lines: how long the engines stay together, why, and which facts differ."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmark_app.bundle.equivalence import VERDICTS

MOST_FACTS = 3


def equivalence_lines(path: Path) -> list[str]:
    """What `equivalence.json` says, the verdict first.

    Args:
        path: The file, just written.
    """
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    lines = []
    if (comparison := result["comparison"]) is not None:
        lines += [VERDICTS[comparison["verdict"]], *map(_joint, comparison["joints"])]
    if (differences := result["fact_differences"]) is not None:
        lines.append(_facts(differences))
    for part, counts in result["engine_warnings"].items():
        said = part.replace("_", " ")
        lines += [f"engine warning {name}: {count} ({said})" for name, count in counts.items()]
    return lines


def _joint(joint: dict[str, Any]) -> str:
    unit, tolerance = joint["unit"], joint["tolerance"]
    if joint["horizon_s"] is None:
        stays = f"within {tolerance:g} {unit} for {joint['compared_s']:.2f} s"
    else:
        stays = f"within {tolerance:g} {unit} until {joint['horizon_s']:.2f} s (the horizon)"
    # Of the action sets that decided the verdict, the one with the earliest horizon, or else the largest divergence.
    sets = [each for each in joint["action_sets"].values() if each["verdict"] == joint["verdict"]]
    worst = min(sets, key=lambda each: (each["horizon_s"] or math.inf, -each["divergence"]))
    size = "" if joint["verdict"] == "identical" else f", {worst['divergence']:.2g} {unit} at {worst['judged_s']:.2f} s"
    if joint["verdict"] in ("step", "model"):
        size += f", {worst['left_at_half_step']:.2f} of it at half the step"
    turned = joint["rows_whole_turns_apart"]
    turns = f"; whole turns apart in {turned} rows, not counted" if turned else ""
    return f"{joint['name']}: {stays}; {joint['verdict']}{size}{turns}"


def _facts(differences: list[dict[str, Any]]) -> str:
    if not differences:
        return "facts: masses, inertias, limits, dampings, armatures, gravity and step agree"
    shown = [f"{row['fact']} {_value(row['physics'])} (reference {_value(row['reference'])})" for row in differences]
    more = f", and {len(shown) - MOST_FACTS} more" if len(shown) > MOST_FACTS else ""
    return f"facts: {len(shown)} differ: {', '.join(shown[:MOST_FACTS])}{more}"


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
