"""Time to a threshold when some runs never reach it: a run that stopped short says only "not until here"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtri


@dataclass(frozen=True)
class Crossing:
    """When one run reached the threshold.

    Args:
        at: Where (steps or seconds); where the run ended if it did not reach it.
        reached: False for a run that ended first (right-censored).
    """

    at: float
    reached: bool


@dataclass(frozen=True)
class Survival:
    """Kaplan and Meier's estimate of the share of runs that have not reached the threshold yet.

    Args:
        times: Where the share falls, ascending.
        share: The share from there on, 0 to 1.
        variance: Greenwood's variance of that share.
    """

    times: tuple[float, ...]
    share: tuple[float, ...]
    variance: tuple[float, ...]

    @property
    def median(self) -> float | None:
        """Where half of the runs have reached the threshold; None if they never do."""
        return next((time for time, share in zip(self.times, self.share, strict=True) if share <= 0.5), None)


@dataclass(frozen=True)
class RestrictedMean:
    """Mean time to the threshold, each run counted up to the horizon at most.

    Args:
        value: The mean (steps or seconds).
        low: Lower end of its interval.
        high: Upper end of its interval, at most the horizon.
        horizon: What a run that does not reach the threshold counts.
        reached: Runs that reached it by then.
        runs: All runs.
    """

    value: float
    low: float
    high: float
    horizon: float
    reached: int
    runs: int


def kaplan_meier(crossings: Sequence[Crossing]) -> Survival:
    """Kaplan and Meier (1958), J. Am. Stat. Assoc. 53, with Greenwood's variance.

    A run censored at the very time another one reaches the threshold was still at risk there, as is usual.

    Raises:
        ValueError: No crossing.
    """
    if not crossings:
        raise ValueError("expected at least one run")
    times, shares, variances = [], [], []
    share, greenwood = 1.0, 0.0
    for time in sorted({crossing.at for crossing in crossings if crossing.reached}):
        at_risk = sum(crossing.at >= time for crossing in crossings)
        events = sum(crossing.at == time and crossing.reached for crossing in crossings)
        share *= 1 - events / at_risk
        greenwood += events / (at_risk * (at_risk - events)) if at_risk > events else 0.0
        times.append(time)
        shares.append(share)
        variances.append(share**2 * greenwood)
    return Survival(tuple(times), tuple(shares), tuple(variances))


def restricted_mean(crossings: Sequence[Crossing], horizon: float, confidence: float = 0.95) -> RestrictedMean:
    """Area under the Kaplan-Meier curve up to a horizon: a mean that censored runs do not bias.

    Irwin (1949); variance after Klein and Moeschberger, "Survival Analysis" (2003), section 4.5. Unlike the median it
    exists however few runs reached the threshold, and unlike a mean over the runs that did, it does not reward failing.

    Args:
        crossings: One per run.
        horizon: Above 0, such as the budget of the runs; the same for all that are compared.
        confidence: Of the interval.

    Raises:
        ValueError: No crossing, or a horizon beyond the end of the last run while some never reached the threshold.
    """
    curve = kaplan_meier(crossings)
    last = max(crossing.at for crossing in crossings)
    if horizon > last and not (curve.share and curve.share[-1] == 0):
        raise ValueError(f"horizon: expected at most {last}, where the last run ended, got {horizon}")
    steps = [(time, share) for time, share in zip(curve.times, curve.share, strict=True) if time < horizon]
    edges = [0.0, *(time for time, _ in steps), horizon]
    heights = [1.0, *(share for _, share in steps)]
    areas = [height * (right - left) for height, left, right in zip(heights, edges[:-1], edges[1:], strict=True)]
    value = math.fsum(areas)
    spread = 0.0
    for index, (time, _) in enumerate(steps):
        at_risk = sum(crossing.at >= time for crossing in crossings)
        events = sum(crossing.at == time and crossing.reached for crossing in crossings)
        if at_risk > events:
            spread += math.fsum(areas[index + 1 :]) ** 2 * events / (at_risk * (at_risk - events))
    half = float(ndtri((1 + confidence) / 2)) * math.sqrt(spread)
    reached = sum(crossing.reached and crossing.at <= horizon for crossing in crossings)
    return RestrictedMean(value, max(0.0, value - half), min(horizon, value + half), horizon, reached, len(crossings))
