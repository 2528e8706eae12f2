"""Which word is said when, one rule at a time. How often it is wrong: test_calibration.py."""

import math

import pytest

from benchmark_app.analysis.verdict import Policy, Question, judge

QUIET = [100.0, 100.5, 99.5, 100.2, 99.8]


def one(base, new, direction="lower", **given):
    (answer,) = judge([Question(base, new, direction, **given)])
    return answer


def times(factor, values=QUIET):
    return [factor * value for value in values]


def test_the_direction_decides_whether_more_is_better():
    assert one(QUIET, times(1.2), "lower").verdict == "regressed"
    assert one(QUIET, times(1.2), "higher").verdict == "improved"
    assert one(QUIET, times(0.8), "lower").verdict == "improved"
    assert one(QUIET, times(0.8), "higher").verdict == "regressed"


def test_equal_runs_are_unchanged_because_the_interval_lies_within_the_minimum_effect():
    answer = one(QUIET, times(1.001))
    assert answer.verdict == "unchanged"
    assert -0.05 < answer.low < answer.high < 0.05


def test_a_real_change_below_the_minimum_effect_is_no_regression():
    assert one(QUIET, times(1.03)).verdict == "underpowered"
    assert one(QUIET, times(1.03), min_effect=0.2).verdict == "unchanged"
    assert one(QUIET, times(1.03), min_effect=0.01, design="in turn").verdict == "regressed"


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 10), (10, 1), (2, 2), (2, 30)])
def test_too_few_runs_never_prove_anything_however_large_the_change(n, m):
    base, new = [100.0 + 0.01 * i for i in range(n)], [1000.0 + 0.01 * i for i in range(m)]
    answer = one(base, new)
    assert answer.verdict == "underpowered"
    assert "1 run" in answer.reason or "2 runs" in answer.reason
    assert answer.repeats_needed >= 3
    assert one(base, [100.0] * m).verdict == "underpowered"


def test_ratio_and_interval_are_those_of_the_geometric_means():
    answer = one([100.0, 400.0, 200.0], [50.0, 200.0, 100.0], "higher")
    assert answer.change == pytest.approx(-0.5)
    assert answer.low < -0.5 < answer.high
    assert (answer.median_base, answer.median_new) == (200.0, 100.0)


def test_noise_makes_a_large_change_underpowered_and_says_how_many_runs_would_do():
    answer = one([80.0, 100.0, 125.0, 90.0], [95.0, 130.0, 100.0, 145.0])
    assert answer.verdict == "underpowered"
    assert answer.repeats_needed > 20


def test_two_groups_that_overlap_are_no_regression_though_the_t_test_finds_one():
    """Ten runs in two states, three in the slow one only: a t test is fooled by the three that agree."""
    base = [100.0, 100.1, 100.2, 112.0, 99.9, 100.3, 112.1, 100.0, 100.1, 112.2]
    answer = one(base, [112.0, 112.1, 112.05], design="in turn")
    assert answer.p_adjusted < 0.01
    assert answer.verdict == "underpowered"
    assert "overlap" in answer.reason


def test_a_drift_that_goes_on_from_base_to_new_is_no_regression():
    base, new = [100 + 2 * i for i in range(6)], [112 + 2 * i for i in range(6)]
    answer = one(base, new)
    assert answer.p_adjusted < 0.01
    assert answer.verdict == "underpowered"
    assert "drift" in answer.reason


def test_pairs_cancel_a_drift_that_hides_a_change():
    base = [100.0, 130.0, 90.0, 160.0, 120.0, 80.0, 140.0]
    new = [1.1 * value * (1 + 0.002 * i) for i, value in enumerate(base)]
    assert one(base, new).verdict == "underpowered"
    assert one(base, new, design="paired").verdict == "regressed"


def test_identical_pairs_are_unchanged():
    assert one(QUIET, list(QUIET), design="paired").verdict == "unchanged"


def test_returns_may_be_negative_and_change_in_units_of_the_base():
    base, new = [-10.0, -10.2, -9.8, -10.1, -9.9], [-15.0, -15.2, -14.8, -15.1, -14.9]
    answer = one(base, new, "higher", scale="relative", design="in turn")
    assert answer.verdict == "regressed"
    assert answer.change == pytest.approx(-0.5)


def test_success_rates_change_in_points():
    answer = one([0.9, 0.92, 0.88], [0.7, 0.71, 0.69], "higher", scale="points", design="in turn")
    assert answer.verdict == "regressed"
    assert answer.change == pytest.approx(-0.2)


def test_the_pooled_episodes_must_agree():
    rates = [1.0, 1.0, 1.0], [0.8, 0.8, 0.8]
    assert one(*rates, "higher", scale="points", design="in turn").verdict == "regressed"
    assert one(*rates, "higher", scale="points", design="in turn", pooled_p=0.2).verdict == "underpowered"


@pytest.mark.parametrize(
    ("base", "new", "scale", "reason"),
    [
        ([], [1.0], "ratio", "not measured in BASE"),
        ([1.0], [], "ratio", "not measured in NEW"),
        ([0.0, 1.0, 1.0], [1.0, 1.0, 1.0], "ratio", "above 0"),
        ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], "relative", "BASE is 0"),
    ],
)
def test_what_has_no_meaning_is_not_comparable(base, new, scale, reason):
    answer = one(base, new, scale=scale)
    assert answer.verdict == "not comparable"
    assert reason in answer.reason
    assert answer.p_value is None


def test_the_more_questions_the_stronger_a_proof_must_be():
    weak = Question([100.0, 102.0, 98.0, 101.0], [107.0, 109.0, 105.5, 108.0], "lower", design="in turn")
    rest = [Question([100.0, 102.0, 98.0, 101.0], [101.0, 99.0, 100.0, 102.0], "lower", design="in turn")] * 60
    assert judge([weak])[0].verdict == "regressed"
    assert judge([weak, *rest])[0].verdict == "underpowered"


def test_session_noise_counts_where_the_sides_did_not_run_in_turn():
    exact = [100.0, 100.0, 100.0], [106.0, 106.0, 106.0]
    noisy = Policy(session_noise=0.05)
    assert judge([Question(*exact, "lower", design="in turn")], noisy)[0].verdict == "regressed"
    (apart,) = judge([Question(*exact, "lower", design="apart")], noisy)
    assert apart.verdict == "underpowered"
    assert apart.repeats_needed is None
    assert "in turn" in apart.reason


def test_one_new_run_against_a_history_is_underpowered_and_three_are_judged():
    history = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 100.3]
    assert one(history, [150.0], design="history").verdict == "underpowered"
    assert one(history, [150.0, 151.0, 149.0], design="history").verdict == "regressed"
    assert one(history, [100.1, 99.9, 100.0], design="history").verdict == "unchanged"
    assert "history" in one(history[:4], [150.0, 151.0, 149.0], design="history").reason


def test_a_history_that_repeated_itself_is_not_taken_to_be_free_of_noise():
    question = Question([100.0] * 10, [107.0] * 3, "lower", design="history")
    assert judge([question], Policy(session_noise=0.0))[0].verdict == "regressed"
    assert judge([question], Policy(session_noise=0.03))[0].verdict == "underpowered"


@pytest.mark.parametrize("scale", ["ratio", "relative", "points"])
@pytest.mark.parametrize("large", [1e150, 1.7e308])
def test_numbers_that_cannot_be_measured_are_not_comparable_and_break_nothing(scale, large):
    for base, new in (([large] * 3, [1.0] * 3), ([1e-250, 1e-250, 1e-250], [large, -large, 1.0])):
        answer = one(base, new, scale=scale)
        assert answer.verdict == "not comparable"
        assert all(math.isfinite(value) for value in (answer.median_base, answer.median_new))


def test_a_change_of_many_orders_of_magnitude_is_finite():
    answer = one([1e-90, 1e90, 1.0], [1e90, 1e-90, 2.0])
    assert math.isfinite(answer.low)
    assert math.isfinite(answer.high)
    assert answer.verdict == "underpowered"


@pytest.mark.parametrize("scale", ["ratio", "relative", "points"])
def test_nothing_that_stayed_nothing_is_unchanged(scale):
    assert one([0.0] * 3, [0.0] * 3, scale=scale).verdict == "unchanged"
    assert one([0.0], [0.0], scale=scale).verdict == "underpowered"


def test_the_means_are_those_of_the_scale_and_give_the_change():
    base, new = [100.0, 400.0, 200.0], [100.0, 100.0, 800.0]
    ratio = one(base, new)
    assert (ratio.mean_base, ratio.mean_new) == pytest.approx((200.0, 200.0))
    assert ratio.change == pytest.approx(0.0)
    relative = one(base, new, scale="relative")
    assert relative.mean_new / relative.mean_base - 1 == pytest.approx(relative.change)
    history = one([100.0, 101.0, 99.0, 150.0, 100.0], [120.0, 121.0, 300.0], design="history")
    assert history.mean_new / history.mean_base - 1 == pytest.approx(history.change)
    assert one([0.0, 1.0], [1.0, 1.0]).mean_base is None


def test_repeats_are_planned_for_the_change_seen_where_it_is_larger_than_the_minimum_effect():
    seen = one([50.0, 100.0, 200.0], [140.0, 280.0, 560.0])
    assert seen.repeats_effect == pytest.approx(1.8)
    minimum = one([50.0, 100.0, 200.0], [50.5, 101.0, 202.0])
    assert minimum.repeats_effect == pytest.approx(0.05)
    assert 3 < seen.repeats_needed < 50 < minimum.repeats_needed
    unknown = one([100.0], [110.0])
    assert (unknown.repeats_effect, unknown.repeats_needed) == (None, 3)


@pytest.mark.parametrize("design", ["in turn", "paired"])
def test_an_effect_size_needs_a_spread_that_is_more_than_rounding(design):
    base = [0.1, 0.1, 0.1] if design == "in turn" else [0.1, 0.3, 0.7, 1.1, 1.3, 1.7]
    answer = one(base, [1.1 * x for x in base], design=design)
    assert answer.verdict == "regressed"
    assert answer.effect_size is None
