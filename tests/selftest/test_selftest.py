"""The verb `selftest` with a synthetic worker: what it measures, leaves and says, and how it ends."""

import json
import os
import signal
import time

import pytest

from benchmark_app.bundle.validate import validate_paths
from benchmark_app.cli import main
from benchmark_app.selftest import costs
from tests.conftest import SYNTHETIC, alive_in


@pytest.fixture
def verb(app, monkeypatch, capsys):
    def call(*arguments, fault=""):
        monkeypatch.chdir(app.folder)
        monkeypatch.setenv("SYNTHETIC", fault)
        monkeypatch.setenv("SYNTHETIC_STEP_S", "0.002")
        code = main(["selftest", *arguments])
        return (code, *capsys.readouterr())

    return call


def test_everything_is_measured_printed_and_written_and_the_runs_are_kept(app, verb):
    code, out, err = verb("--runs", "4", "--json", "found.json", f"worker.program={SYNTHETIC}")
    assert code == 0, err
    found = json.loads((app.folder / "found.json").read_text())
    assert found["runs"] == 4
    assert 0 < found["clock"]["step_s"] < 1e-3
    assert found["clock"]["backwards"] == 0
    assert 0 < found["sampler"]["core_share"] < 0.05
    assert found["hooks"]["iteration_share"] == 0  # the synthetic worker has none
    noise = found["noise"]["startup_time_s"]
    assert len(noise["values"]) == 4
    assert noise["planned"] > noise["deviation"] > 0
    five, ten = found["needed"]["environment_step_time_s"]  # which it pretends to be always the same
    assert (five["effect"], five["min_effect"], five["runs"]) == (0.05, 0.025, 3)
    assert (ten["effect"], ten["min_effect"], ten["runs"]) == (0.1, 0.05, 3)
    for word in ("clock", "sampler", "hooks", "A/A", "5 %", "10 %", "results"):
        assert any(line.startswith(word) for line in out.splitlines()), word

    folder = app.folder / "outputs" / "latest"
    assert folder.resolve() == app.folder / found["folder"]
    assert validate_paths([str(folder.resolve())]) == 0
    assert len(list(folder.glob("repeat-*/runtime.json"))) == 4
    thresholds = str((folder / "thresholds-5.toml").resolve())
    sides = [str(folder.resolve() / f"repeat-{number}") for number in (1, 2)]
    assert main(["compare", "--thresholds", thresholds, *sides]) in (0, 2)


def test_a_run_that_crashes_ends_it_with_the_reason(verb):
    code, _, err = verb("--runs", "4", f"worker.program={SYNTHETIC}", "workflow=training", fault="raise@0")
    assert code == 1
    assert "the synthetic task failed" in err


def test_ctrl_c_ends_it_with_the_run_in_progress(app):
    process = app.start(
        *("selftest", f"worker.program={SYNTHETIC}", "workflow=training", "agent.iterations=100000"), run_dir=False
    )
    deadline = time.monotonic() + 60
    while not list(app.folder.glob("outputs/*/*selftest*/repeat-1/journal/training.worker.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert "a run ended interrupted" in err
    assert not alive_in(app.folder)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--runs", "3"], "at least 4"),
        (["--json", "nowhere/x.json"], "no such folder"),
        (["--json", os.devnull], "exists and is no self-test"),
        (["workflow=all"], "has no steps to time"),
        (["repeats=3"], "say how often with --runs"),
        (["num_envs=0"], "num_envs=0: must be at least 1"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(verb, app, typed, said):
    code, _, err = verb(*typed, f"worker.program={SYNTHETIC}")
    assert code == 2
    (line,) = err.splitlines()
    assert said in line
    assert not list(app.folder.iterdir())


def test_the_clock_is_read_on_every_core_and_the_cores_are_given_back():
    before = os.sched_getaffinity(0)
    clock = costs.measure_clock()
    assert os.sched_getaffinity(0) == before
    assert clock.cores == min(len(before), costs.MOST_CORES)
    assert clock.read_s < 1e-4


def test_a_clock_that_goes_back_is_found(monkeypatch):
    monkeypatch.setattr(costs, "READINGS", 100)
    ticks = iter([0, 10, 20, 19, *range(30, 10**6)])
    monkeypatch.setattr(costs.time, "perf_counter", lambda: float(next(ticks)))
    assert costs.measure_clock().backwards == 1
