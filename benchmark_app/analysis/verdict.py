"""From two samples to one word: improved, regressed, unchanged, underpowered or not comparable.

A change is claimed if the test finds it, if it is larger than the metric's minimum effect, and if neither the ranks nor
a drift in time speak against it. `unchanged` is a claim too: the interval lies inside the minimum effect. Everything
else is `underpowered`. Why, and how often this errs: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmark_app.analysis import statistics

Verdict = Literal["improved", "regressed", "unchanged", "underpowered", "not comparable"]
Direction = Literal["higher", "lower"]
Scale = Literal["ratio", "relative", "points"]
Design = Literal["paired", "in turn", "apart", "history"]

_TOO_LARGE = 1e100  # beyond it squares overflow; nothing that is measured comes near


@dataclass(frozen=True)
class Policy:
    """What counts as proof.

    Args:
        significance: Largest adjusted p value that claims a change.
        confidence: Of the intervals, and so of `unchanged`.
        power: With which `repeats_needed` finds the minimum effect.
        min_runs: Runs per side below which nothing is claimed.
        min_history: Points of a rolling history below which nothing is claimed.
        session_noise: Standard deviation of the difference between two sessions of the same code on one machine, as a
            fraction; counted where the sides did not run in turn.
    """

    significance: float = 0.01
    confidence: float = 0.95
    power: float = 0.9
    min_runs: int = 3
    min_history: int = 5
    session_noise: float = 0.01


@dataclass(frozen=True)
class Question:
    """One metric of one workload, before and after.

    Args:
        base: Values of BASE, in the order in which they ran; for `history` one median per point.
        new: Values of NEW, likewise.
        direction: Which way is better.
        scale: `ratio` for positive numbers, compared by their logarithms; `relative` for differences in units of the
            size of BASE, where values may be negative (a return); `points` for plain differences (a success rate).
        min_effect: The smallest change that matters, as a fraction (0.05 is 5 %, or 5 points).
        design: `paired`: `base[i]` belongs to `new[i]`; `in turn`: the sides ran alternately, or time does not matter;
            `apart`: one after the other, or unknown; `history`: BASE is a rolling history.
        pooled_p: P value of another view of the same data that must agree (episodes pooled over runs); 0 without one.
    """

    base: Sequence[float]
    new: Sequence[float]
    direction: Direction
    scale: Scale = "ratio"
    min_effect: float = 0.05
    design: Design = "apart"
    pooled_p: float = 0.0


@dataclass(frozen=True)
class Judgement:
    """The answer to a question.

    Args:
        n_base: Runs of BASE (points of a history).
        n_new: Runs of NEW.
        median_base: Median of BASE, in the metric's unit; None without a value.
        median_new: Median of NEW, likewise.
        mean_base: What `change` starts from: the geometric mean of BASE for `ratio`, the arithmetic one for the other
            scales, the median for a history; None where the change has no meaning.
        mean_new: What it leads to, likewise.
        change: From BASE to NEW as a fraction (0.1 is 10 % more), or in points; None where it has no meaning.
        low: Lower end of the interval of `change`; None without an interval.
        high: Its upper end.
        effect_size: Hedges' g: the change in standard deviations of a run; None where nothing varies.
        test: Name of the test, `""` where none was possible.
        p_value: Two-sided; None without a test.
        p_adjusted: The same, adjusted for all tests of the comparison.
        verdict: The word.
        reason: Why nothing could be claimed, `""` otherwise.
        repeats_needed: Runs per side with which `repeats_effect` would be found; None where the verdict is clear or no
            number would do. Without `repeats_effect`, the fewest that are judged at all.
        repeats_effect: The change seen, or the minimum effect where that is larger, as `change`; None without a noise
            to plan with.
    """

    n_base: int
    n_new: int
    median_base: float | None
    median_new: float | None
    mean_base: float | None = None
    mean_new: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    effect_size: float | None = None
    test: str = ""
    p_value: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = "underpowered"
    reason: str = ""
    repeats_needed: int | None = None
    repeats_effect: float | None = None


@dataclass(frozen=True)
class _Measured:
    """A question on the scale it is tested on."""

    base: list[float]
    new: list[float]
    difference: statistics.Difference | None
    p_value: float | None


def judge(questions: Sequence[Question], policy: Policy | None = None) -> list[Judgement]:
    """Answer all questions of one comparison together: the more are asked, the stronger a single proof must be."""
    policy = policy or Policy()
    measured = [_measure(question, policy) for question in questions]
    tested = [index for index, one in enumerate(measured) if one is not None and one.p_value is not None]
    p_values = [one.p_value for one in measured if one is not None and one.p_value is not None]
    adjusted = dict(zip(tested, statistics.adjust(p_values), strict=True))
    level = policy.significance / max(1, len(tested))  # enough for a change that is the only one
    return [
        _answer(question, one, adjusted.get(index), policy, level)
        for index, (question, one) in enumerate(zip(questions, measured, strict=True))
    ]


def _measure(question: Question, policy: Policy) -> _Measured | None:
    """None where the question has no meaning on its scale."""
    if not question.base or not question.new:
        return None
    if not all(abs(x) < _TOO_LARGE for x in (*question.base, *question.new)):
        return None
    if not any((*question.base, *question.new)):  # nothing stayed nothing: no ratio, and yet no change
        base, new = list(question.base), list(question.new)
    elif question.scale == "ratio":
        if min(*question.base, *question.new) <= 0:
            return None
        base, new = [math.log(x) for x in question.base], [math.log(x) for x in question.new]
    else:
        unit = abs(statistics.mean(question.base)) if question.scale == "relative" else 1.0
        if unit < 1 / _TOO_LARGE:
            return None
        base, new = [x / unit for x in question.base], [x / unit for x in question.new]
        if not all(abs(x) < _TOO_LARGE for x in (*base, *new)):
            return None
    difference = _difference(question, base, new, policy)
    p_value = None if difference is None else max(difference.p_value, question.pooled_p)
    return _Measured(base, new, difference, p_value)


def _difference(
    question: Question, base: list[float], new: list[float], policy: Policy
) -> statistics.Difference | None:
    if question.design == "history":
        return statistics.against_history(base, new, floor=policy.session_noise) if len(base) > 2 else None
    if min(len(base), len(new)) < 2:
        return None
    if question.design == "paired":
        return statistics.paired(base, new)
    return statistics.welch(base, new, session_noise=policy.session_noise if question.design == "apart" else 0.0)


def _answer(
    question: Question, measured: _Measured | None, p_adjusted: float | None, policy: Policy, level: float
) -> Judgement:
    facts: dict[str, Any] = {
        "n_base": len(question.base),
        "n_new": len(question.new),
        "median_base": statistics.median(question.base) if question.base else None,
        "median_new": statistics.median(question.new) if question.new else None,
    }
    if measured is None:
        return Judgement(**facts, verdict="not comparable", reason=_no_meaning(question))
    facts |= {"mean_base": _centre(question, question.base), "mean_new": _centre(question, question.new)}
    doubt = too_few = _too_few(question, policy)
    difference = measured.difference
    if difference is None:
        facts["change"] = _change(question, statistics.mean(measured.new) - statistics.mean(measured.base))
        return Judgement(**facts, verdict="underpowered", reason=too_few, repeats_needed=policy.min_runs)
    low, high = difference.interval(policy.confidence)
    facts |= {
        "change": _change(question, difference.estimate),
        "low": _change(question, low),
        "high": _change(question, high),
        "effect_size": _effect_size(question, measured),
        "test": difference.test,
        "p_value": measured.p_value,
        "p_adjusted": p_adjusted,
    }
    band = math.log1p(question.min_effect) if question.scale == "ratio" else question.min_effect
    if not too_few and p_adjusted is not None:
        if p_adjusted <= policy.significance and abs(difference.estimate) > band:
            doubt = _doubt(question, measured, band, policy)
            if not doubt:
                better = (difference.estimate > 0) == (question.direction == "higher")
                return Judgement(**facts, verdict="improved" if better else "regressed")
        if -band < low and high < band:
            return Judgement(**facts, verdict="unchanged")
    effect = max(band, abs(difference.estimate))
    needed = _repeats_needed(question, difference, effect, policy, level)
    if needed is not None and question.design != "history":
        facts["repeats_effect"] = _change(question, math.copysign(effect, difference.estimate))
    if needed is None and not doubt:
        history = question.design == "history"
        doubt = "the history varies as much" if history else "sessions may differ by as much: run the sides in turn"
    return Judgement(**facts, verdict="underpowered", reason=doubt, repeats_needed=needed)


def _no_meaning(question: Question) -> str:
    for side, values in (("BASE", question.base), ("NEW", question.new)):
        if not values:
            return f"not measured in {side}"
    if not all(abs(x) < _TOO_LARGE for x in (*question.base, *question.new)):
        return f"numbers beyond {_TOO_LARGE:g}"
    return "a ratio needs numbers above 0" if question.scale == "ratio" else "BASE is 0, or next to NEW as good as 0"


def _too_few(question: Question, policy: Policy) -> str:
    if question.design == "history" and len(question.base) < policy.min_history:
        return f"{_count(len(question.base), 'point')} of history, at least {policy.min_history} are needed"
    sides = [question.new] if question.design == "history" else [question.base, question.new]
    if min(len(side) for side in sides) >= policy.min_runs:
        return ""
    against = " against ".join(_count(len(side), "run") for side in sides)
    return f"{against}, at least {policy.min_runs} are needed"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _doubt(question: Question, measured: _Measured, band: float, policy: Policy) -> str:
    """What speaks against a difference that the test found, `""` if nothing does."""
    assert measured.difference is not None
    sign = math.copysign(1.0, measured.difference.estimate)
    base, new = [sign * x for x in measured.base], [sign * x for x in measured.new]
    if question.design == "paired":
        p = statistics.signed_rank_p([after - before for before, after in zip(base, new, strict=True)])
        least = statistics.smallest_signed_rank_p(len(base))
    elif question.design == "history":
        return ""
    else:
        p = statistics.rank_sum_p(base, new)
        least = statistics.smallest_rank_sum_p(len(base), len(new))
    if p > max(policy.significance, least):
        return "the runs of both sides overlap too much"
    if question.design == "apart" and statistics.drift_adjusted(base, new) < band / 2:
        return "a drift over the runs explains it: run the sides in turn"
    return ""


def _effect_size(question: Question, measured: _Measured) -> float | None:
    if question.design == "history":
        difference = measured.difference
        return difference.estimate / difference.deviation if difference and difference.deviation > 0 else None
    if question.design == "paired":
        return statistics.paired_g(measured.base, measured.new) if len(measured.base) > 2 else None
    return statistics.hedges_g(measured.base, measured.new)


def _repeats_needed(
    question: Question, difference: statistics.Difference, effect: float, policy: Policy, level: float
) -> int | None:
    have = len(question.new) if question.design == "history" else min(len(question.base), len(question.new))
    if question.design == "history":
        return policy.min_runs if have < policy.min_runs else None
    needed = statistics.repeats_needed(
        difference.deviation,
        effect,
        significance=level,
        power=policy.power,
        pairs=question.design == "paired",
        session_noise=policy.session_noise if question.design == "apart" else 0.0,
    )
    return needed if needed is None else max(needed, policy.min_runs, have + 1)


def _centre(question: Question, values: Sequence[float]) -> float:
    """What the estimate is a difference of, in the metric's unit."""
    if question.design == "history":
        return statistics.median(values)
    if question.scale == "ratio" and any(values):
        return math.exp(statistics.mean([math.log(x) for x in values]))
    return statistics.mean(values)


def _change(question: Question, value: float) -> float:
    """From the tested scale to a fraction, or points."""
    return math.expm1(min(value, 700.0)) if question.scale == "ratio" else value
