"""Where a warm-up ends: on synthetic series whose change points are known, and in bundles made of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from bundle_events import facts, iteration, phases, run
from hypothesis import given
from hypothesis import strategies as st

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.steady import BATCH, drift, warmup_length
from benchmark_app.journal.events import Event, Finished, LoopStarted, Steps


def series(levels: list[tuple[int, float]], noise: float, seed: int, spikes: float = 0.0) -> list[float]:
    """Times with known change points: so many at each level, log-normal noise, now and then a pause of the machine."""
    draw = random.Random(seed)
    return [
        level * draw.lognormvariate(0.0, noise) * (1 + (draw.random() < spikes) * draw.uniform(1, 8))
        for count, level in levels
        for _ in range(count)
    ]


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
@pytest.mark.parametrize(
    ("levels", "change"),
    [
        ([(1, 5.0), (149, 1.0)], 1),
        ([(3, 2.0), (97, 1.0)], 3),
        ([(2, 9.0), (10, 1.5), (138, 1.0)], 12),
        ([(60, 1.4), (140, 1.0)], 60),
        ([(40, 0.6), (160, 1.0)], 40),  # a start that is too fast, before learning begins, is none either
        ([(5, 4.0), (25, 1.0)], 5),
        ([(100, 1.5), (1900, 1.0)], 100),
    ],
)
def test_the_cut_is_at_the_known_change_point(levels: list[tuple[int, float]], change: int, noise: float) -> None:
    cuts = [warmup_length(series(levels, noise, seed, spikes=0.01 if noise else 0.0)) for seed in range(40)]
    assert all(found for _, found in cuts) or sum(found for _, found in cuts) >= 36
    early = sum(cut < change for cut, _ in cuts)
    assert early <= (0 if noise < 0.1 else 2), "warm-up was left in"
    batch = BATCH if sum(count for count, _ in levels) >= 100 else 1
    assert sorted(cut for cut, _ in cuts)[20] <= change + batch + 0.1 * sum(count for count, _ in levels)


def test_of_a_steady_series_little_is_cut() -> None:
    lengths = [warmup_length(series([(150, 1.0)], 0.05, seed))[0] for seed in range(200)]
    assert sum(lengths) / len(lengths) <= 15, "a tenth of the run, on average"
    assert warmup_length([1.0] * 150) == (0, True)


def test_a_pause_in_the_middle_of_a_run_is_no_warmup() -> None:
    values = series([(1, 5.0), (149, 1.0)], 0.02, seed=1)
    values[60] = 50.0
    assert warmup_length(values)[0] <= 20


def test_a_series_that_is_still_falling_is_not_called_steady() -> None:
    values = [2.0 - index / 150 for index in range(150)]
    cut, found = warmup_length(values)
    assert (cut, found) == (75, False)
    rest = drift(values[cut:])
    assert rest is not None
    assert rest < -0.1


@pytest.mark.parametrize("values", [[], [1.0], [3.0, 1.0], [3.0, 1.0, 1.0]])
def test_of_a_few_values_at_most_half_are_cut(values: list[float]) -> None:
    cut, _ = warmup_length(values)
    assert cut <= len(values) / 2
    assert drift(values) is None


@given(st.lists(st.floats(1e-6, 1e3), max_size=300))
def test_whatever_the_times_at_least_half_are_measured(values: list[float]) -> None:
    cut, _ = warmup_length(values)
    assert 0 <= cut <= len(values) / 2


def bundle_of(work: list[Event], workflow: str, **started: Any) -> Any:
    values: dict[str, Any] = {"steps_per_iteration": 4, "warmup_iterations": 0, "detect_warmup": True} | started
    return build_bundle(run([*phases(100.3), facts(), LoopStarted(t=101.0, **values), *work], workflow=workflow))


def steps(seconds: list[float], *, t: float = 104.0, **changes: Any) -> Steps:
    return Steps(t=t, first_index=0, step_s=seconds, env_step_s=[0.5 * s for s in seconds], **changes)


def test_what_a_bundle_leaves_out_it_tells() -> None:
    seconds = series([(4, 3.0), (56, 1.0)], 0.0, seed=3)
    bundle = bundle_of([steps(seconds), Finished(t=104.5, outcome="budget")], "runtime")
    extra = bundle.extra
    assert (extra["warmup_iterations"], extra["warmup_rule"], extra["steady_state"]) == (4, "mser5", True)
    assert abs(extra["iteration_time_drift"]) < 0.05
    assert bundle.runtime.iteration_time_s.mean == pytest.approx(sum(seconds[4:]) / 56)
    assert bundle.runtime.total_wall_time_s == pytest.approx(sum(seconds))
    assert bundle.runtime.iterations_completed == 60
    assert bundle.runtime.environment_step_timing.warmup_steps == 4


def test_a_run_that_was_cut_off_is_judged_by_what_there_is() -> None:
    """No worker had to tell where the warm-up ended: events make the bundle, however the run ended."""
    bundle = bundle_of([steps([5.0, 1.0, 1.0, 1.0, 1.0])], "runtime")
    assert bundle.run.status == "crashed"
    assert bundle.extra["warmup_iterations"] == 1
    assert "steady_state" not in bundle.extra, "five steps say nothing"


def test_at_least_the_iterations_that_were_counted_live_are_left_out() -> None:
    work = [iteration(index, 105.0 + index) for index in range(20)]
    assert bundle_of(work, "training", warmup_iterations=2).extra["warmup_iterations"] == 2
    assert bundle_of(work[:1], "training", warmup_iterations=2).extra["warmup_iterations"] == 0


def test_an_iteration_that_loads_kernels_enters_no_rate_wherever_it_stands() -> None:
    work = [iteration(index, 105.0 + index) for index in range(20)]
    work[11] = iteration(11, 116.0, iteration_s=30.0, collection_s=29.0, env_step_s=[14.0, 15.0], kernel_loads=2)
    for detect in (True, False):
        bundle = bundle_of([*work, Finished(t=140.0, outcome="budget")], "training", detect_warmup=detect)
        assert bundle.extra["kernel_load_iterations"] == 1
        assert bundle.runtime.iteration_time_s.peak == 1.0
        assert bundle.runtime.environment_step_timing.environment_step_time_s.peak == 0.3
        assert bundle.extra["measured_wall_time_s"] == pytest.approx(19.0)
        assert bundle.runtime.total_wall_time_s == pytest.approx(49.0), "it took its time all the same"
        assert bundle.runtime.iterations_completed == 20


def test_a_step_that_loads_kernels_enters_no_rate_and_no_search_for_the_warmup() -> None:
    seconds = [1.0] * 40
    seconds[25] = 60.0
    bundle = bundle_of([steps(seconds, loading=[25])], "runtime")
    assert (bundle.extra["warmup_iterations"], bundle.extra["kernel_load_iterations"]) == (0, 1)
    assert bundle.runtime.iteration_time_s.peak == 1.0


def test_rows_that_stand_still_at_the_end_of_a_play_are_no_drift() -> None:
    seconds, frames = [1.0] * 30 + [2.0] * 30, [4] * 30 + [1] * 30
    bundle = bundle_of([steps(seconds, frames=frames)], "play")
    assert (bundle.extra["warmup_iterations"], bundle.extra["steady_state"]) == (0, True)


def test_the_engine_s_share_needs_every_step_of_it() -> None:
    """Of a journal without it no breakdown is made up, nor any timing of that mode."""
    started = {"measurement_mode": "serialized_synchronized", "detect_warmup": False}
    shares: dict[str, Any] = {"simulation_s": [0.1, 0.3], "simulation_calls": [1, 1]}
    timing = bundle_of([steps([1.0, 1.0], **shares)], "runtime", **started).runtime.environment_step_timing
    assert timing.simulation_step_time_s.mean == pytest.approx(0.2)
    assert timing.outside_simulation_step_time_s.mean == pytest.approx(0.3)
    assert timing.outside_simulation_step_fraction == pytest.approx(0.6)
    assert timing.simulation_step_calls == 2
    assert bundle_of([steps([1.0, 1.0])], "runtime", **started).runtime.environment_step_timing is None
