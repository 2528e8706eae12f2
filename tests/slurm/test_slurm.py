"""Sweeps on a real SLURM: jobs that fail, are preempted, run out of time, or die with their node.

`make test-slurm` starts the cluster, runs these, and stops it again.
"""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pytest

from benchmark_app.launch.slurm import accounting
from tests.conftest import App
from tests.launchers.matrix import (
    Sweep,
    check_that_resuming_runs_the_failed_ones_alone,
    check_that_the_others_complete,
)

pytestmark = pytest.mark.slurm

# Long enough to be interrupted, short enough to be continued to its end.
TRAINING = ("workflow=training", "agent.iterations=120", "training.checkpoint_interval=10", "num_envs=8")
STEP_S = 0.1


@pytest.fixture
def sweep(app, cluster):
    return lambda *settings, **options: Sweep(app, "slurm", *settings, **options)


def wait_for(what, found, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.1)
    return value


def begun(sweep, text='"index":12,'):
    """The attempt whose worker has come so far, once there is one."""
    for journal in sweep.folder.glob("*/attempt-*/journal/training.worker.jsonl"):
        if text in journal.read_text():
            return journal.parent.parent
    return None


def finish(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out + err


class Started:
    """Sweeps in folders of their own, each of one job: they go on side by side."""

    def __init__(self, tmp_path_factory):
        self._make, self._apps = tmp_path_factory.mktemp, []

    def __call__(self, name, *settings):
        app = App(self._make(name))
        self._apps.append(app)
        sweep = Sweep(app, "slurm", *TRAINING, *settings)
        return sweep, sweep.start(step_s=STEP_S)

    def close(self):
        for app in self._apps:
            app.close()


def ended(sweep, process):
    """Exit status, what was printed, and the bundles of the attempts."""
    code, printed = finish(process)
    return code, printed, [sweep.bundle(attempt) for attempt in sweep.attempts(num_envs=8)]


@pytest.fixture(scope="module")
def started(tmp_path_factory, cluster):
    started = Started(tmp_path_factory)
    yield started
    started.close()


@pytest.fixture(scope="module", autouse=True)
def late(started):
    """A sweep whose job runs out of time while the other tests go on.

    SLURM looks twice a minute and warns up to half a minute early; the training is longer than all of that.
    """
    limit = ("hydra.launcher.timeout_min=1", "hydra.launcher.signal_delay_s=20", "agent.iterations=430")
    return started("late", "run.requeue=true", *limit)


@pytest.fixture(scope="module")
def preempted(started, cluster):
    """How two sweeps end whose jobs are preempted, by their `run.requeue`."""
    sweeps = {requeue: started("preempted", f"run.requeue={requeue}") for requeue in (False, True)}
    for requeue, (sweep, process) in sweeps.items():
        attempt = wait_for("a training", lambda sweep=sweep: begun(sweep), process)
        job = json.loads((attempt / "run.json").read_text())["job"]["slurm.job_id"]
        if requeue:  # when SLURM preempts, SIGTERM comes first, then what submitit asked to be warned by
            cluster.command("scancel", "--signal=TERM", job)
        cluster.command("scancel", "--signal=USR2", job)
    return {requeue: ended(*sweep) for requeue, sweep in sweeps.items()}


def test_a_run_that_fails_stops_no_other_and_resuming_runs_the_failed_ones_alone(sweep):
    sweep = sweep()
    check_that_the_others_complete(sweep)
    check_that_resuming_runs_the_failed_ones_alone(sweep)


def test_a_bundle_names_its_job_and_the_sweep_tells_what_the_accounting_says(sweep, cluster):
    sweep = sweep("num_envs=8", "workflow=training", "agent.iterations=3", "hydra.launcher.gpus_per_node=1")
    code, printed = sweep.run(fault="env@1")
    assert code == 0, printed
    (attempt,) = sweep.attempts(num_envs=8)
    extra = sweep.bundle(attempt).extra
    assert extra["slurm.node"] == cluster.command("sinfo", "-h", "-N", "-o", "%N").split()[0]
    assert extra["slurm.partition"] == "main"
    assert "gres/gpu=1" in extra["slurm.allocation"]
    assert extra["slurm.time_limit"] == "01:00:00"
    job = sweep.entry(num_envs=8)["job"]
    assert job["JobID"] == extra["slurm.job_id"]
    assert job["State"] == "COMPLETED"
    assert accounting([extra["slurm.job_id"]])[extra["slurm.job_id"]]["End"] == job["End"]
    # The worker sees what it was given, and takes no task of the job for a rank of its own.
    seen = json.loads((attempt / "logs" / "environment.json").read_text())
    assert "SLURM_JOB_ID" in seen
    assert not {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_LOCALID", "SLURM_STEP_ID"} & set(seen)
    assert not [name for name in seen if name.startswith(("PMI", "SLURM_STEP"))]


def test_a_preempted_job_is_interrupted_with_its_bundle(preempted):
    code, printed, bundles = preempted[False]
    assert code == 1, printed
    (bundle,) = bundles
    assert bundle.run.status == "interrupted"
    assert bundle.extra["reason"] == "stopped by SIGUSR2"


def test_a_preempted_job_is_queued_again_and_continues_the_training(preempted):
    code, printed, bundles = preempted[True]
    assert code == 0, printed
    first, second = bundles
    assert (first.run.status, second.run.status) == ("interrupted", "completed")
    assert (first.extra["interruptions"], second.extra["interruptions"]) == (0, 1)
    assert second.extra["slurm.restarts"] == 1
    assert second.extra["slurm.job_id"] == first.extra["slurm.job_id"]
    assert second.extra["resumed_iterations"] == first.runtime.iterations_completed >= 13
    assert second.runtime.iterations_completed == 120 - second.extra["resumed_iterations"]


def test_a_job_whose_time_is_nearly_over_is_interrupted_and_continues_in_another(late):
    code, printed, bundles = ended(*late)
    assert code == 0, printed
    *earlier, last = bundles
    assert {bundle.run.status for bundle in earlier} == {"interrupted"}
    assert {bundle.extra["reason"] for bundle in earlier} == {"stopped by SIGUSR2"}
    assert last.run.status == "completed"
    assert last.extra["interruptions"] == len(earlier) >= 1
    assert sum(bundle.runtime.iterations_completed for bundle in bundles) == 430


def test_a_run_that_died_with_its_node_is_found_rebuilt_and_continued(sweep, cluster):
    sweep = sweep(*TRAINING, "run.requeue=true")
    process = sweep.start(step_s=STEP_S)
    attempt = wait_for("a training", lambda: begun(sweep), process)
    kill_the_node(cluster, attempt)
    _, shown, _ = sweep.app.run("status", str(sweep.folder), run_dir=False)
    assert "lost" in shown
    code, told, _ = sweep.app.run("recover", str(attempt), run_dir=False)
    assert code == 0, told
    bundle = sweep.bundle(attempt)
    assert bundle.run.status == "crashed"
    assert bundle.runtime.iterations_completed >= 13
    cluster.start_node()  # SLURM finds the job gone, and starts it again
    code, printed = finish(process)
    assert code == 0, printed
    first, second = map(sweep.bundle, sweep.attempts(num_envs=8))
    assert second.run.status == "completed"
    assert second.extra["interruptions"] == 1
    assert second.extra["resumed_iterations"] >= 10
    assert second.runtime.iterations_completed == 120 - second.extra["resumed_iterations"]
    assert first.run.status == "crashed"


def kill_the_node(cluster, attempt):
    """End at once whatever runs on the node, its daemon first."""
    cluster.end("slurmd", signal.SIGKILL)
    conf = f"SLURM_CONF={cluster.environment['SLURM_CONF']}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            environment = path.read_bytes().split(b"\0")
            if conf in environment and any(entry.startswith(b"SLURM_JOB_ID=") for entry in environment):
                os.kill(int(path.parent.name), signal.SIGKILL)
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() == "slurmstepd" and conf in (path.parent / "environ").read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
