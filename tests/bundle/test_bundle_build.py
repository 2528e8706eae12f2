"""What each number of a bundle means (docs/design.md, section 4), on journals small enough to compute by hand."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any, cast

import pytest
from bundle_events import (
    GPU_A,
    GPU_B,
    PHASES,
    RUNS,
    facts,
    iteration,
    phases,
    plan,
    play_work,
    run,
    runtime_work,
    samples,
    steps_work,
    training_work,
)
from hypothesis import example, given
from hypothesis import strategies as st

from benchmark_app.bundle.aggregate import ema, mean_std, rate, wilson_interval
from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.reached import is_reached
from benchmark_app.bundle.schema import (
    GpuDeviceInfo,
    LearningCurve,
    MeanStd,
    PlayBundle,
    RuntimeBundle,
    StartupBundle,
    TrainingBundle,
)
from benchmark_app.journal.events import (
    Episode,
    Event,
    Extra,
    Finished,
    HostFacts,
    LoopStarted,
    ResourceSample,
    RunPlanned,
    Steps,
    WorkerFacts,
)


def training(events: list[Event] | None = None) -> TrainingBundle:
    return cast(TrainingBundle, build_bundle(events if events is not None else RUNS["training"]))


def extra_of(bundle: Any) -> dict[str, Any]:
    return dict(bundle.extra)


def replaced(events: list[Event], cls: type[Event], **changes: Any) -> list[Event]:
    return [dataclasses.replace(event, **changes) if isinstance(event, cls) else event for event in events]


# ---------------------------------------------------------------- rates and times


def test_a_rate_is_all_work_over_all_time_so_one_slow_iteration_counts_in_full() -> None:
    """The peer reported 3608.5 frames/s where 81,920 frames took 74.63 s: a mean of rates, 3.29 times too high."""
    seconds = [58.4, 2.836, 5.279, 2.836, 5.279]
    work: list[Event] = [LoopStarted(t=101.0, steps_per_iteration=16384, warmup_iterations=0)]
    t = 101.0
    for index, duration in enumerate(seconds):
        t += duration
        work.append(iteration(index, t, frames=16384, iteration_s=duration, collection_s=duration / 2))
    runtime = training(run(work)).runtime
    assert runtime.total_fps.mean == pytest.approx(81920 / 74.63)
    assert runtime.collection_fps.mean == pytest.approx(2 * 81920 / 74.63)
    assert runtime.iterations_per_s.mean == pytest.approx(5 / 74.63)
    assert statistics.mean(16384 / s for s in seconds) / runtime.total_fps.mean == pytest.approx(3.29, abs=0.01)
    assert runtime.total_fps.peak == pytest.approx(16384 / 2.836)
    assert runtime.total_fps.std == pytest.approx(statistics.stdev(16384 / s for s in seconds))


def test_warm_up_enters_counts_and_no_rate_or_time() -> None:
    """The peer left the compiling iteration in every headline number. Ours takes 4 s, all others 1 s."""
    bundle = training()
    runtime = bundle.runtime
    assert runtime.iterations_completed == 5
    assert runtime.total_wall_time_s == 8.0
    assert runtime.steps_per_iteration == 8
    assert runtime.iteration_time_s == MeanStd(1.0, 0.0, 1.0)
    assert runtime.total_fps == MeanStd(8.0, 0.0, 8.0)
    assert runtime.collection_fps.mean == pytest.approx(8 / 0.6)
    assert runtime.iterations_per_s == MeanStd(1.0, 0.0, 1.0)
    timing = runtime.environment_step_timing
    assert timing is not None
    assert timing.measurement_mode == "host_return"
    assert timing.environment_step_calls == 8
    assert timing.warmup_steps == 2
    assert timing.environment_step_time_s.mean == pytest.approx(0.25)
    assert timing.environment_step_time_s.peak == 0.3
    assert timing.environment_step_fps.mean == pytest.approx(4 * 8 / (4 * 0.5))
    assert timing.environment_step_fps.peak == pytest.approx(4 / 0.2)
    extra = extra_of(bundle)
    assert extra["warmup_iterations"] == 1
    assert extra["measured_wall_time_s"] == 4.0
    assert extra["collection_time_s"] == pytest.approx(2.4)
    assert extra["learning_time_s"] == pytest.approx(1.2)
    assert extra["hook_time_fraction"] == pytest.approx(0.01)
    assert "not_reached" not in extra


def test_a_run_that_died_in_its_warm_up_names_what_it_did_not_reach() -> None:
    bundle = training(run([event for event in training_work(warmup=3) if event.t < 107.5]))
    assert bundle.runtime.iterations_completed == 3
    assert bundle.runtime.total_wall_time_s == 6.0
    assert bundle.runtime.total_fps == MeanStd(0.0, 0.0, 0.0)
    assert bundle.runtime.environment_step_timing is None
    assert extra_of(bundle)["not_reached"] == ",".join(
        f"runtime.{name}" for name in ("iteration_time_s", "collection_fps", "total_fps", "iterations_per_s")
    )
    assert not is_reached(bundle, "runtime.total_fps.mean")
    assert not is_reached(bundle, "runtime.total_fps")
    assert is_reached(bundle, "runtime.total_wall_time_s")
    assert is_reached(training(), "runtime.total_fps.mean")


def test_a_run_that_died_at_once_still_leaves_a_bundle() -> None:
    bundle = training([plan()])
    assert bundle.runtime.iterations_completed == 0
    assert bundle.versions.torch == ""
    assert bundle.versions.isaaclab == ""
    for path in (
        "hardware.ram_gb",
        "runtime.steps_per_iteration",
        "runtime.startup_time_s.first_step",
        "resources.cpu_util_pct.mean",
        "resources.ram_gb.peak",
        "learning.reward.final_raw",
    ):
        assert not is_reached(bundle, path), path


def test_runtime_counts_a_step_as_an_iteration_and_every_environment_as_a_frame() -> None:
    bundle = cast(RuntimeBundle, build_bundle(replaced(run(runtime_work(), workflow="runtime"), Steps, frames=None)))
    assert bundle.runtime.iterations_completed == 5
    assert bundle.runtime.steps_per_iteration == 4
    assert bundle.runtime.total_wall_time_s == 2.75
    assert bundle.runtime.total_fps.mean == pytest.approx(4 * 4 / 1.75)
    assert bundle.runtime.collection_fps == bundle.runtime.total_fps
    timing = bundle.runtime.environment_step_timing
    assert timing is not None
    assert timing.environment_step_fps.mean == pytest.approx(4 * 4 / 1.4)
    assert bundle.run.framework is None
    assert bundle.run.max_iterations is None


def test_play_counts_only_rows_still_being_evaluated_and_total_never_exceeds_the_environment_alone() -> None:
    """The peer's play file says 581.8 frames/s for policy and environment, 580.2 for the environment alone."""
    bundle = cast(PlayBundle, build_bundle(RUNS["play"]))
    assert bundle.runtime.total_fps.mean == pytest.approx((4 + 3 + 2 + 1) / 1.75)
    timing = bundle.runtime.environment_step_timing
    assert timing is not None
    assert timing.environment_step_fps.mean == pytest.approx((4 + 3 + 2 + 1) / 1.4)
    assert bundle.runtime.total_fps.mean <= timing.environment_step_fps.mean


POSITIVE = st.floats(min_value=1e-9, max_value=1e9)


@example([(9, 0.66)] * 3)  # 27 / 1.98 rounds to more than 9 / 0.66
@given(st.lists(st.tuples(st.integers(0, 10**9), POSITIVE), min_size=1))
def test_no_aggregate_exceeds_its_peak_and_no_spread_is_negative(pairs: list[tuple[int, float]]) -> None:
    stats = (rate([w for w, _ in pairs], [s for _, s in pairs]), mean_std([s for _, s in pairs]))
    for stat in stats:
        assert stat is not None
        assert stat.peak is not None
        assert stat.peak >= stat.mean
        assert stat.std >= 0
    assert stats[1] is not None
    assert stats[1].std == 0 or len(pairs) > 1


# ---------------------------------------------------------------- learning and play


def test_a_series_has_one_value_per_iteration_and_says_where_its_data_begin() -> None:
    """The peer's skrl success curve has 159 points for 5 iterations."""
    bundle = training()
    assert bundle.learning.reward.series_per_iter == [1.0, 1.0, 2.0, 3.0, 4.0]
    assert bundle.learning.ep_length.final_raw == 14.0
    assert bundle.learning.success_rate is not None
    assert bundle.learning.success_rate.series_per_iter == [0.5] * 5
    assert bundle.success_rate == 0.5
    assert extra_of(bundle)["learning_first_iteration"] == 1
    assert extra_of(bundle)["episodes_finished"] == 8


def test_the_moving_average_starts_at_the_first_measured_value() -> None:
    assert ema([1.0, 2.0, 3.0, 4.0], 0.1) == pytest.approx(0.1 * 4 + 0.9 * (0.1 * 3 + 0.9 * (0.1 * 2 + 0.9 * 1)))
    assert training().learning.reward.final_ema == pytest.approx(ema([1.0, 2.0, 3.0, 4.0], 0.1))
    half = training(run(training_work(), ema_alpha=0.5)).learning
    assert half.ema_alpha == 0.5
    assert half.reward.final_ema == 0.5 * 4 + 0.5 * (0.5 * 3 + 0.5 * (0.5 * 2 + 0.5 * 1))


def test_without_a_finished_episode_nothing_is_passed_off_as_a_reward_of_zero() -> None:
    bundle = training(
        run(
            replaced(training_work(), type(iteration(0, 0)), reward=None, ep_length=None, success_rate=None, episodes=0)
        )
    )
    assert bundle.learning.reward == LearningCurve(0.0, 0.0, None)
    assert bundle.learning.success_rate is None
    assert bundle.success_rate is None
    assert extra_of(bundle)["episodes_finished"] == 0
    assert extra_of(bundle)["not_reached"] == "learning.reward,learning.ep_length"
    assert "learning_first_iteration" not in extra_of(bundle)


def test_a_task_without_success_has_no_success_curve_and_series_can_be_left_out() -> None:
    bundle = training(run(replaced(training_work(), type(iteration(0, 0)), success_rate=None), keep_series=False))
    assert bundle.learning.success_rate is None
    assert bundle.success_rate is None
    assert bundle.learning.reward.series_per_iter is None


def test_play_judges_finished_episodes() -> None:
    bundle = cast(PlayBundle, build_bundle(replaced(RUNS["play"], RunPlanned, max_iterations=5)))
    assert bundle.run.max_iterations is None
    assert bundle.reward == MeanStd(5.0, 1.0, 6.0)
    assert bundle.ep_length == MeanStd(101.0, 1.0, 102.0)
    assert bundle.success_rate == pytest.approx(2 / 3)
    extra = extra_of(bundle)
    assert (extra["n_episodes"], extra["n_success"]) == (3, 2)
    interval = [100 * bound for bound in wilson_interval(2, 3)]
    assert [extra["pc_success_ci95_low"], extra["pc_success_ci95_high"]] == interval
    assert bundle.checkpoint_path == "checkpoints/model_4.pt"
    assert bundle.run.framework == "rsl_rl"


def test_play_without_success_or_without_episodes_says_null() -> None:
    without = cast(PlayBundle, build_bundle(replaced(RUNS["play"], Episode, success=None)))
    assert without.success_rate is None
    assert "n_success" not in extra_of(without)
    none = cast(PlayBundle, build_bundle([event for event in RUNS["play"] if event.kind != "episode"]))
    assert (none.success_rate, none.reward, none.ep_length) == (None, None, None)
    assert extra_of(none)["n_episodes"] == 0


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 27.753), (9, 10, 59.585, 98.212), (14, 20, 48.103, 85.452), (70, 100, 60.415, 78.105)],
)
def test_the_success_interval_is_wilsons(successes: int, trials: int, low: float, high: float) -> None:
    assert [100 * bound for bound in wilson_interval(successes, trials)] == pytest.approx([low, high], abs=5e-4)


@example((0, 7))
@example((10, 10))
@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_success_interval_holds_the_estimate_and_stays_a_probability(case: tuple[int, int]) -> None:
    low, high = wilson_interval(*case)
    assert 0 <= low <= case[0] / case[1] <= high <= 1


# ---------------------------------------------------------------- identity and start-up


def test_the_run_is_identified_truthfully_and_its_presets_are_kept() -> None:
    """The peer's presets are always empty, so that different runs cannot be told apart."""
    identity = training(run(training_work(), presets=["agent=big", "camera=tiled"], rendering="ovrtx")).run
    assert identity.config.presets == ["agent=big", "camera=tiled"]
    assert identity.config.rendering_backend == "ovrtx"
    assert (identity.run_id, identity.seed, identity.num_envs, identity.max_iterations) == ("run-1", 7, 4, 5)
    assert identity.start_time_utc == "2026-11-30T10:00:00+00:00"
    assert identity.end_time_utc == "2026-11-30T10:01:00+00:00"
    assert identity.duration_s == pytest.approx(9.5)


def test_an_unclosed_run_ends_with_its_last_event() -> None:
    events = [event for event in RUNS["training"] if event.kind not in ("run_closed", "worker_exited")]
    identity = training(events).run
    assert identity.duration_s == pytest.approx(9.3)
    assert identity.end_time_utc == "2026-11-30T10:00:09.300000+00:00"


def test_a_library_the_schema_does_not_know_is_named_in_extra_and_an_unknown_engine_is_an_error() -> None:
    bundle = training(run(training_work(), framework="cleanrl"))
    assert bundle.run.framework is None
    assert extra_of(bundle)["framework"] == "cleanrl"
    assert "framework" not in extra_of(training())
    with pytest.raises(BundleError, match="physics_backend: expected one of"):
        build_bundle(run(training_work(), physics="bullet"))


def test_start_up_times_of_a_run_are_its_phases() -> None:
    assert dataclasses.asdict(training().runtime.startup_time_s) == PHASES


def test_the_startup_bundle_takes_times_from_the_plain_pass_and_functions_from_the_profiled_one() -> None:
    bundle = cast(StartupBundle, build_bundle(RUNS["startup"]))
    assert {name: phase.total_time_s for name, phase in bundle.phases.items()} == PHASES
    assert all(phase.top_functions[0].name == "f" for phase in bundle.phases.values())
    assert (bundle.run.num_envs, bundle.run.max_iterations, bundle.run.framework) == (None, None, None)
    assert bundle.config.top_n == 30


def test_versions_and_hardware_are_what_the_supervisor_found() -> None:
    bundle = training()
    assert bundle.versions.torch == "2.9.1"
    assert bundle.versions.git_commit == "abc"
    assert bundle.versions.git_dirty is True
    assert bundle.versions.isaaclab == ""
    assert bundle.versions.kit is None
    assert bundle.hardware.cpu_count == 2


# ---------------------------------------------------------------- extra


def test_extra_gathers_what_plan_and_worker_say_and_the_last_word_counts() -> None:
    events = run([*training_work(), Extra(t=109.25, values={"parameters": 99, "threads": 4})])
    extra = extra_of(training(events))
    assert extra["parameters"] == 99
    assert extra["threads"] == 4
    assert extra["torch_threads"] == 1
    assert extra["device"] == "cpu"
    assert not {"synthetic", "perturbed"} & set(extra)


def test_a_task_can_neither_hide_that_a_run_is_synthetic_nor_invent_an_ending() -> None:
    claims = Extra(t=109.25, values={"synthetic": False, "reason": "all fine", "warmup_iterations": 77})
    extra = extra_of(training(run([*training_work(), claims], synthetic=True, perturbed="debugger")))
    assert extra["synthetic"] is True
    assert extra["perturbed"] == "debugger"
    assert extra["warmup_iterations"] == 1
    assert "reason" not in extra


# ---------------------------------------------------------------- resources


def test_load_is_that_of_the_measured_loop_and_the_peak_of_memory_that_of_the_whole_run() -> None:
    """Samples at 101, 102, ...; the measured iterations last from 105 to 109. Load is that since the last sample."""
    late = ResourceSample(t=109.25, cpu_pct=1000.0, ram_gb=50.0)
    resources = training(run([*training_work(), late])).resources
    assert resources.cpu_util_pct == mean_std([95.0, 96.0, 97.0, 98.0], peak=False)
    assert resources.ram_gb.mean == pytest.approx(1.6)
    assert resources.ram_gb.peak == 50.0


def test_without_a_sample_in_the_loop_all_samples_are_taken() -> None:
    resources = training(run([*phases(100.3), facts(t=103.5)])).resources
    assert resources.cpu_util_pct.mean == pytest.approx(91.0)


def test_the_measured_part_of_a_batch_of_steps_begins_inside_it() -> None:
    """Two batches, 101.25 to 103 and 103 to 104; the first step of the first is warm-up and ends at 102.25."""
    work = [event for event in steps_work() if event.kind != "resource_sample"]
    early, late = (ResourceSample(t=t, cpu_pct=t, ram_gb=1.0) for t in (102.2, 102.3))
    base = [event for event in run(work, workflow="runtime") if event.kind != "resource_sample"]
    bundle = cast(RuntimeBundle, build_bundle([*base, early, late]))
    assert bundle.resources.cpu_util_pct.mean == 102.3


def test_a_host_without_a_gpu_gets_no_phantom_one() -> None:
    """The peer reports a device "0" full of zeros on a host without any."""
    bundle = training()
    assert bundle.resources.devices == {}
    assert bundle.resources.gpu_util_pct == MeanStd(0.0, 0.0, None)
    assert bundle.resources.gpu_mem_gb == MeanStd(0.0, 0.0, 0.0)
    assert bundle.hardware.gpu_devices == []
    assert extra_of(bundle)["gpu_measured"] is False
    assert "not_reached" not in extra_of(bundle)


def gpu_run(device: str = "cuda:1", cuda_devices: list[dict[str, Any]] | None = None) -> list[Event]:
    """NVML sees A, then B and a third one; the worker sees B, then A, and calls them without a prefix."""
    gpus = {
        "GPU-aaaa": {"util_pct": 80.0, "mem_gb": 10.0},
        "GPU-bbbb": {"util_pct": 5.0, "mem_gb": 1.0},
        "GPU-cccc": {"util_pct": 50.0, "mem_gb": 5.0},
    }
    visible = cuda_devices if cuda_devices is not None else [GPU_B | {"uuid": "bbbb"}, GPU_A | {"uuid": "aaaa"}]
    events = replaced(RUNS["training"], WorkerFacts, device=device, cuda_devices=visible)
    return replaced(events, ResourceSample, gpus=gpus)


def test_gpus_are_matched_by_uuid_and_keep_the_workers_own_numbering() -> None:
    bundle = training(gpu_run())
    assert {key: device.util_pct.mean for key, device in bundle.resources.devices.items()} == {"0": 5.0, "1": 80.0}
    assert bundle.resources.gpu_util_pct == MeanStd(80.0, 0.0, None)
    assert bundle.resources.gpu_mem_gb == MeanStd(10.0, 0.0, 10.0)
    assert bundle.hardware.gpu_devices == [GpuDeviceInfo("Card B", 24.0, "8.6"), GpuDeviceInfo("Card A", 80.0, "9.0")]
    assert extra_of(bundle)["gpu_measured"] is True
    assert training(gpu_run("cuda")).resources.gpu_util_pct.mean == 5.0


def test_a_gpu_that_could_not_be_measured_is_not_reported_as_idle() -> None:
    bundle = training(gpu_run("cuda:0", [GPU_A | {"uuid": "GPU-dddd"}]))
    assert bundle.resources.devices == {}
    assert extra_of(bundle)["gpu_measured"] is False


def test_a_cpu_run_on_a_host_with_gpus_claims_none_of_them_but_lists_them() -> None:
    listed = [{"name": "Card A", "mem_gb": 80.0, "compute_cap": "9.0"}]
    events = gpu_run("cpu", [])
    hardware = next(event.hardware for event in events if isinstance(event, HostFacts)) | {"gpu_devices": listed}
    bundle = training(replaced(events, HostFacts, hardware=hardware))
    assert bundle.hardware.gpu_devices == [GpuDeviceInfo("Card A", 80.0, "9.0")]
    assert bundle.resources.devices == {}
    assert extra_of(bundle)["gpu_measured"] is False


# ---------------------------------------------------------------- purity


@pytest.mark.parametrize("workflow", RUNS)
def test_the_same_events_give_the_same_bundle_in_any_order_and_are_not_changed(workflow: str) -> None:
    events = list(RUNS[workflow])
    assert build_bundle(iter(events)) == build_bundle(RUNS[workflow])
    assert events == RUNS[workflow]
    halves = (
        [e for e in events if e.kind in ("finished", "iteration")],
        [e for e in events if e.kind not in ("finished", "iteration")],
    )
    assert build_bundle([*halves[1], *halves[0]]) == build_bundle(events)


def test_a_run_that_was_never_planned_has_no_bundle() -> None:
    assert build_bundle([]) is None
    assert build_bundle([event for event in play_work() if isinstance(event, Finished)]) is None


def test_samples_alone_do_not_matter_to_the_rates() -> None:
    bare = [event for event in RUNS["training"] if event.kind != "resource_sample"]
    assert training([*bare, *samples(count=1)]).runtime == training().runtime
