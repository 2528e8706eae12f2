"""Where a run becomes steady: how many of its leading iterations are warm-up, found in their own times.

The rule is MSER-5 (White 1997, "An effective truncation heuristic for bias reduction in simulation output", Simulation
69; batches of five: Spratt 1998, White, Cobb and Spratt 2000): of all places in the first half of the series, cut where
the standard error of the mean of what is left is smallest. It needs no threshold, and what it leaves out pays for
itself. Two things are ours, because times of programs have outliers that simulations have not:

- Values after the first tenth of the series are drawn in to Tukey's outer fences (three interquartile ranges beyond the
  quartiles) of its second half. A pause of the machine in the middle of a run is noise, and no end of a warm-up.
- Series of fewer than 100 are not batched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median, quantiles

BATCH = 5
BATCHED_FROM = 100
MOST_DRIFT = 0.05
"""What may change between the halves of a steady run; the smallest change of a time that gets a verdict (`metrics`)."""
FEWEST = 10
"""Values of which it is said whether they are steady."""

_EARLY = 0.1  # of the series: what is far out here is warm-up
_NARROWEST = 0.01  # fences, as a share of the median: times without any noise have no quartiles to speak of


def warmup_length(seconds: Sequence[float]) -> tuple[int, bool]:
    """How many leading values of a series are warm-up, and whether its cut is one that the rule stands for.

    Args:
        seconds: Times of iterations, in order.

    Returns:
        The number, at most half of them; and False where the best cut is the last one allowed, or nothing can be cut:
        the series may still be on its way.
    """
    size = BATCH if len(seconds) >= BATCHED_FROM else 1
    drawn_in = _drawn_in(seconds)
    batches = [math.fsum(drawn_in[at : at + size]) / size for at in range(0, len(drawn_in) - size + 1, size)]
    most = len(batches) // 2
    cut = _mser(batches, most)
    return cut * size, cut < most


def drift(seconds: Sequence[float]) -> float | None:
    """The median of the second half of a series against that of the first, less 1; None for fewer than `FEWEST`."""
    if len(seconds) < FEWEST:
        return None
    half = len(seconds) // 2
    before = median(seconds[:half])
    return median(seconds[half:]) / before - 1 if before > 0 else None


def _mser(values: Sequence[float], most: int) -> int:
    """The first cut, of 0 to `most` values, with the smallest squared standard error of the mean of the rest."""
    if not most:
        return 0
    middle = median(values)  # sums of squares far from 0 would lose their digits
    total = squares = 0.0
    best, cut = math.inf, 0
    for left, value in enumerate(reversed(values), start=1):
        total += value - middle
        squares += (value - middle) ** 2
        error = max(0.0, squares - total * total / left) / (left * left)
        if len(values) - left <= most and error <= best:
            best, cut = error, len(values) - left
    return cut


def _drawn_in(seconds: Sequence[float]) -> list[float]:
    late = seconds[len(seconds) // 2 :]
    if len(late) < 2:
        return list(seconds)
    low, middle, high = quantiles(late, n=4, method="inclusive")
    margin = max(3 * (high - low), _NARROWEST * abs(middle))
    early = math.ceil(_EARLY * len(seconds))
    rest = (min(max(value, low - margin), high + margin) for value in seconds[early:])
    return [*seconds[:early], *rest]
