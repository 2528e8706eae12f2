"""How often verdicts are wrong, counted on runs whose truth is known. All seeds are kept; none was chosen.

One noise model of each kind is counted with the other tests, the rest by `make test-slow`.
"""

from collections import Counter

import numpy as np
import pytest

from benchmark_app.analysis.verdict import Question, judge
from tests.analysis.noise import MODELS, heavy_tails, normal, two_states, wandering_pairs

COMPARISONS = 2000
ALWAYS = (normal, heavy_tails, two_states, wandering_pairs)
STUDIED = [model if model in ALWAYS else pytest.param(model, marks=pytest.mark.slow) for model in MODELS]


def ask(base, new, design, direction="lower"):
    return Question(np.exp(base).tolist(), np.exp(new).tolist(), direction, design=design)


def verdicts(make):
    """Verdicts of 2,000 comparisons, each of one metric and with a seed of its own."""
    found = Counter()
    for seed in range(COMPARISONS):
        (answer,) = judge([make(np.random.default_rng(seed))])
        found[answer.verdict] += 1
    return found


@pytest.mark.parametrize("model", STUDIED, ids=lambda model: model.__name__)
def test_the_same_code_is_called_a_regression_at_most_once_in_a_hundred(model):
    found = verdicts(lambda rng: ask(*model(rng, *rng.integers(3, 11, 2))))
    assert found["regressed"] <= COMPARISONS / 100
    assert found["improved"] <= COMPARISONS / 100


def test_many_metrics_of_the_same_code_hold_no_regression_99_times_in_a_hundred():
    """16 metrics: twelve that share most of their noise, as rates and times do, and four of their own."""
    wrong = 0
    for seed in range(COMPARISONS):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(3, 11, 2)
        model = MODELS[seed % len(MODELS)]
        base, new, design = model(rng, n, m)
        questions = [
            ask(base + 0.002 * rng.standard_normal(len(base)), new + 0.002 * rng.standard_normal(len(new)), design)
            for _ in range(12)
        ]
        questions += [ask(*normal(rng, n, m)) for _ in range(4)]
        wrong += any(answer.verdict == "regressed" for answer in judge(questions))
    assert wrong <= COMPARISONS / 100


@pytest.mark.parametrize("design", ["apart", "in turn"])
def test_a_slowdown_of_ten_percent_is_found_with_5_repeats_and_two_percent_noise(design):
    found = verdicts(lambda rng: ask(0.02 * rng.standard_normal(5), slower(0.02 * rng.standard_normal(5)), design))
    assert found["regressed"] >= 0.95 * COMPARISONS
    assert found["improved"] == found["unchanged"] == 0


def test_a_slowdown_of_ten_percent_is_found_with_6_pairs_and_a_drift_that_hides_it():
    def pairs(rng):
        drift = np.cumsum(0.05 * rng.standard_normal(6))
        noise = 0.02 * rng.standard_normal((2, 6))
        return ask(drift + noise[0], slower(drift + noise[1]), "paired")

    assert verdicts(pairs)["regressed"] >= 0.95 * COMPARISONS


@pytest.mark.slow
def test_one_slower_group_of_metrics_is_found_among_many_that_did_not_change():
    """8 of 16 metrics follow the speed of a step."""
    found = 0
    for seed in range(COMPARISONS):
        rng = np.random.default_rng(seed)
        base, new = 0.02 * rng.standard_normal(5), slower(0.02 * rng.standard_normal(5))
        questions = [
            ask(base + 0.002 * rng.standard_normal(5), new + 0.002 * rng.standard_normal(5), "apart") for _ in range(8)
        ]
        questions += [ask(*normal(rng, 5, 5)) for _ in range(8)]
        found += judge(questions)[0].verdict == "regressed"
    assert found >= 0.95 * COMPARISONS


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_a_slowdown_in_fifteen_percent_noise_is_underpowered_and_never_unchanged(runs):
    found = verdicts(
        lambda rng: ask(0.15 * rng.standard_normal(runs), slower(0.15 * rng.standard_normal(runs)), "apart")
    )
    assert found["unchanged"] == 0
    assert found["underpowered"] >= 0.8 * COMPARISONS


def test_repeats_needed_are_enough():
    """What an underpowered comparison asks for finds the minimum effect as often as it promised."""
    rng = np.random.default_rng(0)
    needed = [
        judge([ask(0.02 * rng.standard_normal(4), 0.02 * rng.standard_normal(4), "in turn")])[0].repeats_needed
        for _ in range(200)
    ]
    runs = int(np.median([count for count in needed if count is not None]))
    effect = np.log1p(0.05) * 1.5  # a change must exceed the minimum effect to be called one
    found = verdicts(
        lambda rng: ask(0.02 * rng.standard_normal(runs), effect + 0.02 * rng.standard_normal(runs), "in turn")
    )
    assert found["regressed"] >= 0.9 * COMPARISONS


@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_a_rolling_history_of_the_same_code_raises_a_false_alarm_at_most_once_in_a_hundred(tails):
    def history(rng):
        points = int(rng.integers(5, 21))
        draw = rng.standard_normal if tails == "normal" else lambda size: rng.standard_t(3, size)
        between = 0.01 * rng.standard_normal(points + 1)
        medians = between[:-1] + np.median(0.02 * draw((points, 3)), axis=1)
        return ask(medians, between[-1] + 0.02 * draw(3), "history")

    assert verdicts(history)["regressed"] <= COMPARISONS / 100


def test_a_slowdown_against_a_history_of_twenty_commits_is_found():
    def history(rng):
        return ask(
            np.median(0.01 * rng.standard_normal((20, 3)), axis=1), slower(0.01 * rng.standard_normal(3)), "history"
        )

    assert verdicts(history)["regressed"] >= 0.95 * COMPARISONS


def slower(values):
    """Times that are 10 % longer."""
    return values + np.log(1.1)
