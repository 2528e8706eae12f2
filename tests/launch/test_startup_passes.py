"""The passes of a start-up, with a synthetic worker: which kernels each finds, and what a lost one costs."""

import json
import signal

import pytest

from benchmark_app.cli import main
from benchmark_app.journal import read_journal
from benchmark_app.startup_settings import startup_problems
from tests.conftest import SYNTHETIC
from tests.sweep.made import settings

STARTUP = ("workflow=startup",)


def spawned(app):
    events, _ = read_journal(app.run_dir / "journal" / "startup.supervisor.jsonl")
    return [(event.part, event.profiled, event.command) for event in events if event.kind == "worker_spawned"]


def test_a_profiled_pass_that_is_killed_leaves_a_completed_start_up(app):
    process = app.synthetic(*STARTUP, fault="kill@-1", env={"SYNTHETIC_PART": "profile"})
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    bundle = app.bundle("startup")
    assert bundle.run.status == "completed"
    assert list(bundle.phases)[-1] == "first_step"
    assert "SIGKILL" in bundle.extra["profile_lost"]
    assert "no profile: the worker was killed by SIGKILL" in out
    app.assert_clean()


def test_a_measured_pass_that_is_killed_is_a_crash_and_is_not_profiled(app):
    assert app.status(*STARTUP, fault="kill@-1", env={"SYNTHETIC_PART": ""}) == 1
    assert app.bundle("startup").run.status == "crashed"
    assert [part for part, _, _ in spawned(app)] == [""]


def test_kernels_that_a_killed_supervisor_left_are_removed_with_the_recovery(app):
    process = app.synthetic(*STARTUP, "startup.kernel_cache=cold", fault="kill_supervisor@-1")
    process.communicate(timeout=60)
    assert list(app.run_dir.glob(".kernel_cache*"))
    assert main(["recover", str(app.run_dir)]) == 0
    assert app.bundle("startup").run.status == "crashed"
    app.assert_clean()
    assert not list(app.run_dir.glob(".kernel_cache*"))


def test_a_stop_during_the_profile_interrupts_the_start_up(app):
    process = app.synthetic(*STARTUP, "run.grace_s=0.2", fault="hang@-1", env={"SYNTHETIC_PART": "profile"})
    app.wait_for_event("startup.profile", '"first_step"', process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    bundle = app.bundle("startup")
    assert (bundle.run.status, list(bundle.phases)[-1]) == ("interrupted", "first_step")
    assert "profile_lost" not in bundle.extra


@pytest.mark.parametrize(
    ("choice", "parts"),
    [("as_found", ["", "profile"]), ("warm", ["warming", "", "profile"]), ("cold", ["", "profile"])],
)
def test_each_choice_of_kernels_takes_its_passes_and_only_the_profiled_one_is_slowed_down(app, choice, parts):
    (app.folder / "list.yaml").write_text("first_step: ['*:step']\nenv_creation: ['newton.*']\n")
    chosen = (f"startup.kernel_cache={choice}", "startup.whitelist=list.yaml")
    assert app.status(*STARTUP, *chosen, fault="env@-1", env={"WARP_CACHE_PATH": "/mine", "SYNTHETIC_PART": ""}) == 0
    found = spawned(app)
    assert [part for part, _, _ in found] == parts
    assert [("importtime" in command) for _, _, command in found] == [part == "profile" for part in parts]
    assert app.bundle("startup").extra["startup_kernel_cache"] == choice
    seen = json.loads((app.run_dir / "logs" / "environment.json").read_text())
    if choice == "cold":
        assert seen["WARP_CACHE_PATH"].startswith(str(app.run_dir))
        assert seen["CUDA_CACHE_PATH"].startswith(seen["WARP_CACHE_PATH"])
    else:
        assert (seen["WARP_CACHE_PATH"], "CUDA_CACHE_PATH" in seen) == ("/mine", False)
    assert not list(app.run_dir.glob(".kernel_cache*"))
    assert (app.run_dir / "startup_profile" / "imports.txt").is_file()
    (app.folder / "list.yaml").unlink()  # recorded is what it held, and not where it lay
    held = json.loads(app.bundle("startup").config.whitelist)
    assert held == {"env_creation": ["newton.*"], "first_step": ["*:step"]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("creation: ['*']", "creation: no such phase; known: python_imports, task_config"),
        ("env_creation: '*'", "env_creation: must be a list of patterns"),
        ("env_creation: []", "env_creation: must be a list of patterns"),
        ("env_creation: [*:a]", "put patterns in quotes"),
        ("- a", "must hold phase: [patterns]"),
        ("", "must hold phase: [patterns]"),
        ("env_creation: ['*']\nenv_creation: ['*']", "duplicate key"),
        (None, "No such file or directory"),
    ],
)
def test_a_whitelist_that_cannot_work_is_refused(tmp_path, content, said):
    made = settings("workflow=startup")
    made.startup.whitelist = str(tmp_path / "list.yaml")
    if content is not None:
        (tmp_path / "list.yaml").write_text(content)
    (problem,) = startup_problems(made)
    assert problem.startswith(f"startup.whitelist={tmp_path / 'list.yaml'}: ")
    assert said in problem
    assert "\n" not in problem


def test_start_up_is_refused_in_one_line_before_anything_is_made(app, monkeypatch, capsys):
    monkeypatch.chdir(app.folder)
    (app.folder / "list.yaml").write_text("creation: ['*']")
    listed = ["workflow=startup", "startup.whitelist=list.yaml", f"worker.program={SYNTHETIC}"]
    assert main(listed) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("benchmark_app: error: startup.whitelist=list.yaml: creation: no such phase")
    assert not (app.folder / "outputs").exists()
    assert main([*listed, "startup.top_n=0"]) == 2
    assert "startup.top_n=0 makes no profiled pass" in capsys.readouterr().err
    assert main([*listed[::2], "startup.kernel_cache=hot"]) == 2
    assert "must be one of as_found, warm, cold" in capsys.readouterr().err
