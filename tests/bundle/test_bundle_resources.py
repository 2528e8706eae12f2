"""Peaks of memory, shares of GPUs, energy and conditions in bundles, from the events alone."""

import dataclasses

import pytest

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.conditions import build_conditions
from benchmark_app.journal.events import Conditions, ResourceSample, WorkerExited
from tests.bundle.bundle_events import GPU_A, GPU_B, facts, run, training_work


def events(samples=(), exited=None, device="cpu", cuda=(), more=()):
    """A training whose measured part lasts from 105 to 109 s, 32 frames, with these samples in place of the usual."""
    work = [event for event in training_work() if event.kind != "worker_facts"]
    whole = run([*work, facts(device=device, cuda_devices=list(cuda)), *more])
    kept = [event for event in whole if not isinstance(event, ResourceSample)]
    if exited is not None:
        kept = [dataclasses.replace(event, **exited) if isinstance(event, WorkerExited) else event for event in kept]
    return [*kept, *samples]


def sample(t, ram=1.0, **more):
    return ResourceSample(t=t, cpu_pct=90.0, ram_gb=ram, **more)


def test_a_spike_between_two_samples_is_the_peak_and_leaves_the_mean_alone():
    bundle = build_bundle(events([sample(106.0), sample(107.0, ram_peak_gb=3.0), sample(108.0)]))
    assert (bundle.resources.ram_gb.mean, bundle.resources.ram_gb.peak) == (1.0, 3.0)
    assert bundle.extra["ram_peak_source"] == "high_water"


def test_a_sample_counts_by_as_much_of_its_time_as_lies_in_the_measured_part():
    """It lasts from 105 to 109; of the two seconds before 106 one is in it, of the four before 111 two."""
    samples = [
        dataclasses.replace(sample(t), cpu_pct=load)
        for t, load in ((104.0, 999.0), (106.0, 10.0), (107.0, 40.0), (111.0, 100.0))
    ]
    assert build_bundle(events(samples)).resources.cpu_util_pct.mean == pytest.approx((10 + 40 + 2 * 100) / 4)


def test_a_spike_after_the_last_sample_is_known_from_the_end_of_the_worker():
    bundle = build_bundle(events([sample(106.0, ram_peak_gb=1.0)], exited={"ram_peak_gb": 4.0, "cpu_s": 2.5}))
    assert bundle.resources.ram_gb.peak == 4.0
    assert bundle.extra["worker_cpu_s"] == 2.5


def test_the_control_group_s_own_mark_goes_before_those_of_processes():
    exited = {"ram_peak_gb": 4.0, "group_peak_gb": 2.0}
    bundle = build_bundle(events([sample(106.0, ram_peak_gb=1.0)], exited=exited))
    assert bundle.resources.ram_gb.peak == 2.0
    assert bundle.extra["ram_peak_source"] == "cgroup"


def test_without_marks_the_peak_is_the_largest_sample_and_says_so():
    bundle = build_bundle(events([sample(106.0), sample(107.0, ram=2.0)]))
    assert bundle.resources.ram_gb.peak == 2.0
    assert bundle.extra["ram_peak_source"] == "samples"


def test_a_worker_killed_for_want_of_memory_says_so_in_its_reason():
    told = "the kernel ended it because its control group was out of memory"
    work = [event for event in events(exited={"exit_code": -9, "out_of_memory": told}) if event.kind != "finished"]
    assert build_bundle(work).extra["reason"] == (
        f"the worker was killed by SIGKILL before it finished its work: {told}"
    )


def test_the_share_of_the_run_is_that_of_the_gpu_it_used():
    gpus = {
        GPU_A["uuid"]: {"util_pct": 50.0, "mem_gb": 10.0, "process_mem_gb": 9.0},
        GPU_B["uuid"]: {"util_pct": 5.0, "mem_gb": 2.0, "process_mem_gb": 1.5, "process_util_pct": 4.0},
    }
    bundle = build_bundle(events([sample(106.0, gpus=gpus)], device="cuda:1", cuda=[GPU_A, GPU_B]))
    assert bundle.resources.gpu_util_pct.mean == 5.0
    assert bundle.extra["gpu_process_mem_peak_gb"] == 1.5
    assert bundle.extra["gpu_process_util_pct"] == 4.0


def test_a_part_of_a_divided_gpu_has_memory_and_no_load_that_is_known():
    part = {**GPU_A, "uuid": "GPU-1111"}  # torch's name of it
    gpus = {"MIG-1111": {"mem_gb": 2.0}}
    bundle = build_bundle(events([sample(106.0, gpus=gpus)], device="cuda:0", cuda=[part]))
    assert bundle.resources.gpu_mem_gb.peak == 2.0
    assert bundle.resources.devices["0"].util_pct.mean == 0.0
    assert {"resources.gpu_util_pct", "resources.devices.0.util_pct"} <= set(bundle.extra["not_reached"].split(","))
    assert "gpu_process_mem_peak_gb" not in bundle.extra


# ---------------------------------------------------------------- energy


def test_energy_of_the_measured_part_is_read_between_its_edges():
    """10 W from 100 to 112 s; the measured part has 4 s and 32 frames."""
    samples = [sample(t + 0.25, cpu_energy_j=10.0 * (t - 100)) for t in range(100, 112)]
    extra = build_bundle(events(samples)).extra
    assert extra["energy_cpu_j"] == extra["energy_j"] == pytest.approx(40.0)
    assert extra["energy_per_million_steps_j"] == pytest.approx(40.0 / 32 * 1e6)
    assert "energy_gpu_j" not in extra


def test_energy_of_processor_and_gpu_add_up():
    gpus = [{GPU_A["uuid"]: {"mem_gb": 1.0, "util_pct": 1.0, "energy_j": 5000.0 + 100.0 * t}} for t in range(12)]
    samples = [sample(100.0 + t, cpu_energy_j=10.0 * t, gpus=gpus[t]) for t in range(12)]
    extra = build_bundle(events(samples, device="cuda:0", cuda=[GPU_A])).extra
    assert extra["energy_gpu_j"] == pytest.approx(400.0)
    assert extra["energy_j"] == pytest.approx(440.0)


def test_edges_without_a_reading_take_the_mean_power_of_the_rest():
    samples = [sample(106.0, cpu_energy_j=5.0), sample(108.0, cpu_energy_j=25.0)]
    assert build_bundle(events(samples)).extra["energy_cpu_j"] == pytest.approx(40.0)


@pytest.mark.parametrize(
    "readings",
    [[], [(106.0, 5.0)], [(106.0, 5.0), (108.0, 1.0)], [(101.0, 5.0), (102.0, 9.0)]],
    ids=["none", "one", "a counter that begins anew", "before the measured part only"],
)
def test_energy_that_is_not_known_has_no_key(readings):
    extra = build_bundle(events([sample(t, cpu_energy_j=joules) for t, joules in readings] or [sample(106.0)])).extra
    assert not [name for name in extra if name.startswith("energy")]


# ---------------------------------------------------------------- conditions


def test_readings_of_one_end_complete_each_other_and_unknown_has_no_key():
    host = {"cpu": {"load_1m": 0.5, "governor": None, "usable": 2}, "platform": {"clock_source": "tsc"}}
    card = {"uuid": "GPU-a", "power_limit_w": 400.0, "ecc": True, "mig": None}
    more = [
        Conditions(t=100.05, at="start", reading=host, warnings=["busy"]),
        Conditions(t=101.0, at="start", reading={"gpu_driver": "570", "gpus": [card]}, warnings=["hot"]),
        Conditions(
            t=109.5, at="end", reading=host, warnings=["busy"], during={"gpus_slowed": {"GPU-a": {"thermal": 3}}}
        ),
    ]
    every = events([sample(106.0)], more=more)
    found = build_conditions(every)
    assert found["start"]["gpus"] == [card]
    assert found["warnings"] == ["busy", "hot"]
    extra = build_bundle(every).extra
    told = {name.removeprefix("conditions."): value for name, value in extra.items() if name.startswith("conditions.")}
    assert told == {
        "load_1m": 0.5,
        "usable_cores": 2,
        "clock_source": "tsc",
        "gpu_driver": "570",
        "gpu_power_limit_w": 400.0,
        "gpu_ecc": True,
        "gpu_slowed_by": "thermal",
        "warnings": 2,
    }


def test_a_journal_of_an_older_version_knows_nothing_of_conditions():
    assert build_conditions(events()) is None
    assert not [name for name in build_bundle(events()).extra if name.startswith("conditions")]
