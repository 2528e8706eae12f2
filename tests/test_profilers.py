"""Profilers on request: the file each leaves, what marks its run, and what is said where there is none."""

from __future__ import annotations

import json
import os
import pstats
import shutil

import pytest
import torch

from benchmark_app.compose import settings_of
from benchmark_app.profiling.tools import CPROFILE, NONE, OUTSIDE, TORCH, artefact
from benchmark_app.profiling.worker.profilers import watched
from benchmark_app.settings import SettingError

FAKE = """#!/bin/sh
# Stands in for py-spy: waits for the process to end, and leaves what it was asked for.
while [ "$1" != --pid ]; do shift; done; pid=$2
while [ "$1" != --output ]; do shift; done; file=$2
while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
{ending}
"""


def some_work():
    return torch.ones(8, 8) @ torch.ones(8, 8)


def test_cprofile_leaves_the_functions_of_the_loop_also_of_one_that_fails(tmp_path):
    path = tmp_path / "training.pstats"

    def loop():
        with watched(CPROFILE, path, skip=0, window=1, cuda=False) as step:
            some_work()
            step()
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        loop()
    names = {function for _, _, function in pstats.Stats(str(path)).stats}
    assert "some_work" in names
    assert os.listdir(tmp_path) == [path.name]


def test_a_profile_without_room_ends_no_run(tmp_path, capsys):
    with watched(CPROFILE, tmp_path / "gone" / "training.pstats", skip=0, window=1, cuda=False):
        some_work()
    assert capsys.readouterr().err == "training.pstats could not be written: No such file or directory\n"


def test_a_trace_covers_the_window_behind_the_warmup_and_no_more(tmp_path):
    path = tmp_path / "play.trace.json"
    with watched(TORCH, path, skip=2, window=3, cuda=False) as step:
        for number in range(12):
            with torch.profiler.record_function(f"iteration {number}"):
                some_work()
            step()
    traced = {event.get("name") for event in json.loads(path.read_text())["traceEvents"]}
    # Two are left out, and one more, in which tracing itself starts.
    assert {name for name in traced if str(name).startswith("iteration ")} == {f"iteration {n}" for n in (3, 4, 5)}
    assert os.listdir(tmp_path) == [path.name]


def test_a_run_without_a_profiler_leaves_nothing(tmp_path):
    with watched(NONE, tmp_path / "none", skip=0, window=1, cuda=False) as step:
        step()
    assert not os.listdir(tmp_path)
    assert artefact(NONE, "training") == artefact(CPROFILE, "startup") == ""


@pytest.fixture
def py_spy(tmp_path, monkeypatch):
    """A py-spy that ends as a test wants."""

    def make(ending):
        folder = tmp_path / "programs"
        folder.mkdir()
        program = folder / "py-spy"
        program.write_text(FAKE.format(ending=ending))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return make


def test_py_spy_watches_the_loop_and_the_bundle_says_that_it_did(app, py_spy):
    py_spy("echo '{}' > \"$file\"")
    assert app.status("workflow=training", "agent.iterations=30", "profiling.tool=py-spy") == 0
    assert (app.run_dir / "training.speedscope.json").read_text() == "{}\n"
    extra = app.bundle("training").extra
    assert (extra["perturbed"], extra["profile"]) == ("profiling.tool=py-spy", "training.speedscope.json")
    app.assert_clean()


def test_a_profile_that_was_not_written_is_no_success(app, py_spy):
    py_spy("echo 'Permission denied' >&2; exit 1")
    process = app.synthetic("workflow=training", "agent.iterations=30", "profiling.tool=py-spy")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "py-spy left no training.speedscope.json" in err
    assert "Permission denied" in (app.run_dir / "logs" / "py-spy.training.log").read_text()
    assert app.bundle("training").run.status == "completed", "the measurement itself is kept"
    app.assert_clean()


def test_what_wraps_a_run_from_outside_is_a_command_to_type(app):
    status, _, err = app.run("profiling.tool=nsys", "framework=skrl", run_dir=False)
    assert status == 2
    typed = f"{OUTSIDE['nsys']} python -m benchmark_app framework=skrl profiling.external=nsys"
    assert err == f"benchmark_app: error: profiling.tool=nsys: wraps a run from outside; type: {typed}\n"


def test_a_run_that_is_wrapped_is_marked(app):
    assert app.status("workflow=runtime", "profiling.external=nsys") == 0
    assert app.bundle("runtime").extra["perturbed"] == "profiling.external=nsys"


@pytest.mark.parametrize(
    "setting",
    ["profiling.tool=perf", "profiling.window=0", "profiling.external=''", "profiling.mode=fast"],
)
def test_what_is_no_profiler_is_refused_in_one_line(setting):
    with pytest.raises(SettingError) as refused:
        settings_of([setting])
    assert str(refused.value).startswith(f"{setting.rstrip(chr(39))}: must ")


@pytest.mark.measure
@pytest.mark.engine
@pytest.mark.parametrize("tool", ["cprofile", "torch", "py-spy"])
def test_a_real_training_leaves_its_profile(app, tool):
    if tool == "py-spy" and shutil.which("py-spy") is None:
        pytest.skip("py-spy is not installed")
    settings = ("workflow=training", "agent.iterations=40", "num_envs=16", f"profiling.tool={tool}", "device=cpu")
    status, _, err = app.run(*settings)
    assert status == 0, err
    content = (app.run_dir / artefact(tool, "training")).read_bytes()
    assert b"rsl_rl" in content or b"on_policy_runner" in content or tool == "torch"
    assert len(content) > 1000
