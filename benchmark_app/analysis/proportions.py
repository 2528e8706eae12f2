"""Success rates: how sure one is, and whether two differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri


@dataclass(frozen=True)
class TwoProportions:
    """Two success rates side by side.

    Args:
        difference: Rate of NEW less that of BASE, -1 to 1.
        low: Lower end of Newcombe's interval of the difference.
        high: Its upper end.
        p_value: Fisher's exact test, two-sided.
    """

    difference: float
    low: float
    high: float
    p_value: float


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a success probability, within [0, 1].

    Wilson (1927), "Probable inference, the law of succession, and statistical inference", J. Am. Stat. Assoc. 22. It
    keeps its word at 0 and at all successes, where the textbook's normal interval has no width.

    Raises:
        ValueError: No trials, or more successes than trials.
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"expected 0 <= successes <= trials and at least one trial, got {successes} of {trials}")
    z = float(ndtri((1 + confidence) / 2))
    rate = successes / trials
    shrink = 1 + z**2 / trials
    centre = (rate + z**2 / (2 * trials)) / shrink
    half = z / shrink * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2))
    # At 0 and at 1 the bound is exact; the formula only comes within a rounding error of it.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def compare_proportions(
    base_successes: int, base_trials: int, new_successes: int, new_trials: int, confidence: float = 0.95
) -> TwoProportions:
    """Compare two success rates of independent trials.

    The interval is Newcombe's hybrid score interval (1998, Stat. Med. 17, 873-890, method 10), the test Fisher's: both
    hold for few trials and at the ends of the scale. Fisher's test errs on the side of no difference.

    Raises:
        ValueError: As for `wilson`.
    """
    from scipy.stats import fisher_exact  # here: scipy.stats takes half a second to import

    low_base, high_base = wilson(base_successes, base_trials, confidence)
    low_new, high_new = wilson(new_successes, new_trials, confidence)
    base, new = base_successes / base_trials, new_successes / new_trials
    table = [[new_successes, new_trials - new_successes], [base_successes, base_trials - base_successes]]
    return TwoProportions(
        difference=new - base,
        low=new - base - math.hypot(new - low_new, high_base - base),
        high=new - base + math.hypot(high_new - new, base - low_base),
        p_value=float(fisher_exact(table).pvalue),
    )
