"""The statistics of two samples, against scipy and published values."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmark_app.analysis import statistics

EXACT = 1e-9
SIZES = [(2, 2), (3, 3), (3, 10), (5, 5), (10, 4), (30, 25)]


def samples(n, m, seed=0, shift=0.7):
    rng = np.random.default_rng([seed, n, m])
    return rng.standard_normal(n).tolist(), (shift + 2 * rng.standard_normal(m)).tolist()


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_welch_agrees_with_scipy_in_p_value_freedom_and_interval(n, m):
    base, new = samples(n, m)
    ours, theirs = statistics.welch(base, new), stats.ttest_ind(new, base, equal_var=False)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=EXACT)
    assert ours.df == pytest.approx(theirs.df, abs=EXACT)
    interval = theirs.confidence_interval(0.95)
    assert ours.interval(0.95) == pytest.approx((interval.low, interval.high), abs=EXACT)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_paired_agrees_with_scipy(n):
    base, new = samples(n, n)
    ours, theirs = statistics.paired(base, new), stats.ttest_rel(new, base)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=EXACT)
    interval = theirs.confidence_interval(0.99)
    assert ours.interval(0.99) == pytest.approx((interval.low, interval.high), abs=EXACT)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_rank_sum_agrees_with_the_exact_test_of_scipy(n, m):
    for seed in range(5):
        base, new = samples(n, m, seed)
        theirs = stats.mannwhitneyu(new, base, alternative="greater", method="exact").pvalue
        assert statistics.rank_sum_p(base, new) == pytest.approx(theirs, abs=EXACT)


def test_rank_sum_of_many_values_is_close_to_the_exact_one():
    base, new = samples(60, 60, shift=0.3)
    theirs = stats.mannwhitneyu(new, base, alternative="greater", method="exact").pvalue
    assert statistics.rank_sum_p(base, new) == pytest.approx(theirs, rel=0.02)


def test_equal_values_never_make_a_rank_test_more_certain():
    rng = np.random.default_rng(0)
    for _ in range(50):
        base, new = rng.integers(0, 3, 4).tolist(), rng.integers(0, 3, 5).tolist()
        broken = [value + rng.uniform(-0.4, 0.4) for value in base], [value + rng.uniform(-0.4, 0.4) for value in new]
        assert statistics.rank_sum_p(base, new) >= statistics.rank_sum_p(*broken) - EXACT


def test_no_rank_test_of_three_against_three_reaches_one_percent():
    assert statistics.rank_sum_p([1, 2, 3], [4, 5, 6]) == pytest.approx(statistics.smallest_rank_sum_p(3, 3))
    assert statistics.smallest_rank_sum_p(3, 3) == pytest.approx(1 / 20)
    assert statistics.smallest_rank_sum_p(5, 5) == pytest.approx(1 / 252)


@pytest.mark.parametrize("n", [3, 6, 10, 25])
def test_signed_ranks_agree_with_the_exact_test_of_scipy(n):
    for seed in range(5):
        differences = np.subtract(*samples(n, n, seed)[::-1])
        theirs = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
        assert statistics.signed_rank_p(differences.tolist()) == pytest.approx(theirs, abs=EXACT)


def test_differences_of_zero_speak_against_a_change():
    assert statistics.signed_rank_p([0.0, 0.0, 1.0, 2.0]) > statistics.signed_rank_p([0.1, 0.2, 1.0, 2.0])


def test_adjusted_p_values_agree_with_scipy():
    for count in (1, 2, 17, 200):
        p_values = np.random.default_rng(count).random(count) ** 3
        assert statistics.adjust(p_values.tolist()) == pytest.approx(stats.false_discovery_control(p_values), abs=EXACT)
    assert statistics.adjust([]) == []


def test_published_example_of_benjamini_and_hochberg():
    """The 15 p values of their table 1: at 5 %, exactly the four smallest are rejected."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719]
    p_values += [0.6528, 0.7590, 1.0000]
    assert sum(p <= 0.05 for p in statistics.adjust(p_values)) == 4


def test_mad_agrees_with_scipy():
    values, _ = samples(9, 2)
    assert statistics.mad(values) == pytest.approx(stats.median_abs_deviation(values, scale="normal"), abs=EXACT)


def test_hedges_g_agrees_with_a_published_example():
    """Borenstein et al. (2009), Introduction to Meta-Analysis, p. 27: 103 and 100, s 5.5 and 4.5, n 50 each."""
    pattern = np.tile([-1.0, 1.0], 25) * math.sqrt(49 / 50)
    base, new = (100 + 4.5 * pattern).tolist(), (103 + 5.5 * pattern).tolist()
    assert statistics.hedges_g(base, new) == pytest.approx(0.5924, abs=1e-4)


def test_effect_sizes_of_samples_without_spread_do_not_exist():
    assert statistics.hedges_g([1.0, 1.0], [2.0, 2.0]) is None
    assert statistics.paired_g([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]) is None


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("deviation", "effect"), [(0.02, 0.05), (0.15, 0.1), (0.02, 0.3)])
def test_repeats_needed_give_the_power_they_promise_and_one_less_does_not(pairs, deviation, effect):
    runs = statistics.repeats_needed(deviation, effect, significance=0.01, power=0.9, pairs=pairs)

    def power(runs):
        df = (runs - 1) * (1 if pairs else 2)
        centre = effect / (deviation * math.sqrt((1 if pairs else 2) / runs))
        return stats.nct.sf(stats.t.ppf(0.995, df), df, centre)

    assert power(runs) >= 0.9 - 0.01  # quantiles added up approximate the non-central t
    assert runs == 2 or power(runs - 1) < 0.9 + 0.01


def test_no_number_of_repeats_averages_out_what_differs_between_sessions():
    asked = {"significance": 0.01, "power": 0.9}
    assert statistics.repeats_needed(0.01, 0.03, session_noise=0.02, **asked) is None
    assert statistics.repeats_needed(0.01, 0.03, **asked) is not None


def test_a_trend_that_goes_on_leaves_no_difference():
    assert statistics.drift_adjusted([0, 1, 2], [3, 4, 5, 6]) == pytest.approx(0)
    assert statistics.drift_adjusted([0, 0, 0], [1, 1, 1]) == pytest.approx(1)


def test_an_outlier_in_the_history_hardly_moves_the_verdict():
    history = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.01, 0.99]
    clean = statistics.against_history(history, [1.1, 1.11, 1.09])
    spoiled = statistics.against_history([*history, 5.0], [1.1, 1.11, 1.09])
    assert spoiled.estimate == pytest.approx(clean.estimate, abs=0.01)
    assert spoiled.error < 2 * clean.error


def test_samples_without_spread_are_certain():
    same, other = statistics.welch([1.0, 1.0], [1.0, 1.0]), statistics.welch([1.0, 1.0], [2.0, 2.0])
    assert (same.p_value, other.p_value) == (1.0, 0.0)
    assert other.interval(0.95) == (1.0, 1.0)
