import numpy as np
import pytest
from scipy import stats

from benchmark_app.analysis.survival import Crossing, kaplan_meier, restricted_mean

# Remission of 21 leukaemia patients under 6-MP (Freireich et al. 1963), the textbooks' example; + is censored.
WEEKS = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
PATIENTS = [Crossing(float(week.rstrip("+")), "+" not in week) for week in WEEKS.split()]


def test_kaplan_meier_gives_the_published_curve_and_its_errors():
    """Klein and Moeschberger, Survival Analysis (2003), table 4.1."""
    curve = kaplan_meier(PATIENTS)
    assert curve.times == (6, 7, 10, 13, 16, 22, 23)
    assert curve.share == pytest.approx([0.857, 0.807, 0.753, 0.690, 0.628, 0.538, 0.448], abs=6e-4)
    errors = [variance**0.5 for variance in curve.variance]
    assert errors == pytest.approx([0.076, 0.087, 0.096, 0.107, 0.114, 0.128, 0.135], abs=6e-4)
    assert curve.median == 23


def test_kaplan_meier_agrees_with_scipy():
    censored = stats.CensoredData.right_censored([p.at for p in PATIENTS], [not p.reached for p in PATIENTS])
    theirs = stats.ecdf(censored).sf
    ours = kaplan_meier(PATIENTS)
    assert ours.share == pytest.approx(theirs.evaluate(np.array(ours.times)), abs=1e-9)


def test_restricted_mean_gives_the_published_value_and_error():
    """Klein and Moeschberger, example 4.2 continued: 23.29 weeks up to week 35, standard error 2.83."""
    mean = restricted_mean(PATIENTS, 35)
    assert mean.value == pytest.approx(23.29, abs=5e-3)
    assert (mean.high - mean.value) / 1.96 == pytest.approx(2.83, abs=5e-3)
    assert (mean.reached, mean.runs) == (9, 21)


def test_restricted_mean_without_censoring_is_the_mean():
    crossings = [Crossing(at, True) for at in (1.0, 2.0, 6.0)]
    assert restricted_mean(crossings, 10.0).value == pytest.approx(3.0)


def test_runs_that_never_arrive_count_the_whole_horizon():
    never = [Crossing(100.0, False)] * 3
    assert restricted_mean(never, 100.0).value == 100.0
    assert kaplan_meier(never).median is None
    some = [Crossing(50.0, True), *never]
    assert restricted_mean(some, 100.0).value == pytest.approx(87.5)


def test_a_horizon_beyond_the_last_run_is_refused():
    with pytest.raises(ValueError, match=r"at most 100.0"):
        restricted_mean([Crossing(100.0, False)], 200.0)


def test_no_runs_are_refused():
    with pytest.raises(ValueError, match="at least one run"):
        kaplan_meier([])
