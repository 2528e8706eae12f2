"""Sweeps as a person runs them, one run after the other: what goes wrong stops nothing, and nothing done is lost.

`tests/launchers/` repeats the essential cases on every launcher.
"""

import json
import os
import signal
import subprocess
import time

import pytest

from benchmark_app.cli import main
from tests.conftest import SYNTHETIC, alive_in
from tests.sweep.made import record, run_folders, statuses

QUICK = ("workflow=training", "agent.iterations=3")
SWEEP = ("-m", *QUICK, "hydra.sweep.dir=sweep")
RESUME = ("sweep.resume=true", "hydra.sweep.dir=sweep")


@pytest.fixture
def sweep(app):
    return app.folder / "sweep"


@pytest.fixture
def verb(app, monkeypatch, capsys):
    """The command line, in this process: exit status and what was printed."""

    def call(*arguments):
        monkeypatch.chdir(app.folder)
        code = main(list(arguments))
        return (code, *capsys.readouterr())

    return call


@pytest.fixture
def run(verb, monkeypatch):
    """A synthetic sweep, in this process."""

    def call(*arguments, fault=""):
        monkeypatch.setenv("SYNTHETIC", fault)
        monkeypatch.setenv("SYNTHETIC_STEP_S", "0.01")
        return verb(*arguments, f"worker.program={SYNTHETIC}", "run.report=false")

    return call


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def journal_says(sweep, text, attempt="attempt-1"):
    return any(text in path.read_text() for path in sweep.glob(f"*/{attempt}/journal/training.worker.jsonl"))


def test_a_sweep_tells_every_run_and_its_status_reaches_the_shell(sweep, run):
    code, out, err = run(*SWEEP, "seed=1,2,2", "num_envs=4,0", fault="raise@1:seed=2")
    assert code == 1, err
    assert statuses(sweep) == ["completed", "refused", "crashed", "refused"]
    assert "1 completed, 1 crashed, 2 refused" in out or "2 refused, 1 completed, 1 crashed" in out
    assert "RuntimeError: the synthetic task failed" in out
    assert "  | RuntimeError: the synthetic task failed" in out  # the log's last line
    assert out.count("num_envs=0: must be at least 1") == 2
    first = record(sweep)["cases"][0]
    assert first["run"] == f"{first['case']}/attempt-1"
    assert first["numbers"]["training.return"] == 2.0
    assert (sweep / first["run"] / "training.json").is_file()
    assert len(run_folders(sweep)) == len([path for path in sweep.iterdir() if path.is_dir()]) == 2
    assert not alive_in(sweep)


def test_as_many_failures_as_are_allowed_change_no_exit_status(sweep, run):
    fault = {"fault": "raise@1:seed=2"}
    assert run(*SWEEP, "seed=1,2", "sweep.allow_failures=1", **fault)[0] == 0
    assert statuses(sweep) == ["completed", "crashed"]
    assert record(sweep)["status"] == "failed"


def test_a_crash_is_tried_again_as_often_as_was_asked_and_the_newest_attempt_counts(sweep, run):
    code, _, err = run(*SWEEP, "seed=1,2", "run.retries=2", fault="raise@1:seed=2")
    assert code == 1, err
    assert sorted(map(len, run_folders(sweep).values())) == [1, 3]
    assert record(sweep)["cases"][1]["run"].endswith("attempt-3")


def test_ctrl_c_interrupts_the_current_run_and_no_other_starts_and_resuming_does_the_rest(app, sweep, run):
    process = app.synthetic(*SWEEP, "seed=1,2,3", "run.grace_s=0.5", run_dir=False, fault="hang@2:seed=1")
    wait_for(lambda: journal_says(sweep, '"index":1'), process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert statuses(sweep) == ["interrupted", "planned", "planned"]
    assert record(sweep)["status"] == "interrupted"
    (name,) = run_folders(sweep)
    assert json.loads((sweep / name / "attempt-1" / "training.json").read_text())["run"]["status"] == "interrupted"
    assert "stopped by SIGINT" in out
    # What was typed for the sweep is remembered; what is typed now comes on top of it.
    code, out, err = run(*RESUME, "seed=1,2")
    assert code == 0, err
    assert "2 to run" in out
    assert run_folders(sweep)[name] == ["attempt-1", "attempt-2"]
    entries = record(sweep)["cases"]
    assert [(entry["status"], entry["left_out"]) for entry in entries] == [
        ("completed", False),
        ("completed", False),
        ("planned", True),
    ]


def test_a_second_ctrl_c_kills_the_run_and_its_bundle_is_built_all_the_same(app, sweep):
    process = app.synthetic(*SWEEP, "seed=1,2", "run.grace_s=60", run_dir=False, fault="hang@2:seed=1")
    wait_for(lambda: journal_says(sweep, '"index":1'), process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert statuses(sweep) == ["interrupted", "planned"]
    (bundle,) = sweep.glob("*/attempt-1/training.json")
    assert json.loads(bundle.read_text())["runtime"]["iterations_completed"] == 2


def test_after_kill_9_of_everything_nothing_done_is_lost_or_repeated_and_nothing_half_done_counts(
    app, sweep, run, verb
):
    process = app.synthetic(
        *SWEEP, "seed=1,2,3", run_dir=False, fault="hang@1:seed=2", start_new_session=True, step_s=0.01
    )
    wait_for(lambda: len(run_folders(sweep)) == 2 and len([*sweep.glob("*seed2*/*/journal/*worker*")]) == 1, process)
    wait_for(lambda: '"index":0' in next(sweep.glob("*seed2*/*/journal/*worker*")).read_text(), process)
    code, out, _ = verb("status", "sweep")
    assert code == 0
    assert "1 completed, 1 running, 1 planned · sweep running" in out
    assert "training 1/3" in out
    code, _, err = run(*RESUME)
    assert code == 2
    assert f"another sweep is running in it (process {process.pid} on " in err
    assert verb("recover", "sweep")[0] == 2

    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert '"lost": 1' in verb("status", "sweep", "--json")[1]
    assert record(sweep)["cases"][1]["status"] == "running"  # only the folders know better
    code, out, _ = verb("recover", "sweep")
    assert code == 0
    assert "crashed" in out
    assert statuses(sweep) == ["completed", "crashed", "planned"]
    (bundle,) = sweep.glob("*seed2*/attempt-1/training.json")
    assert json.loads(bundle.read_text())["run"]["status"] == "crashed"

    assert run(*RESUME)[0] == 0
    assert statuses(sweep) == ["completed"] * 3
    assert sorted(map(len, run_folders(sweep).values())) == [1, 1, 2]
    assert not alive_in(sweep)


def test_a_folder_that_holds_a_sweep_takes_no_other_one(sweep, run, verb):
    sweep.mkdir()
    (sweep / "sweep.json").write_text("{}")
    code, _, err = run(*SWEEP, "seed=1,2")
    assert code == 2
    assert "already holds a sweep; add sweep.resume=true" in err
    code, _, err = run(*RESUME)
    assert code == 2
    assert "is no record of a sweep" in err
    code, _, err = verb("sweep.resume=true", "hydra.sweep.dir=nowhere")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "holds no sweep to go on with" in err


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(sweep, run):
    code, out, err = run("-m", *QUICK, "seed=1,2", "hydra.sweep.dir=/proc/sweep")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "hydra.sweep.dir=/proc/sweep: cannot be written" in err


def test_foreign_files_odd_characters_and_long_settings_do_no_harm(app, run):
    folder = app.folder / "a, b = 'ü' $(x)"
    rename = ",".join(f"joint_{index}:other_{index}" for index in range(400))
    arguments = ("-m", *QUICK, f"admission.rename={{{rename}}}", "seed=1")
    quoted = str(folder).replace("'", "\\'")
    arguments = (*arguments, f"hydra.sweep.dir='{quoted}'")
    assert run(*arguments)[0] == 0
    (name,) = run_folders(folder)
    foreign = [folder / name / "attempt-2", folder / name / "attempt-9.old", folder / "notes"]
    for path in foreign:
        path.mkdir()
        (path / "run.json").write_text("not ours")
    (folder / name / "attempt-7").write_text("a file")
    code, _, err = run(*arguments, "sweep.resume=true")
    assert code == 0, err
    assert (folder / name / "attempt-8" / "training.json").is_file()
    assert (folder / name / "attempt-7").read_text() == "a file"
    assert {(path / "run.json").read_text() for path in foreign} == {"not ours"}


def test_a_disk_that_fills_up_stops_no_sweep_and_what_is_missing_is_told(sweep, run, verb):
    sweep.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(sweep)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        code, out, err = run(*SWEEP, "seed=1,2,3", fault="bulk@1:seed=2")
        assert code == 1, err
        assert "1 completed" in out
        assert "No space left" in out
        found = [entry["status"] for entry in json.loads(verb("status", "sweep", "--json")[1])["cases"]]
        assert found[0] == "completed"
        assert set(found[1:]) <= {"crashed", "refused"}
    finally:
        subprocess.run(["umount", "-l", str(sweep)], check=True)


def test_a_suite_skips_what_is_not_supported_and_its_runs_are_marked(app, sweep, run, verb):
    suite = app.folder / "mine" / "suite"
    suite.mkdir(parents=True)
    params = {"framework": "rsl_rl,skrl", "agent": "ppo,sac", "sweep.smoke": True, "seed": 3}
    body = "\n".join(f"      {key}: {value}" for key, value in params.items())
    (suite / "pair.yaml").write_text(f"# @package _global_\nhydra:\n  sweeper:\n    params:\n{body}\n")
    mine = ("--config-dir", "mine", "suite=pair")
    code, out, err = run(*mine, *QUICK, "seed=4", "hydra.sweep.dir=sweep")
    assert code == 0, err
    entries = {tuple(entry["overrides"][:2]): entry for entry in record(sweep)["cases"]}
    assert entries["framework=rsl_rl", "agent=sac"]["status"] == "skipped"
    assert "rsl_rl has none (ppo)" in entries["framework=rsl_rl", "agent=sac"]["reason"]
    done = entries["framework=skrl", "agent=ppo"]
    bundle = json.loads((sweep / done["run"] / "training.json").read_text())
    assert bundle["run"]["seed"] == 4  # what is typed replaces the suite's
    assert "pair" in bundle["run"]["config"]["presets"]
    assert bundle["extra"]["smoke"] is True
    code, out, err = verb("matrix", *mine, *QUICK, f"worker.program={SYNTHETIC}", "--format", "github")
    assert code == 0, err
    jobs = json.loads(out)["include"]
    assert len(jobs) == 3
    assert "left out: framework=rsl_rl agent=sac" in err
