import pytest
from scipy import stats

from benchmark_app.analysis.proportions import compare_proportions, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0, 27.753), (9, 10, 59.585, 98.212), (14, 20, 48.103, 85.452), (70, 100, 60.415, 78.105)],
)
def test_wilson_gives_the_published_intervals(successes, trials, low, high):
    assert [100 * end for end in wilson(successes, trials)] == pytest.approx([low, high], abs=5e-4)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_agrees_with_scipy(confidence):
    for successes, trials in [(0, 1), (1, 1), (3, 7), (50, 64), (999, 1000)]:
        theirs = stats.binomtest(successes, trials).proportion_ci(confidence, "wilson")
        assert wilson(successes, trials, confidence) == pytest.approx(theirs, abs=1e-9)


def test_newcombe_gives_the_published_interval():
    """Newcombe (1998), table II, example a, method 10: 56/70 - 48/80 lies within 0.0524 and 0.3339."""
    both = compare_proportions(48, 80, 56, 70)
    assert (both.difference, both.low, both.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_newcombe_at_the_ends_of_the_scale_has_a_width():
    """Example h of the same table: 10/10 - 0/10 lies within 0.6075 and 1."""
    both = compare_proportions(0, 10, 10, 10)
    assert (both.low, both.high) == pytest.approx((0.6075, 1.0), abs=5e-5)
    assert compare_proportions(10, 10, 10, 10).low < 0


def test_the_test_is_fishers():
    assert compare_proportions(1, 9, 11, 14).p_value == pytest.approx(stats.fisher_exact([[11, 3], [1, 8]]).pvalue)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ValueError, match="expected 0 <= successes <= trials"):
        wilson(successes, trials)
