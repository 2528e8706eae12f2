"""What a run tells of its machine and of what it used of it, however it ends; the worker is synthetic."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark_app.analysis.report.beside import look_beside
from benchmark_app.launch.recover import rebuild
from tests.conftest import ROOT, App

QUICK = ("agent.iterations=3", "workflow=training")
MIB = 2**20


def conditions(app):
    return json.loads((app.run_dir / "conditions.json").read_text())


def ended(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def test_every_workflow_of_a_run_tells_its_conditions_before_and_after_it(app):
    assert app.status("workflow=all", "agent.iterations=3", "play.episodes=5") == 0
    found = conditions(app)
    assert found["version"] == 1
    assert set(found["workflows"]) == set(found["warnings"]) == {"startup", "runtime", "training", "play"}
    for workflow, told in found["workflows"].items():
        extra = app.bundle(workflow).extra
        assert told["start"]["cpu"]["usable"] == len(os.sched_getaffinity(0)) == extra["conditions.usable_cores"]
        assert told["end"]["memory"]["total_gb"] > 0
        assert told["start"]["others"]["seconds"] >= 0.19
        assert told["during"]["others"]["percent"] == extra["conditions.other_cpu_percent"] >= 0
        assert told["during"]["threads"] == 1 or workflow == "startup"
        assert extra["conditions.warnings"] == len(found["warnings"][workflow])
        assert extra["conditions.load_1m"] >= 0
    # A file that cannot be read is written anew, from the journals.
    (app.run_dir / "conditions.json").write_text('{"version": 1, "warnings": [')
    rebuild(app.run_dir)
    assert conditions(app) == found


def burning(count):
    """Busy loops beside a run."""
    return [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)]


@pytest.fixture
def busy():
    """A busy loop for every core, beside what the test runs."""
    loops = burning(len(os.sched_getaffinity(0)))
    time.sleep(0.2)
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def test_busy_loops_beside_a_run_are_printed_stored_and_shown_by_the_report_and_refused_when_strict(app, busy):
    code, out, err = ended(app.synthetic("agent.iterations=60", "workflow=training"))
    assert code == 0
    before, during = (text for text in conditions(app)["warnings"]["training"] if "busy with other processes" in text)
    assert before.endswith("before the run: timings will be low and noisy")
    assert during.endswith("during the run: timings are low and noisy")
    assert before in err
    assert before in out
    assert during in out
    assert {before, during} <= set(look_beside(app.run_dir / "training.json", "training", "completed", None).conditions)
    assert app.bundle("training").extra["conditions.other_cpu_percent"] > 50
    # strict=true refuses to measure here, in one line, and leaves nothing.
    app.run_dir = app.folder / "strict"
    code, out, err = ended(app.synthetic(*QUICK, "strict=true"))
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("benchmark_app: error: strict=true: ")
    assert "cores were busy with other processes before the run" in line
    assert not app.run_dir.exists()


@pytest.mark.parametrize(
    ("fault", "status"),
    [("raise@1", "crashed"), ("kill@1", "crashed"), ("os_exit@1", "crashed"), ("hang@1", "interrupted")],
)
def test_a_run_that_fails_or_is_stopped_tells_its_conditions_all_the_same(app, fault, status):
    process = app.synthetic("agent.iterations=1000", "workflow=training", "run.grace_s=0.2", fault=fault)
    if status == "interrupted":
        app.wait_for_event("training", '"index":0', process)
        process.send_signal(signal.SIGINT)
    ended(process)
    told = conditions(app)["workflows"]["training"]
    assert app.bundle("training").run.status == status
    assert told["end"]["cpu"]["usable"] == told["start"]["cpu"]["usable"]
    assert told["during"]["seconds"] > 0


def test_a_supervisor_that_was_killed_leaves_what_it_read_before(app):
    process = app.synthetic("agent.iterations=100000", "workflow=training")
    app.wait_for_event("training", '"index":2', process)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 20
    while (app.run_dir / "conditions.json").exists() is False and time.monotonic() < deadline:
        time.sleep(0.1)
        rebuild(app.run_dir)
    told = conditions(app)["workflows"]["training"]
    assert told["start"]["cpu"]["usable"] > 0
    assert told["end"] is told["during"] is None
    assert "conditions.usable_cores" in app.bundle("training").extra


# ---------------------------------------------------------------- what the worker uses


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A run without a fault, for comparison."""
    app = App(tmp_path_factory.mktemp("usual"))
    assert app.status("agent.iterations=20", "workflow=training") == 0
    return app.bundle("training")


def test_a_spike_of_memory_between_samples_is_the_peak_within_five_percent(app, usual):
    arguments = ("agent.iterations=40", "workflow=training", "profiling.sample_period_s=60")
    # What started the supervisor is larger than the spike: the kernel hands its mark down, and it must not hide it.
    program = "import subprocess, sys; held = bytearray(b'x') * 2**29; sys.exit(subprocess.call(sys.argv[1:]))"
    assert app.status(*arguments, fault="spike@20", prefix=(sys.executable, "-S", "-c", program)) == 0
    bundle = app.bundle("training")
    assert bundle.resources.ram_gb.peak == pytest.approx(usual.resources.ram_gb.peak + 400 / 1024, rel=0.05)
    assert bundle.extra["ram_peak_source"] == "high_water"


def test_a_leak_is_the_peak_and_shows_in_the_samples(app, usual):
    arguments = ("agent.iterations=20", "workflow=training", "profiling.sample_period_s=0.05")
    assert app.status(*arguments, fault="leak@0", step_s=0.05) == 0
    memory = app.bundle("training").resources.ram_gb
    assert memory.peak == pytest.approx(usual.resources.ram_gb.peak + 20 * 25 / 1024, rel=0.05)
    assert memory.std > 0.2 * memory.mean  # it grew all the time


@pytest.mark.measure
def test_cpu_time_of_children_the_worker_waited_for_is_the_worker_s(app, usual):
    assert app.status("agent.iterations=20", "workflow=training", fault="burn@1") == 0
    more = app.bundle("training").extra["worker_cpu_s"] - usual.extra["worker_cpu_s"]
    assert more == pytest.approx(0.66, abs=0.2)


@pytest.mark.measure
def test_what_the_worker_and_its_children_burn_is_not_taken_for_the_load_of_others(app):
    """One that is killed with its children cannot collect them; their time must not become somebody else's."""
    program = app.folder / "burning.py"
    program.write_text(
        "import os, runpy, subprocess, sys\n"
        "for _ in range(2):\n"
        "    subprocess.Popen([sys.executable, '-S', '-c', 'while True: pass'])\n"
        f"sys.argv[0] = {str(ROOT / 'tests' / 'doubles' / 'synthetic_worker.py')!r}\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    idle = app.start(f"worker.program={ROOT / 'tests/doubles/synthetic_worker.py'}", "agent.iterations=200", *QUICK[1:])
    ended(idle)
    others = app.bundle("training").extra["conditions.other_cpu_percent"]
    app.run_dir = app.folder / "burning"
    ended(app.start(f"worker.program={program}", "agent.iterations=200", *QUICK[1:], "profiling.sample_period_s=0.1"))
    bundle = app.bundle("training")
    cores = len(os.sched_getaffinity(0))
    assert bundle.extra["conditions.other_cpu_percent"] < max(others, 30) + 25 * cores
    assert bundle.resources.cpu_util_pct.mean > 0.5 * (100 * cores - others)


# ---------------------------------------------------------------- killed for want of memory


@pytest.fixture
def small_group():
    """A control group that allows 200 MiB; where none can be made, the rules' own test with a made tree must do."""
    listed = Path("/proc/self/cgroup").read_text()
    two = Path("/sys/fs/cgroup/cgroup.controllers")
    if two.exists() and "memory" in two.read_text():
        folder, limit = Path("/sys/fs/cgroup/benchmark_app_test"), "memory.max"
    elif ":memory:" in listed:
        folder, limit = Path("/sys/fs/cgroup/memory/benchmark_app_test"), "memory.limit_in_bytes"
    else:
        pytest.skip("no control groups for memory here")
    try:
        folder.mkdir(exist_ok=True)
        (folder / limit).write_text(str(200 * MIB))
    except OSError:
        pytest.skip("control groups cannot be made here")
    yield folder
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def test_a_worker_the_kernel_killed_for_want_of_memory_says_so(app, small_group):
    wrapper = app.folder / "python"
    wrapper.write_text(f'#!/bin/sh\necho $$ > {small_group}/cgroup.procs\nexec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o755)
    code, out, _ = ended(
        app.synthetic(
            "agent.iterations=100",
            QUICK[1],
            "profiling.sample_period_s=0.05",  # it does not live long
            f"worker.python={wrapper}",
            fault="fill@20",
        )
    )
    bundle = app.bundle("training")
    assert code == 1
    assert bundle.run.status == "crashed"
    assert "killed by SIGKILL" in bundle.extra["reason"]
    assert "out of memory" in bundle.extra["reason"]
    assert "out of memory" in out
    # In a group of its own the peak is the group's.
    assert bundle.extra["ram_peak_source"] == "cgroup"
    assert bundle.resources.ram_gb.peak == pytest.approx(200 / 1024, rel=0.05)


# ---------------------------------------------------------------- GPUs, through a double of NVML


@pytest.fixture
def nvml(app):
    """Describe the GPUs there are, for the application only: the worker says what it sees of them."""
    path = app.folder / "nvml.json"

    def describe(devices, **more):
        path.write_text(json.dumps({"devices": devices, **more}))
        return {"FAKE_NVML": str(path), "PYTHONPATH": f"{ROOT / 'tests/doubles/fake_nvml'}:{ROOT}"}

    return describe


def seen(*uuids):
    """Logical devices as a worker's torch lists them."""
    return json.dumps([{"uuid": uuid, "name": "Card", "mem_gb": 80.0, "compute_cap": "9.0"} for uuid in uuids])


CARDS = [
    {"uuid": "GPU-aaaa", "name": "Card", "util": 90, "used_gb": 70, "energy_j": 5.0},
    {"uuid": "GPU-bbbb", "name": "Card", "util": 1, "used_gb": 6, "processes": [["worker", 5.5]], "energy_j": 100.0},
]


def test_the_device_that_was_used_is_measured_by_its_uuid_whatever_number_it_has(app, nvml):
    """As under CUDA_VISIBLE_DEVICES=1, or in an allocation: the worker's device 0 is the second card."""
    env = {**nvml(CARDS), "SYNTHETIC_CUDA": seen("GPU-bbbb")}
    code, _, err = ended(app.synthetic("agent.iterations=80", QUICK[1], "profiling.sample_period_s=0.1", env=env))
    assert code == 0, err
    bundle = app.bundle("training")
    assert list(bundle.resources.devices) == ["0"]
    assert bundle.resources.gpu_util_pct.mean == 1.0
    assert bundle.resources.gpu_mem_gb.peak == 6.0
    assert bundle.extra["gpu_process_mem_peak_gb"] == 5.5
    assert bundle.extra["energy_gpu_j"] == 0.0  # the double's counter stands still, and that is known
    assert bundle.extra["conditions.gpu_driver"] == "570.86.15"
    told = conditions(app)["workflows"]["training"]
    assert [device["uuid"] for device in told["start"]["gpus"]] == ["GPU-bbbb"]  # the busy one is not ours
    assert not any("GPU" in text for text in conditions(app)["warnings"]["training"])


def test_a_busy_gpu_that_vanishes_during_the_run_is_told_twice_and_ends_nothing(app, nvml):
    env = {**nvml(CARDS), "SYNTHETIC_CUDA": seen("GPU-aaaa")}
    process = app.synthetic("agent.iterations=150", QUICK[1], "profiling.sample_period_s=0.1", env=env)
    app.wait_for_event("training", '"index":40', process)
    time.sleep(0.3)
    nvml([{**CARDS[0], "lost": True}, CARDS[1]])
    code, out, err = ended(process)
    assert code == 0
    assert app.bundle("training").resources.gpu_mem_gb.peak == 70.0
    assert "the GPU Card was 90 % busy before the run" in err
    assert "the GPU GPU-aaaa stopped answering during the run" in out


def test_a_run_on_the_cpu_asks_no_gpu(app, nvml):
    assert app.status(*QUICK, "device=cpu", env=nvml(CARDS)) == 0
    told = conditions(app)["workflows"]["training"]
    assert "gpus" not in told["start"]
    assert app.bundle("training").extra["gpu_measured"] is False
