"""The words and numbers that every writer shares."""

from __future__ import annotations

from benchmark_app.analysis.comparison import Comparison, Group, MetricResult, Workload, describe
from benchmark_app.analysis.identity import AXES

_MOST_RUNS = 1000  # per side; a larger number is no advice
MARKS = {"improved": "+", "regressed": "-", "unchanged": "=", "underpowered": "?", "not comparable": "x"}


def headings(comparison: Comparison) -> list[str]:
    """The columns of `row`."""
    confidence = f"{comparison.thresholds.policy.confidence * 100:g} % interval"
    designs = {result.design for group in comparison.groups for result in group.metrics}
    centre = "median" if "history" in designs else "mean"
    return ["metric", f"BASE ({centre})", f"NEW ({centre})", "change", confidence, "p", "effect", "verdict"]


def row(result: MetricResult) -> list[str]:
    """One metric: title, both means, their change with interval, adjusted p value, effect size, verdict.

    What cannot be compared has no change, and its medians stand for the means.
    """
    judgement, unit = result.judgement, result.metric.unit
    comparable = judgement.mean_base is not None
    return [
        result.metric.title,
        quantity(judgement.mean_base if comparable else judgement.median_base, unit),
        quantity(judgement.mean_new if comparable else judgement.median_new, unit),
        change(judgement.change, result),
        interval(result),
        p_value(judgement.p_adjusted),
        effect_size(judgement.effect_size),
        verdict(result),
    ]


def quantity(value: float | None, unit: str) -> str:
    """A number with four digits and its unit."""
    if value is None:
        return "-"
    text = f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:.4g}"
    return f"{text} {unit}".rstrip()


def change(value: float | None, result: MetricResult) -> str:
    """A fraction in percent, or points of a rate."""
    if value is None:
        return ""
    if result.metric.scale == "points":
        return f"{value * 100:+.1f} pt"
    return f"{value * 100:+.1f} %" if abs(value) < 10 else f"x {1 + value:.3g}"


def interval(result: MetricResult) -> str:
    """The interval of the change."""
    judgement = result.judgement
    if judgement.low is None or judgement.high is None:
        return ""
    return f"{change(judgement.low, result)} to {change(judgement.high, result)}"


def p_value(value: float | None) -> str:
    """Two digits; very small ones by their bound."""
    if value is None:
        return ""
    return "<0.0001" if value < 0.0001 else f"{value:.2g}"


def effect_size(value: float | None) -> str:
    """One digit after the point; next to no noise it is so large that its power of ten says all."""
    if value is None:
        return ""
    return f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0e}"


def verdict(result: MetricResult) -> str:
    """The word, and what would make it a better one."""
    judgement = result.judgement
    details = [judgement.reason] if judgement.reason else []
    if judgement.repeats_needed is not None:
        details.append(_needed(judgement.repeats_needed, result))
    return f"{judgement.verdict} ({'; '.join(details)})" if details else judgement.verdict


def _needed(runs: int, result: MetricResult) -> str:
    """How many runs would show a change, and which."""
    effect = result.judgement.repeats_effect
    if effect is None:
        return f"needs at least {runs} runs per side"
    number = f"more than {_MOST_RUNS}" if runs > _MOST_RUNS else str(runs)
    return f"to show {change(effect, result)} takes {number} runs per side"


def name(comparison: Comparison, workload: Workload) -> str:
    """A workload in one line: what tells it from the others of the comparison."""
    return describe(workload, comparison.telling) or "runs"


def title(comparison: Comparison, group: Group) -> str:
    """The workload of a group and what was compared, in one line."""
    return f"{name(comparison, group.workload)}: {side(group, 'new')} against {side(group, 'base')}"


def side(group: Group, which: str) -> str:
    """A side's name and how many runs it has."""
    one = group.base if which == "base" else group.new
    runs = "1 run" if one.runs == 1 else f"{one.runs} runs"
    return f"{one.label} ({', '.join([runs, *one.left_out])})"


def remarks(group: Group) -> list[str]:
    """What a reader of a group's table must know."""
    found = [f"allowed to differ: {one}" for one in group.allowed]
    if any(result.design == "apart" for result in group.metrics):
        found.append("the sides did not run in turn, so that the machine may have changed in between")
    return found


def refusals(comparison: Comparison) -> list[str]:
    """What could not be compared and why, once for each reason; with the way out, where there is one."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for refusal in comparison.refusals:
        found.setdefault((refusal.reason, refusal.fields), []).append(name(comparison, refusal.workload))
    lines = []
    for (reason, fields), names in found.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        allow = " ".join(f"--allow {field}" for field in fields) if fields and {*fields} <= {*AXES} else ""
        lines.append(f"cannot compare {names[0]}{more}: {reason}{f' ({allow} compares all the same)' if allow else ''}")
    return lines


def summary(comparison: Comparison) -> str:
    """The whole comparison in one line."""
    verdicts = comparison.verdicts
    counts = [f"{verdicts[name]} {name}" for name in MARKS if verdicts[name]]
    if comparison.refusals:
        counts.append(f"{len(comparison.refusals)} could not be compared")
    return ", ".join(counts) or "nothing was compared"


def printable(text: str) -> str:
    """Text without control characters: a task's name must not steer the terminal, nor break the XML."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
