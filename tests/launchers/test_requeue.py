"""A scheduler's warning: the run ends with its results, and under run.requeue=true goes on from its last checkpoint."""

import json
import os
import signal
import time
from types import SimpleNamespace

import psutil
import pytest

from benchmark_app.launch.process import worker_environment
from benchmark_app.launch.slurm import accounting, job_facts
from benchmark_app.sweep.requeue import continued
from tests.launchers.matrix import Sweep

LONG = ("agent.iterations=100000", "workflow=training")


def test_a_warning_after_sigterm_does_not_hurry_the_worker(app):
    process = app.synthetic(*LONG, "run.grace_s=2", fault="hang@3")
    app.wait_for_event("training", '"index":2', process)
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)  # of two that wait, the kernel would deliver the lower number first
    process.send_signal(signal.SIGUSR2)
    process.communicate(timeout=30)
    assert time.monotonic() - begin > 1.8
    assert process.returncode == 143


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2])
def test_what_slurm_sends_to_every_process_of_a_job_ends_the_run_with_its_results(app, number):
    process = app.synthetic(*LONG)
    app.wait_for_event("training", '"index":3', process)
    os.kill(app.worker_pid("training"), number)
    time.sleep(0.3)
    os.kill(process.pid, number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    bundle = app.bundle("training")
    assert bundle.run.status == "interrupted"
    assert bundle.extra["reason"] == f"stopped by {number.name}"
    assert bundle.checkpoint_path is not None  # the worker stopped by itself, asked by the supervisor


def test_a_worker_takes_no_task_of_a_job_for_a_rank(monkeypatch):
    dropped = ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE", "SLURM_LOCALID", "SLURM_STEP_ID", "PMI_RANK"]
    dropped += ["PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "RANK", "WORLD_SIZE", "SLURM_SRUN_COMM_PORT", "SLURM_GTIDS"]
    kept = ["SLURM_JOB_ID", "SLURM_TMPDIR", "SLURM_CPUS_ON_NODE", "CUDA_VISIBLE_DEVICES"]
    for name in dropped + kept:
        monkeypatch.setenv(name, "1")
    seen = worker_environment(SimpleNamespace(threads=1, kernel_cache=None))
    assert not set(dropped) & set(seen)
    assert set(kept) <= set(seen)


def test_a_job_of_submitits_is_started_again_and_continues_the_training(app):
    pytest.importorskip("submitit")
    settings = ("workflow=training", "agent.iterations=60", "training.checkpoint_interval=10", "num_envs=8")
    sweep = Sweep(app, "slurm_local", *settings, "run.requeue=true")
    process = sweep.start(step_s=0.1)
    job = supervisor(sweep, process)
    os.kill(job, signal.SIGUSR2)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    first, second = map(sweep.bundle, sweep.attempts(num_envs=8))
    assert (first.run.status, second.run.status) == ("interrupted", "completed")
    assert second.extra["interruptions"] == 1
    assert second.extra["resumed_iterations"] == first.runtime.iterations_completed >= 6
    assert second.runtime.iterations_completed == 60 - second.extra["resumed_iterations"]


def supervisor(sweep, process):
    """Process id of the job that runs the training of a sweep, once it is under way."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        for journal in sweep.folder.glob("*/attempt-1/journal/training.worker.jsonl"):
            if '"index":5,' in journal.read_text():
                events = map(json.loads, journal.with_name("training.supervisor.jsonl").read_text().splitlines())
                (spawned,) = [event for event in events if event["kind"] == "worker_spawned"]
                return psutil.Process(spawned["pid"]).ppid()
        time.sleep(0.05)
    raise AssertionError("no training began")


def attempt(folder, checkpoints, status="interrupted"):
    """The folder of an attempt that saved checkpoints after so many iterations."""
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"status": status, "workflows": {}}))
    for done in checkpoints:
        path = folder / "checkpoints" / f"iteration_{done}.pt"
        path.write_text("policy")
        card = {"framework": "rsl_rl", "task": "cartpole", "iteration": done}
        path.with_name(f"{path.name}.json").write_text(json.dumps(card))
    return folder


def settings_of(app, *arguments):
    from benchmark_app.settings import Settings

    assert app.status("workflow=training", "agent.iterations=100", "run.requeue=true", fault="raise@-1") == 1
    spec = json.loads((app.run_dir / "journal" / "training.spec.json").read_text())
    return Settings.from_plain(spec["settings"])


def test_the_newest_checkpoint_that_leaves_something_to_measure_is_continued(app, tmp_path):
    settings = settings_of(app)
    earlier = [attempt(tmp_path / "a1", [50, 70]), attempt(tmp_path / "a2", [60, 98, 100])]
    (tmp_path / "a2" / "checkpoints" / "iteration_90.pt.json").write_text("{}")  # damaged: no card
    chosen, facts = continued(settings, earlier)
    # 98 of 100 leave only the two iterations of the warm-up.
    assert chosen.checkpoint == str(tmp_path / "a1" / "checkpoints" / "iteration_70.pt")
    assert facts == {"attempt": 3, "interruptions": 2}
    settings.run.requeue = False
    assert continued(settings, earlier) == (settings, {"attempt": 3, "interruptions": 2})
    settings.run.requeue = True
    assert continued(settings, []) == (settings, {"attempt": 1, "interruptions": 0})


def test_without_slurm_there_are_no_facts_of_a_job(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PATH", "")
    job_facts.cache_clear()
    assert job_facts() == {}
    assert accounting(["1"]) == {}
    # Inside a job on a node without SLURM's commands, what the environment says is still known.
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "6")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "4")
    for name in ("SLURMD_NODENAME", "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION", "SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SLURM_JOB_GPUS", raising=False)
    job_facts.cache_clear()
    assert job_facts() == {"slurm.job_id": "6_3", "slurm.restarts": 0, "slurm.cpus": 4}
    job_facts.cache_clear()
