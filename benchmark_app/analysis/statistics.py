"""Two samples of a few runs: how far apart they are, how sure that is, and how many runs would make it sure.

Everything takes plain sequences of floats. Why these methods, with their measured error rates: docs/statistics.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

_MAD_TO_SD = 1.4826022185056018  # 1 / Φ⁻¹(3/4): the median absolute deviation of a normal sample becomes its deviation
_MAD_EFFICIENCY = 0.37  # a MAD knows the spread as well as the standard deviation of this part of the sample does
_MOST_RUNS = 1_000_000
_ROUNDING = 1e-12  # of the largest value: a spread below it comes from the arithmetic and not from the runs
_MOST_EXACT = 2500  # pairs of values up to which ranks are counted out; beyond, their sum is normal to three digits


@dataclass(frozen=True)
class Difference:
    """How far NEW lies from BASE: an estimate that follows Student's t around the truth.

    Args:
        estimate: Location of NEW less that of BASE.
        error: Standard error of the estimate; 0 where the samples do not vary.
        df: Degrees of freedom, infinite for a known error.
        deviation: Standard deviation of one run (of one pair's difference where paired), for planning.
        test: Name of the test.
    """

    estimate: float
    error: float
    df: float
    deviation: float
    test: str

    @property
    def p_value(self) -> float:
        """Two-sided: how probable an estimate at least this far from 0 is, were there no difference."""
        if self.error == 0:
            return 1.0 if self.estimate == 0 else 0.0
        return min(1.0, 2 * _t_tail(self.df, abs(self.estimate) / self.error))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The two-sided interval that covers the true difference with this confidence (0 to 1)."""
        if self.error == 0:
            return self.estimate, self.estimate
        half = t_quantile(self.df, (1 + confidence) / 2) * self.error
        return self.estimate - half, self.estimate + half


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Sample variance (n-1)."""
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def median(values: Sequence[float]) -> float:
    """Middle value, or the mean of the two middle ones."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else ordered[half - 1] / 2 + ordered[half] / 2


def mad(values: Sequence[float]) -> float:
    """Median absolute deviation from the median, scaled to the standard deviation of a normal sample."""
    centre = median(values)
    return _MAD_TO_SD * median([abs(value - centre) for value in values])


def welch(base: Sequence[float], new: Sequence[float], *, session_noise: float = 0.0) -> Difference:
    """Difference of the means of two independent samples whose variances may differ.

    Welch (1947), Biometrika 34: the error is that of both means, the degrees of freedom are Satterthwaite's.

    Args:
        base: At least two values.
        new: At least two values.
        session_noise: Standard deviation of the difference between two sessions of the same code, which no number of
            repeats inside a session can average out; 0 where both sides ran in one session, in turn.
    """
    of_base, of_new = variance(base), variance(new)
    a, b = of_base / len(base), of_new / len(new)
    total = a + b + session_noise**2
    spent = a**2 / (len(base) - 1) + b**2 / (len(new) - 1)
    deviation = math.sqrt((of_base + of_new) / 2)
    df = total**2 / spent if spent > 0 else math.inf
    return Difference(mean(new) - mean(base), math.sqrt(total), df, deviation, "Welch t")


def paired(base: Sequence[float], new: Sequence[float]) -> Difference:
    """Mean difference of pairs: `base[i]` belongs to `new[i]`. At least two pairs."""
    differences = [after - before for before, after in zip(base, new, strict=True)]
    spread = variance(differences)
    count = len(differences)
    return Difference(mean(differences), math.sqrt(spread / count), count - 1, math.sqrt(spread), "paired t")


def against_history(history: Sequence[float], new: Sequence[float], *, floor: float = 0.0) -> Difference:
    """Median of NEW as one more draw from a history of medians, by the history's median and MAD.

    The scatter of the history already holds what differs between sessions, so NEW counts as a single draw from it
    however many runs it has. A MAD knows the spread only as well as 37 % of the values would.

    Args:
        history: At least three values, one per point of the history.
        new: The runs to judge.
        floor: Smallest believable standard deviation; a history that happened to repeat itself is not free of noise.
    """
    scale = max(mad(history), floor)
    error = scale * math.sqrt(1 + math.pi / 2 / len(history))  # π/2: a median's variance over a mean's
    df = max(1.0, _MAD_EFFICIENCY * (len(history) - 1))
    return Difference(median(new) - median(history), error, df, scale, "median and MAD of the history")


def rank_sum_p(lower: Sequence[float], higher: Sequence[float]) -> float:
    """One-sided exact p value of Mann and Whitney: how probable it is by chance that `higher` lies this high.

    Equal values count as if they spoke against it, which keeps the p value valid (too large) with ties.
    """
    ordered = sorted(lower)
    wins = sum(bisect_left(ordered, value) for value in higher)
    pairs = len(lower) * len(higher)
    if pairs > _MOST_EXACT:
        return _normal_tail(wins, pairs / 2, pairs * (len(lower) + len(higher) + 1) / 12)
    return _rank_sum_tails(len(lower), len(higher))[wins]


def smallest_rank_sum_p(first: int, second: int) -> float:
    """The p value of two samples of these sizes that do not overlap: no rank test can give less."""
    return 1 / math.comb(first + second, first)


def signed_rank_p(differences: Sequence[float]) -> float:
    """One-sided exact p value of Wilcoxon's signed ranks: how probable differences this far above 0 are by chance.

    Zeros, and ties between a positive and a negative difference, count as if they spoke against it.
    """
    order = sorted(differences, key=lambda difference: (abs(difference), difference <= 0))
    ranks = sum(rank for rank, difference in enumerate(order, 1) if difference > 0)
    count = len(order)
    if count**2 > _MOST_EXACT:
        return _normal_tail(ranks, count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24)
    return _signed_rank_tails(count)[ranks]


def smallest_signed_rank_p(pairs: int) -> float:
    """The p value of that many differences of one sign."""
    return 2.0**-pairs


def drift_adjusted(base: Sequence[float], new: Sequence[float]) -> float:
    """Difference of the means that is left if the trend inside the two sides had gone on from one to the other.

    Both in the order in which they ran, evenly spaced, BASE before NEW. At least two values on one side.
    """
    slope_sum = spread = 0.0
    for side in (base, new):
        centre = (len(side) - 1) / 2
        slope_sum += math.fsum((index - centre) * value for index, value in enumerate(side))
        spread += math.fsum((index - centre) ** 2 for index in range(len(side)))
    steps_between = (len(base) + len(new)) / 2
    return mean(new) - mean(base) - slope_sum / spread * steps_between


def hedges_g(base: Sequence[float], new: Sequence[float]) -> float | None:
    """Difference of the means in pooled standard deviations, corrected for few values; None without any spread.

    At least two values on each side. Hedges (1981), "Distribution theory for Glass's estimator of effect size", with
    the exact correction.
    """
    df = len(base) + len(new) - 2
    pooled = math.sqrt(((len(base) - 1) * variance(base) + (len(new) - 1) * variance(new)) / df)
    if pooled <= _ROUNDING * _largest(base, new):
        return None
    return (mean(new) - mean(base)) / pooled * _small_sample_correction(df)


def paired_g(base: Sequence[float], new: Sequence[float]) -> float | None:
    """Mean difference of pairs in standard deviations of that difference, corrected likewise.

    At least three pairs; None where the differences do not vary.
    """
    difference = paired(base, new)
    if difference.deviation <= _ROUNDING * _largest(base, new):
        return None
    return difference.estimate / difference.deviation * _small_sample_correction(len(base) - 1)


def adjust(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for how many there are, so that among those below q at most a share q is false.

    Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57; holds for independent and for positively dependent tests.
    """
    count = len(p_values)
    adjusted, smallest = [0.0] * count, 1.0
    for rank, index in zip(range(count, 0, -1), sorted(range(count), key=lambda i: -p_values[i]), strict=True):
        smallest = min(smallest, p_values[index] * count / rank)
        adjusted[index] = smallest
    return adjusted


def repeats_needed(
    deviation: float,
    effect: float,
    *,
    significance: float,
    power: float,
    pairs: bool = False,
    session_noise: float = 0.0,
) -> int | None:
    """Runs per side (or pairs) that find a true difference of `effect` with probability `power`.

    The number that a normal distribution would need, raised until the t distribution agrees.

    Args:
        deviation: Standard deviation of one run (of one pair's difference).
        effect: The true difference to be found, above 0.
        significance: Two-sided level of the test.
        power: Probability to find it, 0.5 to 1.
        pairs: Whether runs are paired.
        session_noise: As for `welch`.

    Returns:
        The number, at least 2, and a million for more; None if no number suffices, because sessions differ by more
        than that.
    """

    sides = 1 if pairs else 2
    normal = t_quantile(math.inf, 1 - significance / 2) + t_quantile(math.inf, power)
    room = (effect / normal) ** 2 - session_noise**2
    if room <= 0:
        return None
    known = min(_MOST_RUNS, sides * deviation**2 / room)  # with a known deviation; estimating it takes a few more
    runs = max(2, math.ceil(known))
    while runs < _MOST_RUNS:
        within = sides * deviation**2 / runs
        total = within + session_noise**2
        df = total**2 / (within**2 / (sides * (runs - 1))) if within > 0 else math.inf
        if (t_quantile(df, 1 - significance / 2) + t_quantile(df, power)) * math.sqrt(total) <= effect:
            break
        runs += 1
    return runs


def t_quantile(df: float, probability: float) -> float:
    """Quantile of Student's t; the normal's where `df` is infinite."""
    return float(ndtri(probability) if math.isinf(df) else stdtrit(df, probability))


def _t_tail(df: float, t: float) -> float:
    return float(ndtr(-t) if math.isinf(df) else stdtr(df, -t))


def _normal_tail(value: int, centre: float, spread: float) -> float:
    """Upper tail of a whole number that is about normal with this mean and variance."""
    return float(ndtr((centre + 0.5 - value) / math.sqrt(spread)))


def _largest(base: Sequence[float], new: Sequence[float]) -> float:
    return max(map(abs, (*base, *new)))


def _small_sample_correction(df: int) -> float:
    return math.exp(math.lgamma(df / 2) - math.log(df / 2) / 2 - math.lgamma((df - 1) / 2))


@lru_cache(maxsize=1024)
def _rank_sum_tails(first: int, second: int) -> tuple[float, ...]:
    """P(U >= u) for u = 0 … first x second, were all orders equally probable.

    Counts grow by one rank at a time: the k-th lowest member of the second sample, at rank r, beats r - k of the first.
    """
    ways = np.zeros((second + 1, first * second + 1))
    ways[0, 0] = 1.0
    for rank in range(first + second):
        for taken in range(min(second, rank + 1), 0, -1):
            beaten = rank - (taken - 1)
            if beaten <= first:
                ways[taken, beaten:] += ways[taken - 1, : ways.shape[1] - beaten]
    return _tails(ways[second])


@lru_cache(maxsize=256)
def _signed_rank_tails(count: int) -> tuple[float, ...]:
    """P(W >= w) for w = 0 … count (count + 1) / 2, were all signs equally probable."""
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, count + 1):
        ways[rank:] += ways[:-rank].copy()
    return _tails(ways)


def _tails(ways: np.ndarray) -> tuple[float, ...]:
    tails = ways[::-1].cumsum()[::-1]
    return tuple((tails / tails[0]).tolist())
