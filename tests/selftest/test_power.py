"""The repeats that are predicted: enough for the verdict procedure, on noise whose truth is known."""

import numpy as np
import pytest

from benchmark_app.analysis.pairing import MIN_PAIRS
from benchmark_app.analysis.power import MOST_RUNS, Noise, needed
from benchmark_app.analysis.verdict import Policy, Question, judge

METRICS = 12


def machine(deviation, runs=10, seed=0):
    return np.exp(deviation * np.random.default_rng(seed).standard_normal(runs))


def called(deviation, need, true, comparisons=100):
    """Share of comparisons that are called different on a machine whose noise is really this."""
    rng = np.random.default_rng(7)
    design = "paired" if need.runs >= MIN_PAIRS else "in turn"
    flat = Question([1.0, 1.0], [1.0, 1.0], "lower", design="in turn")
    found = 0
    for _ in range(comparisons):
        base, new = np.exp(deviation * rng.standard_normal((2, need.runs)))
        question = Question(
            base.tolist(), ((1 + true) * new).tolist(), "lower", min_effect=need.min_effect, design=design
        )
        found += judge([question, *[flat] * (METRICS - 1)])[0].verdict == "regressed"
    return found / comparisons


def test_what_is_predicted_suffices_on_most_machines_and_gives_no_false_alarm():
    enough = []
    for seed in range(5):
        need = needed(Noise.of(machine(0.02, seed=seed)), 0.05, metrics=METRICS)
        enough.append(called(0.02, need, 0.05) >= 0.8)
        assert called(0.02, need, 0.0) <= 0.05
    assert sum(enough) >= 4


def test_a_larger_difference_takes_fewer_repeats_and_a_noisier_machine_more():
    quiet, noisy = (Noise.of(machine(deviation)) for deviation in (0.01, 0.04))
    five, ten = (needed(noisy, effect, metrics=METRICS).runs for effect in (0.05, 0.1))
    assert ten < five
    assert needed(quiet, 0.05, metrics=METRICS).runs < five


def test_rank_tests_set_a_floor_that_a_formula_for_normal_noise_does_not_know():
    noise = Noise.of(machine(0.01))
    need = needed(noise, 0.05, metrics=METRICS, policy=Policy(min_runs=2))
    assert need.runs >= 3  # two against two have six arrangements
    assert needed(Noise.of([1.0] * 6), 0.05, metrics=METRICS).runs == Policy().min_runs


def test_a_drift_that_neighbours_share_costs_no_repeats():
    drifting = np.exp(0.004 * np.arange(12)) * machine(0.002, runs=12)
    shuffled = np.random.default_rng(1).permutation(drifting)
    assert (
        needed(Noise.of(drifting), 0.05, metrics=METRICS).runs <= needed(Noise.of(shuffled), 0.05, metrics=METRICS).runs
    )


def test_outliers_are_planned_for():
    values = machine(0.01, runs=12)
    values[4] *= 1.3
    assert (
        needed(Noise.of(values), 0.05, metrics=METRICS).runs
        > 3 * needed(Noise.of(machine(0.01, runs=12)), 0.05, metrics=METRICS).runs
    )


def test_where_no_sensible_number_suffices_none_is_named():
    need = needed(Noise.of(machine(0.6)), 0.05, metrics=METRICS)
    assert (need.runs, need.power) == (None, None)
    assert MOST_RUNS == 200


def test_the_planned_spread_allows_for_how_few_runs_were_seen():
    few, many = (Noise.of(machine(0.02, runs=runs)) for runs in (4, 100))
    assert few.planned / few.deviation > 1.6
    assert many.planned / many.deviation == pytest.approx(1.06, abs=0.02)
