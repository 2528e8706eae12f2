"""What became of a run is read from its folder: nothing half-done counts as done, nobody alive as gone."""

import fcntl
import json
import os
import socket
import time

import pytest

from benchmark_app.launch.heartbeat import FILE as HEARTBEAT
from benchmark_app.launch.heartbeat import STALE_S, Heartbeat, last_beat
from benchmark_app.launch.recover import recover
from benchmark_app.sweep.live import progress_of
from benchmark_app.sweep.state import settle, state_of_case, state_of_run


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "case" / "attempt-1"
    folder.mkdir(parents=True)
    (folder / "run.lock").touch()
    return folder


def say(run, **manifest):
    (run / "run.json").write_text(
        json.dumps({"status": "running", "planned": ["training"], "workflows": {}, **manifest})
    )


def beat_from(run, host, age_s):
    path = run / HEARTBEAT
    path.write_text(json.dumps({"host": host, "pid": 17}))
    os.utime(path, (time.time() - age_s, time.time() - age_s))


def test_a_case_without_an_attempt_is_planned(tmp_path):
    assert state_of_case(tmp_path / "nothing").status == "planned"


def test_a_run_whose_lock_is_held_is_running_whatever_its_files_say(run):
    say(run, status="completed")
    with (run / "run.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert state_of_run(run).status == "running"
    assert state_of_run(run).status == "completed"


def test_a_run_on_another_machine_lives_for_as_long_as_it_gives_signs_of_life(run, capsys):
    say(run)
    beat_from(run, "elsewhere", 5)
    state = state_of_run(run)
    assert (state.status, state.beat.host, state.beat.pid) == ("running", "elsewhere", 17)
    assert recover(run) == 2
    assert "the run still goes on (on elsewhere, process 17)" in capsys.readouterr().err
    beat_from(run, "elsewhere", STALE_S + 5)
    assert state_of_run(run).status == "lost"
    assert "process 17 on elsewhere" in state_of_run(run).reason


def test_a_sign_of_life_of_this_machine_counts_for_nothing_without_the_lock(run):
    say(run)
    beat_from(run, socket.gethostname(), 0)
    assert state_of_run(run).status == "lost"


def test_a_heartbeat_is_there_while_the_work_goes_on_and_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark_app.launch.heartbeat.PERIOD_S", 0.02)
    with Heartbeat(tmp_path):
        first = (tmp_path / HEARTBEAT).stat().st_mtime_ns
        deadline = time.monotonic() + 10
        while (tmp_path / HEARTBEAT).stat().st_mtime_ns == first:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert last_beat(tmp_path).pid == os.getpid()
    assert last_beat(tmp_path) is None


@pytest.mark.parametrize("manifest", [None, "", '{"status": "comp', '{"status": "running"}', "[]"])
def test_what_nobody_closed_is_lost_and_crashed_once_it_is_settled(run, manifest):
    if manifest is not None:
        (run / "run.json").write_text(manifest)
    assert state_of_run(run).status == "lost"
    settle(run)
    assert state_of_run(run).status == "crashed"


def test_an_attempt_that_never_began_is_crashed_once_it_is_settled(run):
    (run / "run.lock").unlink()
    settle(run)
    state = state_of_run(run)
    assert (state.status, state.reason) == ("crashed", "its process ended before it began")


def test_results_that_could_not_be_written_are_no_success(run):
    say(run, status="completed", workflows={"training": {"status": "completed", "lost": "training.json: no space"}})
    state = state_of_run(run)
    assert (state.status, state.reason) == ("crashed", "training.json: no space")


def test_of_a_failed_run_the_workflow_the_reason_and_the_end_of_its_log_are_told(run):
    (run / "logs").mkdir()
    (run / "logs" / "play.log").write_text("".join(f"line {index}\n\n" for index in range(9000)))
    good = {"status": "completed", "reason": "", "log": "logs/training.log"}
    bad = {"status": "crashed", "reason": "killed by SIGKILL", "log": "logs/play.log"}
    say(run, status="crashed", workflows={"training": good, "play": bad})
    state = state_of_run(run)
    assert state.reason == "play: killed by SIGKILL"
    assert state.log == [f"line {index}" for index in range(8995, 9000)]


def test_the_newest_attempt_counts_by_number_not_by_name(run):
    say(run, status="completed")
    for number in (2, 10):
        other = run.parent / f"attempt-{number}"
        other.mkdir()
        say(other, status="crashed" if number == 10 else "completed")
    state = state_of_case(run.parent)
    assert (state.status, state.attempts, state.run.name) == ("crashed", 3, "attempt-10")


def test_the_rate_of_a_running_training_comes_from_the_end_of_its_journal(run):
    (run / "journal").mkdir()
    plan = {"kind": "run_planned", "max_iterations": 5000, "num_envs": 4}
    (run / "journal" / "training.supervisor.jsonl").write_text(json.dumps(plan) + "\n")
    lines = [
        json.dumps({"kind": "iteration", "t": index / (10 if index < 2000 else 20), "index": index, "frames": 50})
        for index in range(4000)
    ]
    (run / "journal" / "training.worker.jsonl").write_text("\n".join(lines) + '\n{"kind": "iterat')
    progress = progress_of(run)
    assert (progress.workflow, progress.done, progress.total) == ("training", 4000, 5000)
    assert progress.steps_per_s == pytest.approx(1000)
    assert str(progress) == "training 4000/5000, 1,000 steps/s"
