"""From samples to the schema's numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmark_app.bundle.schema import MeanStd

_Z95 = 1.959963984540054  # two-sided 95 % quantile of the normal distribution


def mean_std(samples: Sequence[float], *, peak: bool = True) -> MeanStd | None:
    """Arithmetic mean, sample standard deviation and maximum; None without samples."""
    if not samples:
        return None
    mean = math.fsum(samples) / len(samples)
    return _aggregate(mean, samples, peak)


def rate(work: Iterable[float], seconds: Iterable[float]) -> MeanStd | None:
    """A rate: all work divided by all time.

    The mean of the single rates would let a few fast samples hide one slow one. Spread and peak are those of the
    single rates; a sample without duration has none and is left out altogether. None if no sample remains.
    """
    pairs = [(w, s) for w, s in zip(work, seconds, strict=False) if s > 0]
    if not pairs:
        return None
    total = math.fsum(w for w, _ in pairs) / math.fsum(s for _, s in pairs)
    return _aggregate(total, [w / s for w, s in pairs], True)


def sample_std(samples: Sequence[float]) -> float:
    """Sample standard deviation (n-1); 0 for fewer than two samples."""
    if len(samples) < 2:
        return 0.0
    mean = math.fsum(samples) / len(samples)
    return math.sqrt(math.fsum((x - mean) * (x - mean) for x in samples) / (len(samples) - 1))


def ema(samples: Sequence[float], alpha: float) -> float:
    """Exponential moving average at the end of `samples`: e0 = x0, then e = alpha x + (1 - alpha) e."""
    value = samples[0]
    for sample in samples[1:]:
        value = alpha * sample + (1 - alpha) * value
    return value


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a success probability, within [0, 1].

    Wilson (1927), "Probable inference, the law of succession, and statistical inference", J. Am. Stat. Assoc. 22.
    """
    p = successes / trials
    shrink = 1 + _Z95**2 / trials
    centre = (p + _Z95**2 / (2 * trials)) / shrink
    half = _Z95 / shrink * math.sqrt(p * (1 - p) / trials + _Z95**2 / (4 * trials**2))
    # At 0 and at 1 the bound is exact; the formula only comes within a rounding error of it.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def _aggregate(mean: float, samples: Sequence[float], peak: bool) -> MeanStd:
    # Neither kind of mean exceeds the maximum, except by rounding.
    top = max(mean, *samples) if peak else None
    return MeanStd(mean=mean, std=sample_std(samples), peak=top)
