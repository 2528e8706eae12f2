"""How many repeats it takes until `compare` calls a difference of a given size, on a machine whose noise was measured.

The normal formula (`statistics.repeats_needed`) is where the search begins. What decides is the verdict procedure
itself, with everything in it that costs power when samples are few: the adjustment for all metrics, the minimum effect,
the rank test. It judges simulated comparisons whose noise is that of real runs of the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from benchmark_app.analysis import statistics
from benchmark_app.analysis.pairing import MIN_PAIRS
from benchmark_app.analysis.verdict import Policy, Question, judge

COMPARISONS = 400
MOST_RUNS = 200
CAUTION = 0.8
"""Probability with which the true spread is not above the one planned with: a few runs know it only roughly."""
_KERNEL = 0.5

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Noise:
    """How far runs of the same code lie apart, on the logarithmic scale.

    Args:
        deviation: Standard deviation between runs, as measured.
        planned: The one that is planned with: its upper limit of confidence `CAUTION`.
        run: Draws one value for each of so many runs.
        pair: Draws the difference of each of so many pairs of neighbours in time.
    """

    deviation: float
    planned: float
    run: Draw
    pair: Draw

    @classmethod
    def of(cls, values: Sequence[float]) -> Noise:
        """Of runs of the same code.

        Args:
            values: One positive value per run, in the order in which they ran; at least four.
        """
        logs = np.log(np.asarray(values, dtype=float))
        differences = np.diff(logs)
        deviation = float(np.std(logs, ddof=1))
        return cls(
            deviation,
            deviation * _caution(len(logs)),
            _draw(logs - logs.mean(), _caution(len(logs))),
            # Whether A or B comes first is not the machine's to say: differences have no sign of their own.
            _draw(np.concatenate([differences, -differences]), _caution(len(differences))),
        )


@dataclass(frozen=True)
class Need:
    """What it takes to resolve a difference.

    Args:
        effect: The difference, as a fraction (0.05 is 5 %).
        min_effect: The smallest change that matters that `compare` has to be given for it: half of the difference. A
            true change as large as the minimum effect is called in half of the cases only, whatever the repeats.
        runs: Runs of each side, in turn; None where more than `MOST_RUNS` would be needed.
        power: Share of the simulated comparisons with the difference that were called different.
        false_alarms: The same without a difference.
    """

    effect: float
    min_effect: float
    runs: int | None
    power: float | None
    false_alarms: float | None


def needed(noise: Noise, effect: float, *, metrics: int, policy: Policy | None = None) -> Need:
    """The fewest runs per side with which a difference is called with the policy's power.

    Args:
        noise: Of the machine.
        effect: The difference, as a fraction, above 0.
        metrics: How many metrics are judged together; the others are taken not to have changed.
        policy: What counts as proof.
    """
    policy = policy or Policy()

    def share(runs: int, true: float) -> float:
        return _called(noise, runs, true, effect / 2, metrics, policy)

    found = _fewest(
        lambda runs: share(runs, effect) >= policy.power, _first_guess(noise, effect, metrics, policy), policy
    )
    if found is None:
        return Need(effect, effect / 2, None, None, None)
    return Need(effect, effect / 2, found, share(found, effect), share(found, 0.0))


def _first_guess(noise: Noise, effect: float, metrics: int, policy: Policy) -> int:
    runs = statistics.repeats_needed(
        noise.planned, math.log1p(effect), significance=policy.significance / metrics, power=policy.power
    )
    return MOST_RUNS if runs is None else runs


def _fewest(enough: Callable[[int], bool], guess: int, policy: Policy) -> int | None:
    """The smallest number that is enough, near a guess; None where the largest is not."""
    runs = min(max(guess, policy.min_runs), MOST_RUNS)
    if enough(runs):
        while runs > policy.min_runs and enough(runs - 1):
            runs -= 1
        return runs
    while runs < MOST_RUNS:
        runs = min(MOST_RUNS, runs + max(1, runs // 10))
        if enough(runs):
            return runs
    return None


def _called(noise: Noise, runs: int, true: float, min_effect: float, metrics: int, policy: Policy) -> float:
    """Share of simulated comparisons that are called different."""
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(COMPARISONS):
        if runs >= MIN_PAIRS:
            base, new = np.zeros(runs), noise.pair(rng, runs)
        else:
            base, new = noise.run(rng, runs), noise.run(rng, runs)
        design = "paired" if runs >= MIN_PAIRS else "in turn"
        question = Question(
            np.exp(base).tolist(),
            np.exp(new + math.log1p(true)).tolist(),
            "lower",
            min_effect=min_effect,
            design=design,  # type: ignore[arg-type]  # one of the two
        )
        (answer,) = judge([question], policy)
        # As if it were the only change among all that is judged: what Benjamini and Hochberg then leave of its p value.
        adjusted = metrics * (1.0 if answer.p_value is None else answer.p_value)
        called += answer.verdict in ("regressed", "improved") and adjusted <= policy.significance
    return called / COMPARISONS


def _caution(count: int) -> float:
    """How much larger the true deviation of a normal sample may be than the one of `count` values, with `CAUTION`."""
    return math.sqrt((count - 1) / float(chdtri(count - 1, CAUTION)))


def _draw(seen: np.ndarray, factor: float) -> Draw:
    """Draws that look like what was seen, outliers included, but not only the very same values (smoothed bootstrap)."""
    deviation = float(np.std(seen, ddof=1))
    shrink = factor / math.sqrt(1 + _KERNEL**2)

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        chosen = rng.choice(seen, count) + _KERNEL * deviation * rng.standard_normal(count)
        return np.asarray(shrink * chosen)

    return draw
