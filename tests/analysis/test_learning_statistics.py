"""Statistics across seeds, against rliable 1.2.0 and by their definitions."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats

from benchmark_app.analysis import learning
from tests.analysis.compare_cases import training

# By task, three tasks; the values below are what rliable 1.2.0 gives for them.
X = [[0.1, 0.4, 0.35, 0.8, 0.05], [1.2, 0.9, 1.5, 1.1, 0.3], [0.5, 0.7, 0.2, 0.65, 0.95]]
Y = [[0.3, 0.4, 0.6], [1.0, 1.3, 1.5], [0.4, 0.8, 0.1]]


def test_the_interquartile_mean_is_that_of_rliable():
    assert learning.interquartile_mean(X).value == pytest.approx(0.6166666666666667, abs=1e-9)
    assert learning.interquartile_mean(Y).value == pytest.approx(0.64, abs=1e-9)


def test_the_interquartile_mean_agrees_with_scipy():
    for count in range(1, 12):
        values = np.random.default_rng(count).random(count)
        assert learning.iqm(values.tolist()) == pytest.approx(stats.trim_mean(values, 0.25), abs=1e-9)


def test_the_probability_of_improvement_is_that_of_rliable():
    assert learning.probability_of_improvement(Y, X).value == pytest.approx(0.4444444444444444, abs=1e-9)


def test_equal_scores_improve_with_probability_one_half():
    assert learning.probability_of_improvement([[1.0, 1.0]], [[1.0, 1.0, 1.0]]).value == 0.5


def test_the_bootstrap_draws_runs_within_their_task():
    """Tasks far apart: drawing across tasks would make the interval as wide as the gap between them."""
    estimate = learning.interquartile_mean([[0.0, 0.1, 0.2, 0.1], [100.0, 100.1, 100.2, 100.1]])
    assert estimate.high - estimate.low < 0.5


def test_the_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    """20 seeds of a normal score: percentile intervals of few runs are known to be a little too narrow."""
    rng = np.random.default_rng(0)
    covered = 0
    for index in range(300):
        estimate = learning.interquartile_mean([rng.standard_normal(20).tolist()], resamples=400, seed=index)
        covered += estimate.low <= 0 <= estimate.high
    assert 0.88 <= covered / 300 <= 0.98


def test_the_same_runs_give_the_same_interval():
    assert learning.interquartile_mean(X) == learning.interquartile_mean(X)
    assert learning.interquartile_mean(X, seed=1) != learning.interquartile_mean(X)


def test_one_run_per_task_has_no_interval():
    assert learning.interquartile_mean([[1.0], [2.0]]) == learning.Estimate(1.5, None, None)


@pytest.mark.parametrize("scores", [[], [[1.0], []]])
def test_tasks_without_runs_are_refused(scores):
    with pytest.raises(ValueError, match="at least one task"):
        learning.interquartile_mean(scores)


def test_a_performance_profile_is_the_share_of_runs_above_each_score():
    profile = learning.performance_profile(X, [0.0, 0.5, 1.0, 2.0])
    every = np.concatenate(X)
    assert profile.y == pytest.approx([(every > at).mean() for at in (0.0, 0.5, 1.0, 2.0)])
    assert all(low <= y <= high for low, y, high in zip(profile.low, profile.y, profile.high, strict=True))
    assert profile.runs == 15


def bundle(**given):
    return asdict(training(**given))


def test_a_curve_stands_over_steps_and_over_seconds():
    curve = learning.curve_of(bundle(rate=640.0, series=[float(i) for i in range(10)]))
    assert curve.steps == tuple(64.0 * i for i in range(1, 11))
    assert curve.seconds == pytest.approx([0.1 * i for i in range(1, 11)])
    assert curve.returns == tuple(float(i) for i in range(10))


def test_iterations_before_the_first_episode_are_not_part_of_a_curve():
    curve = learning.curve_of(bundle(series=[5.0] * 10, extra={"learning_first_iteration": 3}))
    assert curve.steps[0] == 4 * 64


def test_a_short_series_belongs_to_the_last_iterations_and_a_long_one_is_spread():
    short, long = learning.curve_of(bundle(series=[1.0] * 4)), learning.curve_of(bundle(series=[1.0] * 40))
    assert short.steps == tuple(64.0 * i for i in range(7, 11))
    assert long.steps[-1] == 640.0
    assert len(long.steps) == 40


def test_a_training_without_series_has_no_curve():
    assert learning.curve_of(bundle(series=None)) is None


def test_an_efficiency_curve_takes_the_common_stretch_only():
    runs = [([0.0, 10.0], [0.0, 10.0]), ([2.0, 8.0], [4.0, 10.0])]
    band = learning.efficiency_curve(runs, points=4)
    assert band.x == (2.0, 4.0, 6.0, 8.0)
    assert band.y == pytest.approx([3.0, 5.0, 7.0, 9.0])
    assert all(low <= y <= high for low, y, high in zip(band.low, band.y, band.high, strict=True))


def test_runs_without_a_common_stretch_are_refused():
    with pytest.raises(ValueError, match="no common stretch"):
        learning.efficiency_curve([([0.0, 1.0], [0.0, 0.0]), ([2.0, 3.0], [0.0, 0.0])])


def test_the_area_under_a_curve_is_its_mean_height():
    assert learning.area_under_curve([0.0, 10.0], [0.0, 10.0]) == pytest.approx(5.0)
    assert learning.area_under_curve([0.0, 10.0], [0.0, 10.0], until=4.0) == pytest.approx(2.0)
    early, late = [0.0, 9.0, 10.0], [0.0, 1.0, 10.0]
    assert learning.area_under_curve([0.0, 1.0, 10.0], early) > learning.area_under_curve([0.0, 9.0, 10.0], late)
    with pytest.raises(ValueError, match=r"until: expected 0.0 to 10.0, got 11"):
        learning.area_under_curve([0.0, 10.0], [0.0, 10.0], until=11)


def test_a_threshold_must_be_held_to_count_as_reached():
    x, y = [1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 0.0, 1.0, 1.0]
    assert learning.crossing(x, y, 1.0) == learning.Crossing(2.0, True)
    assert learning.crossing(x, y, 1.0, hold=2) == learning.Crossing(4.0, True)
    assert learning.crossing(x, y, 2.0) == learning.Crossing(5.0, False)
