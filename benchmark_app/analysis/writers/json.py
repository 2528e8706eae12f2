"""A comparison for programs: one JSON object with a version of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmark_app.analysis.comparison import Comparison, MetricResult

SCHEMA = "benchmark_app.comparison"
SCHEMA_VERSION = "1.1"
"""The minor number grows with new keys, the major one when a key changes its meaning or goes."""


def write_json(comparison: Comparison, advice: Sequence[str] = ()) -> str:
    """Everything the comparison knows; numbers are unrounded, and null is a number that does not exist."""
    return json.dumps(as_object(comparison, advice), indent=2, allow_nan=False) + "\n"


def is_comparison(path: Path) -> bool:
    """Whether a file is a comparison that was written here, and so may be replaced."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("schema") == SCHEMA


def as_object(comparison: Comparison, advice: Sequence[str] = ()) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "base": comparison.base,
        "new": comparison.new,
        "axis": comparison.axis,
        "allowed": list(comparison.allowed),
        "status": comparison.status,
        "verdicts": dict(comparison.verdicts),
        "policy": asdict(comparison.thresholds.policy),
        "groups": [
            {
                "workload": group.workload,
                "base": asdict(group.base),
                "new": asdict(group.new),
                "allowed": list(group.allowed),
                "metrics": [_metric(result) for result in group.metrics],
            }
            for group in comparison.groups
        ],
        "refusals": [asdict(refusal) for refusal in comparison.refusals],
        "notes": list(comparison.notes),
        "bisect": list(advice),
    }


def _metric(result: MetricResult) -> dict[str, Any]:
    metric, judgement = result.metric, result.judgement
    facts = {key: _finite(value) for key, value in asdict(judgement).items()}
    ratios = {"ratio": None, "ratio_low": None, "ratio_high": None}
    if metric.scale == "ratio" and judgement.change is not None:
        ends = {"ratio": judgement.change, "ratio_low": judgement.low, "ratio_high": judgement.high}
        ratios = {key: None if value is None else _finite(1 + value) for key, value in ends.items()}
    return {
        "metric": metric.name,
        "title": metric.title,
        "unit": metric.unit,
        "direction": metric.direction,
        "scale": metric.scale,
        "min_effect": result.min_effect,
        "design": result.design,
        **facts,
        **ratios,
    }


def _finite(value: Any) -> Any:
    """Infinity, the upper end of an interval without bound, has no form in JSON."""
    return None if value in (float("inf"), float("-inf")) else value
