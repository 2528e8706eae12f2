"""Several ranks that train one policy: started together, reported by rank 0, ended by the first that fails.

The library is the tiny one of tests/doubles, whose ranks meet over gloo; those of the real ones need CUDA.
"""

import json
import os
import re
import signal
import time

import pytest

from benchmark_app.bundle.build import run_status
from benchmark_app.bundle.ranks import of_rank
from benchmark_app.journal.events import (
    Extra,
    Failed,
    Finished,
    Iteration,
    LoopStarted,
    RunClosed,
    RunPlanned,
    WorkerExited,
    WorkerSpawned,
)
from benchmark_app.launch.process import worker_environment
from benchmark_app.launch.ranks import rank_environment
from tests.conftest import ROOT

DOUBLES = ROOT / "tests" / "doubles"
IMPORTABLE = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(DOUBLES)])}
TINY = ("--config-dir", str(DOUBLES / "fifth"), "framework=tiny", "device=cpu", "num_envs=8", "workflow=training")


def start(app, *settings):
    return app.start(*TINY, "distributed.nproc=2", *settings, env=IMPORTABLE)


def pids(app):
    """Process ids of both ranks, which the supervisor started side by side."""
    found = []
    for rank in ("", ".rank1"):
        spec = str(app.run_dir / "journal" / f"training{rank}.spec.json")
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with open(f"/proc/{entry.name}/cmdline", "rb") as file:
                    if spec.encode() in file.read().split(b"\0"):
                        found.append(int(entry.name))
    return found


@pytest.mark.engine
def test_two_ranks_train_one_policy_which_rank_0_reports_and_saves(app):
    _, err = start(
        app, "agent.iterations=4", "workflow=all", "workflow.steps=[training,play]", "play.episodes=4"
    ).communicate()
    assert app.manifest()["status"] == "completed", err
    training, play = app.bundle("training"), app.bundle("play")
    told = {"distributed": True, "world_size": 2, "num_envs_per_rank": 8, "workload_scope": "global"}
    assert told.items() <= training.extra.items()
    assert training.run.num_envs == 16
    assert training.runtime.steps_per_iteration == 2 * 8 * 16
    assert training.runtime.iterations_completed == 4
    assert play.run.num_envs == 8
    assert "world_size" not in play.extra
    assert len(list((app.run_dir / "checkpoints").glob("policy.pt"))) == 1
    other = (app.run_dir / "journal" / "training.worker.rank1.jsonl").read_text()
    assert other.count('"kind":"iteration"') == 4
    first = re.findall(r'"reward":(\S+?),', (app.run_dir / "journal" / "training.worker.jsonl").read_text())
    assert first != re.findall(r'"reward":(\S+?),', other)  # they play other episodes
    app.assert_clean()


@pytest.mark.engine
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_ends_all_with_its_own_reason(app, rank):
    process = start(app, "agent.iterations=100000")
    app.wait_for_event("training", '"index":3,', process)
    os.kill(pids(app)[rank], signal.SIGKILL)
    process.communicate(timeout=30)
    bundle = app.bundle("training")
    assert process.returncode == 1
    assert bundle.run.status == "crashed"
    assert bundle.extra["reason"] == f"rank {rank}: the worker was killed by SIGKILL before it finished its work"
    app.assert_clean()


@pytest.mark.engine
def test_asked_to_stop_all_ranks_stop_after_the_same_iteration(app):
    process = start(app, "agent.iterations=100000", "run.grace_s=30")
    app.wait_for_event("training", '"index":3,', process)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - begun < 20
    assert app.bundle("training").run.status == "interrupted"
    assert (app.run_dir / "checkpoints" / "policy.pt").is_file()
    counts = [
        (app.run_dir / "journal" / f"training.worker{rank}.jsonl").read_text().count('"kind":"iteration"')
        for rank in ("", ".rank1")
    ]
    assert counts[0] == counts[1]
    app.assert_clean()


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        (["framework=rsl_rl", "device=cpu"], "distributed.nproc=2: rsl_rl connects its ranks by NCCL"),
        (["framework=skrl", "device=cuda:1"], "distributed.nproc=2: rank r takes device cuda:r; set device=cuda"),
        (["framework=sb3"], "distributed.nproc=2: sb3 cannot train ppo on several ranks; set distributed.nproc=1"),
        (["workflow=runtime"], "distributed.nproc=2: only training has ranks, workflow=runtime does not train"),
        (["distributed.nproc=0"], "distributed.nproc=0: must be at least 1"),
        (["worker.debug=true"], "worker.debug=true attaches one process"),
    ],
)
def test_ranks_that_cannot_be_are_refused_by_name(app, settings, refusal):
    code, _, err = app.run("distributed.nproc=2", "workflow=training", *settings)
    assert code == 2
    assert refusal in err
    assert not app.run_dir.exists()


@pytest.mark.parametrize("variable", ["SLURM_JOB_NUM_NODES", "SLURM_NNODES"])
def test_several_nodes_are_refused_by_name(app, variable):
    code, _, err = app.run(*TINY, "distributed.nproc=2", env=IMPORTABLE | {variable: "3"})
    assert code == 2
    assert f"ranks on several nodes are not supported ({variable}=3)" in err


def test_a_single_process_never_sees_a_launcher_s_ranks(monkeypatch):
    for name, value in rank_environment(1, 4, 1234).items():
        monkeypatch.setenv(name, value)
    left = worker_environment_of(threads=1)
    assert not set(rank_environment(0, 2, 1)) & set(left)


def worker_environment_of(threads):
    class Settings:
        kernel_cache = None

    Settings.threads = threads
    return worker_environment(Settings)


def ended(*extra):
    plan = RunPlanned(
        t=0.0,
        run_id="r",
        workflow="training",
        framework="tiny",
        physics="newton_mjwarp",
        rendering="none",
        task="T-v0",
        seed=1,
        num_envs=16,
        max_iterations=4,
        presets=[],
        start_time_utc="2026-01-01T00:00:00+00:00",
    )
    begun = [
        WorkerSpawned(t=1.0, pid=1, command=[], log=""),
        LoopStarted(t=2.0, steps_per_iteration=1, warmup_iterations=0),
    ]
    return run_status([plan, *begun, *extra, RunClosed(t=99.0, end_time_utc="")])


def test_the_first_exception_among_ranks_is_the_reason_not_the_lost_connection_it_caused():
    outcome = ended(
        Failed(t=10.0, error="ValueError: bad reward", rank=1),
        Failed(t=10.1, error="RuntimeError: Connection closed by peer", rank=0),
        WorkerExited(t=11.0, exit_code=1, rank=1),
        WorkerExited(t=11.0, exit_code=1, rank=0),
    )
    assert outcome.status == "crashed"
    assert outcome.reason == "rank 1: ValueError: bad reward"


def test_a_rank_that_leaves_without_a_word_is_the_reason():
    outcome = ended(
        Failed(t=10.1, error="RuntimeError: Connection closed by peer", rank=0),
        WorkerExited(t=11.0, exit_code=0, rank=1),
        WorkerExited(t=11.0, exit_code=1, rank=0),
    )
    assert outcome.reason == "rank 1: the worker exited with status 0 before it finished its work"


def test_a_rank_that_finished_is_no_reason_and_does_not_finish_the_run():
    finished = of_rank([Finished(t=9.0, outcome="budget")], 1)
    outcome = ended(
        *finished,
        Failed(t=10.0, error="OSError: disk full", rank=0),
        WorkerExited(t=11.0, exit_code=0, rank=1),
        WorkerExited(t=11.0, exit_code=1, rank=0),
    )
    assert outcome.status == "crashed"
    assert outcome.reason == "rank 0: OSError: disk full"


def test_of_another_rank_s_journal_only_its_end_and_its_warnings_count():
    iteration = json.loads(
        '{"index":0,"frames":1,"iteration_s":1,"collection_s":1,"learning_s":0,"hook_s":0,"env_step_s":[],'
        '"episodes":0,"reward":null,"ep_length":null,"success_rate":null}'
    )
    kept = of_rank(
        [Iteration(t=1.0, **iteration), Extra(t=2.0, values={"engine_warnings.overflow": 3, "threads": 1})], 2
    )
    assert [event.values for event in kept] == [{"rank2.engine_warnings.overflow": 3}]
