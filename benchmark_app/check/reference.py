"""Reference results: whether they are recorded, made of finished runs, and got again. Light."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any
from unittest import SkipTest

from benchmark_app.analysis.statistics import t_quantile
from benchmark_app.bundle.aggregate import wilson_interval
from benchmark_app.catalogue.reference import ReferenceResult, SeedResult, read_reference

from .claims import Claims
from .findings import require

LEAST_PC, LEAST_RETURN = 5.0, 0.05
"""A rerun may differ by so many points of success, and by this share of the return, whatever the seeds say."""
BASIS = (
    "Student's 95 % interval for the mean of as many new trainings, from the spread over the seeds, and at least "
    f"±{LEAST_PC:g} points of success and ±{100 * LEAST_RETURN:g} % of the return."
)
BEYOND_CHANCE = 5.0
"""Standard errors of the random episodes' mean by which a training that counts as learning is above it."""
HOW = "train and play every seed, then: check TASK --write-reference RUN_DIR…"


def reference_results_are_recorded(claims: Claims) -> str:
    """There is a reference result: a command, versions, hardware, and an interval that follows from its seeds."""
    results = read_reference(claims.entry.reference)
    require(bool(results), f"{claims.entry.reference.name} is not there; {HOW}")
    for result in results:
        where = _where(result)
        words = shlex.split(result.command)
        require(f"task={claims.entry.name}" in words, f"{where}: the command has no task={claims.entry.name}")
        seeds = ",".join(str(seed.seed) for seed in result.seeds)
        require(f"seed={seeds}" in words, f"{where}: the command has no seed={seeds}, the seeds of its results")
        require(bool(result.versions and result.hardware), f"{where}: versions or hardware are missing; {HOW}")
        _require_consistent(result, where)
    return f"{len(results)} results: " + "; ".join(f"{_where(result)}, {_summary(result)}" for result in results)


def reference_results_show_learning(claims: Claims) -> str:
    """A task that can be solved is solved by a library; any other is learned far beyond what random actions earn."""
    results = read_reference(claims.entry.reference)
    if not results:
        raise SkipTest("no reference result is recorded")
    return _solved(results, claims.declaration.solved_at) if claims.declaration.solved_at else _learned(results)


def _solved(results: Sequence[ReferenceResult], solved_at: float) -> str:
    rates = {_where(result): result.over_seeds["pc_success"].mean for result in results}
    told = ", ".join(f"{where} {rate:.1f} %" for where, rate in rates.items())
    reached = max(rates.values()) >= 100 * solved_at
    require(reached, f"{told} of episodes succeed, solved_at is {100 * solved_at:g} %; tune the task, or lower it")
    return f"{told} of episodes succeed"


def _learned(results: Sequence[ReferenceResult]) -> str:
    told = []
    for result in results:
        chance, where = result.random, _where(result)
        if chance is None:
            raise AssertionError(f"{where}: random is not measured, so that nothing shows learning; {HOW}")
        bar = chance.avg_sum_reward + BEYOND_CHANCE * chance.standard_error
        for seed in result.seeds:
            last = seed.last_tenth_reward
            better = last is not None and last >= bar
            require(better, f"{where}, seed {seed.seed}: the last tenth of training earns {last}, not {bar:.4g}")
        told.append(f"{where} above {bar:.4g} in the last tenth of every training")
    return "; ".join(told)


RECORDED: tuple[Callable[[Claims], str], ...] = (reference_results_are_recorded, reference_results_show_learning)
"""Every check of the recorded results."""


def the_reference_result_is_got_again(result: ReferenceResult, again: Sequence[SeedResult]) -> str:
    """The recorded command, run anew, gives means over its seeds that lie within the expected intervals."""
    ran, recorded = [seed.seed for seed in again], [seed.seed for seed in result.seeds]
    require(ran == recorded, f"seeds {ran} finished, {recorded} are recorded; look at the runs' logs")
    told, missed = [], False
    for name, (low, high) in result.expected.items():
        measured = [float(getattr(seed, name)) for seed in again]
        mean = fmean(measured)
        inside = low <= mean <= high
        missed |= not inside
        each = ", ".join(f"{value:.4g}" for value in measured)
        told.append(f"{name} {mean:.4g} (seeds: {each}), {'within' if inside else 'OUTSIDE'} {low:.4g} to {high:.4g}")
    text = "; ".join(told)
    require(not missed, f"{text}; find out what changed, or record it anew with --write-reference")
    return text


def over_seeds(seeds: Sequence[SeedResult]) -> dict[str, dict[str, Any]]:
    """Means over trainings, with Student's interval of the mean, a share's within 0 and 100 %; null with one."""
    found = {}
    for name, values in _values(seeds).items():
        interval = None
        if len(values) > 1:
            half = t_quantile(len(values) - 1, 0.975) * stdev(values) / math.sqrt(len(values))
            interval = _bounds(name, fmean(values), half)
        found[name] = {"mean": fmean(values), "ci95": interval}
    return found


def expected(seeds: Sequence[SeedResult]) -> dict[str, list[float]]:
    """Bounds of the mean over as many new trainings."""
    found = {}
    for name, values in _values(seeds).items():
        mean = fmean(values)
        half = LEAST_PC if name == "pc_success" else LEAST_RETURN * abs(mean)
        if len(values) > 1:
            half = max(half, t_quantile(len(values) - 1, 0.975) * stdev(values) * math.sqrt(2.0 / len(values)))
        found[name] = _bounds(name, mean, half)
    return found


def _bounds(name: str, mean: float, half: float) -> list[float]:
    """Mean ± half; a share ends at 0 and 100 %."""
    low, high = mean - half, mean + half
    return [max(0.0, low), min(100.0, high)] if name == "pc_success" else [low, high]


def _values(seeds: Sequence[SeedResult]) -> dict[str, list[float]]:
    names = ["avg_sum_reward"] if any(seed.pc_success is None for seed in seeds) else ["pc_success", "avg_sum_reward"]
    return {name: [float(getattr(seed, name)) for seed in seeds] for name in names}


def _require_consistent(result: ReferenceResult, where: str) -> None:
    """What is derived must follow from what was measured."""
    for seed in result.seeds:
        if seed.n_success is None or seed.pc_success is None or seed.pc_success_ci95 is None:
            continue
        low, high = wilson_interval(seed.n_success, seed.n_episodes)
        pairs = [(seed.pc_success, 100 * seed.n_success / seed.n_episodes)]
        pairs += zip(seed.pc_success_ci95, (100 * low, 100 * high), strict=True)
        same = all(math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6) for one, other in pairs)
        require(
            same, f"{where}, seed {seed.seed}: {seed.n_success} of {seed.n_episodes} is not what its rate says; {HOW}"
        )
    wanted = over_seeds(result.seeds)
    for name, entry in wanted.items():
        given = result.over_seeds.get(name)
        same = given is not None and _close([given.mean, *(given.ci95 or [])], [entry["mean"], *(entry["ci95"] or [])])
        require(same, f"{where}: over_seeds.{name} does not follow from its seeds ({entry}); {HOW}")
    bounds = expected(result.seeds)
    same = _same_bounds(result.expected, bounds)
    require(same, f"{where}: expected does not follow from its seeds ({bounds}); {HOW}")


def _same_bounds(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> bool:
    return one.keys() == other.keys() and all(_close(one[name], other[name]) for name in one)


def _close(one: Sequence[float], other: Sequence[float]) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in pairs)


def _where(result: ReferenceResult) -> str:
    return f"{result.framework} on {result.physics}"


def _summary(result: ReferenceResult) -> str:
    means = ", ".join(f"{name} {entry.mean:.4g}" for name, entry in result.over_seeds.items())
    return f"{means} over {len(result.seeds)} seeds"
