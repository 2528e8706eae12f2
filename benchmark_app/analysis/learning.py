"""What a library learned, across seeds and tasks: the statistics of Agarwal et al., and learning curves.

Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS. The formulas are
those of their library rliable, which is not used: it depends on arch, pandas, seaborn and absl, and wants the same
number of runs in every task. The tests hold reference values of rliable 1.2.0.

Scores are given by task: one sequence of runs for each. Across tasks they must mean the same, so normalise them first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark_app.analysis.survival import Crossing

Scores = Sequence[Sequence[float]]
_Floats = NDArray[np.float64]

_SEED = 0  # of the resampling: the same bundles give the same interval


@dataclass(frozen=True)
class Estimate:
    """A number and its bootstrap interval; the interval is None where no task has two runs."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Band:
    """A curve across runs with a pointwise bootstrap interval.

    Args:
        x: Steps, seconds, or scores of a performance profile; ascending.
        y: The curve.
        low: Lower ends of the interval, equal to `y` for a single run.
        high: Upper ends.
        runs: Runs it stands on.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    runs: int


@dataclass(frozen=True)
class Curve:
    """The learning curve of one run.

    Args:
        steps: Environment steps taken at the end of each iteration, ascending.
        seconds: Wall time since the start of the first iteration, likewise.
        returns: Mean return of the last finished episodes there.
        success: Their success rate, 0 to 1; None where the task knows none.
    """

    steps: tuple[float, ...]
    seconds: tuple[float, ...]
    returns: tuple[float, ...]
    success: tuple[float, ...] | None = None


def iqm(values: Sequence[float]) -> float:
    """Interquartile mean: a quarter of the values (rounded down) is left out at either end."""
    return float(_iqm(np.sort(np.asarray(values, dtype=float))))


def interquartile_mean(
    scores: Scores, *, confidence: float = 0.95, resamples: int = 2000, seed: int = _SEED
) -> Estimate:
    """Interquartile mean over all runs of all tasks, with a stratified bootstrap interval (runs within their task).

    Raises:
        ValueError: A task without runs, or no task.
    """
    tasks = _tasks(scores)

    def statistic(samples: list[_Floats]) -> _Floats:
        return _iqm(np.sort(np.concatenate(samples, axis=-1), axis=-1))

    return _estimate(statistic, tasks, confidence, resamples, seed)


def probability_of_improvement(
    base: Scores, new: Scores, *, confidence: float = 0.95, resamples: int = 2000, seed: int = _SEED
) -> Estimate:
    """How probable it is that a run of NEW beats one of BASE on a task drawn at random; equal scores count half.

    Args:
        base: Scores by task.
        new: Scores of the same tasks in the same order; counts of runs may differ.
        confidence: Of the interval.
        resamples: Of the bootstrap.
        seed: Of the resampling.

    Raises:
        ValueError: Other tasks, a task without runs, or no task.
    """
    if len(base) != len(new):
        raise ValueError(f"expected the same tasks on both sides, got {len(base)} and {len(new)}")
    tasks = [*_tasks(base), *_tasks(new)]

    def statistic(samples: list[_Floats]) -> _Floats:
        shares = [
            (np.sign(after[..., :, None] - before[..., None, :]).mean(axis=(-2, -1)) + 1) / 2
            for before, after in zip(samples[: len(base)], samples[len(base) :], strict=True)
        ]
        return np.asarray(np.mean(shares, axis=0))

    return _estimate(statistic, tasks, confidence, resamples, seed)


def performance_profile(
    scores: Scores, at: Sequence[float], *, confidence: float = 0.95, resamples: int = 2000, seed: int = _SEED
) -> Band:
    """Share of all runs that score above each value of `at`: the whole distribution in one curve.

    Raises:
        ValueError: A task without runs, or no task.
    """
    tasks = _tasks(scores)
    thresholds = np.asarray(at, dtype=float)

    def statistic(samples: list[_Floats]) -> _Floats:
        every = np.sort(np.concatenate(samples, axis=-1), axis=-1)
        below = np.apply_along_axis(np.searchsorted, -1, every, thresholds, side="right")
        return np.asarray(1 - below / every.shape[-1])

    return _band(statistic, tasks, thresholds, confidence, resamples, seed)


def curve_of(bundle: dict[str, Any]) -> Curve | None:
    """The learning curve in a training bundle; None where it keeps no series.

    A bundle has the wall time of all iterations together, so they count as equally long. Iterations before the first
    finished episode repeat its value there, and are left out. Isaac Lab's series need not have one value per iteration:
    a shorter one began when the first episode ended and belongs to the last iterations; a longer one (skrl) is spread
    evenly over the run.
    """
    learning, runtime = bundle["learning"], bundle["runtime"]
    series, count = learning["reward"]["series_per_iter"], runtime["iterations_completed"]
    if not series or not count:
        return None
    first = int((bundle.get("extra") or {}).get("learning_first_iteration", 0))
    success = (learning.get("success_rate") or {}).get("series_per_iter")
    if len(series) > count:
        iterations = [(index + 1) * count / len(series) for index in range(len(series))]
    else:
        iterations = [float(count - len(series) + index + 1) for index in range(len(series))]
    seconds = runtime["total_wall_time_s"] / count
    return Curve(
        steps=tuple(iteration * runtime["steps_per_iteration"] for iteration in iterations[first:]),
        seconds=tuple(iteration * seconds for iteration in iterations[first:]),
        returns=tuple(series[first:]),
        success=tuple(success[first:]) if success and len(success) == len(series) else None,
    )


def efficiency_curve(
    runs: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    points: int = 100,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = _SEED,
) -> Band:
    """Interquartile mean of several runs' curves, over steps (sample efficiency) or seconds (wall-clock efficiency).

    Args:
        runs: For each run its x (ascending) and y.
        points: Evenly spaced points from the latest start to the earliest end: nothing is extrapolated.
        confidence: Of the pointwise interval, from a bootstrap over whole runs.
        resamples: Of the bootstrap.
        seed: Of the resampling.

    Raises:
        ValueError: No run, or runs without a common stretch of x.
    """
    if not runs:
        raise ValueError("expected at least one run")
    begin, end = max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs)
    if begin > end:
        raise ValueError(f"the runs have no common stretch: one begins at {begin}, another ends at {end}")
    grid = np.linspace(begin, end, points) if end > begin else np.asarray([begin], dtype=float)
    values = np.stack([np.interp(grid, x, y) for x, y in runs])
    centre = _iqm(np.sort(values, axis=0).T)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(runs), (resamples, len(runs)))
    resampled = _iqm(np.sort(values[drawn], axis=1).transpose(0, 2, 1))
    low, high = np.quantile(resampled, _ends(confidence), axis=0)
    return Band(tuple(grid.tolist()), tuple(centre.tolist()), tuple(low.tolist()), tuple(high.tolist()), len(runs))


def area_under_curve(x: Sequence[float], y: Sequence[float], until: float | None = None) -> float:
    """Mean height of a curve over its stretch of x (trapezoids), in the unit of y: fast learners keep it high.

    Args:
        x: At least one value, ascending.
        y: As many values.
        until: End of the stretch, within x; None takes all of it. Compare runs over the same stretch only.

    Raises:
        ValueError: `until` lies outside of x.
    """
    end = x[-1] if until is None else until
    if not x[0] <= end <= x[-1]:
        raise ValueError(f"until: expected {x[0]} to {x[-1]}, got {end}")
    inside = [(position, height) for position, height in zip(x, y, strict=True) if position < end]
    inside.append((end, float(np.interp(end, x, y))))
    positions, heights = zip(*inside, strict=True)
    span = positions[-1] - positions[0]
    return float(np.trapezoid(heights, positions)) / span if span > 0 else float(heights[-1])


def crossing(x: Sequence[float], y: Sequence[float], threshold: float, *, hold: int = 1) -> Crossing:
    """Where a curve first reaches a threshold and keeps it for `hold` points; censored at its end if it never does."""
    above = 0
    for index, height in enumerate(y):
        above = above + 1 if height >= threshold else 0
        if above == hold:
            return Crossing(float(x[index - hold + 1]), True)
    return Crossing(float(x[-1]), False)


def _iqm(ordered: _Floats) -> _Floats:
    """Interquartile mean along the last axis, which is sorted."""
    count = ordered.shape[-1]
    cut = count // 4
    return np.asarray(ordered[..., cut : count - cut].mean(axis=-1))


def _tasks(scores: Scores) -> list[_Floats]:
    if not scores or not all(len(runs) for runs in scores):
        raise ValueError("expected at least one task, and at least one run of each")
    return [np.asarray(runs, dtype=float) for runs in scores]


def _resample(tasks: list[_Floats], resamples: int, seed: int) -> list[_Floats]:
    """Runs drawn with replacement within each task, `[resamples, runs]` for each."""
    rng = np.random.default_rng(seed)
    return [runs[rng.integers(0, len(runs), (resamples, len(runs)))] for runs in tasks]


def _estimate(
    statistic: Callable[[list[_Floats]], _Floats], tasks: list[_Floats], confidence: float, resamples: int, seed: int
) -> Estimate:
    value = float(statistic(tasks))
    if max(len(runs) for runs in tasks) < 2:
        return Estimate(value, None, None)
    low, high = np.quantile(statistic(_resample(tasks, resamples, seed)), _ends(confidence))
    return Estimate(value, float(low), float(high))


def _band(
    statistic: Callable[[list[_Floats]], _Floats],
    tasks: list[_Floats],
    x: _Floats,
    confidence: float,
    resamples: int,
    seed: int,
) -> Band:
    low, high = np.quantile(statistic(_resample(tasks, resamples, seed)), _ends(confidence), axis=0)
    y = statistic(tasks)
    runs = sum(len(task) for task in tasks)
    return Band(tuple(x.tolist()), tuple(y.tolist()), tuple(low.tolist()), tuple(high.tolist()), runs)


def _ends(confidence: float) -> tuple[float, float]:
    return (1 - confidence) / 2, (1 + confidence) / 2
