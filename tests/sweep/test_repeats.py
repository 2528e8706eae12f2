"""repeats=K: the same run in K fresh processes, kept apart and summed up."""

import json
import signal
import time

import pytest

from benchmark_app.cli import main
from benchmark_app.settings import SettingError
from benchmark_app.sweep.plan import make_plan, repeated
from tests.conftest import SYNTHETIC
from tests.sweep.made import RECORD, run_folders, settings, statuses

QUICK = ("workflow=training", "agent.iterations=3", "run.report=false")
HERE = "hydra.sweep.dir=sweep"


@pytest.fixture
def sweep(app):
    return app.folder / "sweep"


@pytest.fixture
def run(app, monkeypatch, capsys):
    """The command line, in this process: exit status and what was printed."""

    def call(*arguments, fault=""):
        monkeypatch.chdir(app.folder)
        monkeypatch.setenv("SYNTHETIC", fault)
        monkeypatch.setenv("SYNTHETIC_STEP_S", "0.01")
        code = main(list(arguments))
        return (code, *capsys.readouterr())

    return call


def summary(sweep):
    return json.loads((sweep / "summary.json").read_text())["configurations"]


def test_each_repeat_is_a_fresh_process_whose_bundle_is_kept_and_they_are_summed_up(run, sweep, app):
    code, out, _ = run(*QUICK, "repeats=3", HERE, f"worker.program={SYNTHETIC}")
    assert code == 0
    folders = run_folders(sweep)
    assert [name.rpartition("-")[2] for name in folders] == ["repeat1", "repeat2", "repeat3"]
    bundles = [json.loads((sweep / name / "attempt-1" / "training.json").read_text()) for name in folders]
    assert [bundle["extra"]["repeat"] for bundle in bundles] == [1, 2, 3]
    assert {bundle["extra"]["repeats"] for bundle in bundles} == {3}
    assert len({bundle["run"]["run_id"] for bundle in bundles}) == 3

    (one,) = summary(sweep)
    assert one["status"] == {"completed": 3}
    imports = sorted(bundle["runtime"]["startup_time_s"]["python_imports"] for bundle in bundles)
    spread = one["spreads"]["startup_python_imports_s"]
    assert (spread["minimum"], spread["median"], spread["maximum"]) == tuple(imports)
    mean = sum(imports) / 3
    assert spread["std"] == pytest.approx((sum((value - mean) ** 2 for value in imports) / 2) ** 0.5)
    assert spread["cv"] == pytest.approx(spread["std"] / mean)
    assert one["spreads"]["iteration_time_s"]["within_std"] == bundles[0]["runtime"]["iteration_time_s"]["std"]
    assert "between runs" in out

    assert run("validate", "sweep")[0] == 0
    assert run("summary", "sweep")[1] in out
    assert run("summary", "sweep", "-o", "sweep/summary.json")[0] == 0
    code, _, err = run("summary", "sweep", "-o", "sweep/sweep.json")
    assert (code, statuses(sweep)) == (2, ["completed"] * 3)
    assert "exists and is no summary" in err
    (app.folder / "empty").mkdir()
    assert run("summary", "empty")[0] == 2
    compared = run("compare", "--format", "json", "sweep/*-repeat[12]", "sweep/*-repeat3")
    (group,) = json.loads(compared[1])["groups"]
    speed = next(metric for metric in group["metrics"] if metric["metric"] == "total_fps")
    assert (speed["n_base"], speed["n_new"]) == (2, 1)


def test_one_that_fails_stops_no_other_and_runs_again_when_more_are_asked_for(run, sweep):
    code, out, _ = run(*QUICK, "repeats=2", HERE, f"worker.program={SYNTHETIC}", fault="kill@1:repeat=1")
    assert code == 1
    assert statuses(sweep) == ["crashed", "completed"]
    (one,) = summary(sweep)
    assert one["status"] == {"completed": 1, "crashed": 1}
    assert one["spreads"]["total_fps"]["n"] == 1
    assert one["spreads"]["total_fps"]["std"] is None
    assert "1 completed, 1 crashed" in out

    assert run("sweep.resume=true", HERE, "repeats=3")[0] == 0
    assert statuses(sweep) == ["completed"] * 3
    folders = {name.rpartition("-")[2]: attempts for name, attempts in run_folders(sweep).items()}
    assert folders == {"repeat1": ["attempt-1", "attempt-2"], "repeat2": ["attempt-1"], "repeat3": ["attempt-1"]}
    (one,) = summary(sweep)
    assert one["status"] == {"completed": 3, "crashed": 1}


def test_ctrl_c_ends_the_repeats_with_the_results_so_far(app, sweep):
    process = app.synthetic(*QUICK[::2], "agent.iterations=100000", "repeats=3", HERE, run_dir=False)
    app.run_dir = sweep / "unknown"
    while not (found := list(sweep.glob("*-repeat1/attempt-1/journal/training.worker.jsonl"))) or (
        '"index":3,' not in found[0].read_text()
    ):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert statuses(sweep) == ["interrupted", "planned", "planned"]
    assert len(list(sweep.glob("*/attempt-*/training.json"))) == 1


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("repeats=0", "repeats=0: must be at least 1"),
        ("repeats=1001", "must be at most 1000"),
        ("repeats=1.5", "must be a whole number"),
        ("repeats=2 hydra.run.dir=here", "set hydra.sweep.dir"),
    ],
)
def test_repeats_that_cannot_work_are_refused_in_one_line(run, app, typed, said):
    code, _, err = run(*QUICK, *typed.split(), f"worker.program={SYNTHETIC}")
    assert code == 2
    (line,) = err.splitlines()
    assert said in line
    assert not list(app.folder.iterdir())


def planned(*combinations):
    def compose(overrides):
        if overrides == ["bad"]:
            raise SettingError("bad: no such setting")
        return settings(*overrides), RECORD

    return repeated(make_plan([list(each) for each in combinations], compose, suite=False))


def test_combinations_are_repeated_in_turn_each_as_often_as_its_settings_say():
    plan = planned(["seed=1", "repeats=2"], ["bad"], ["seed=2", "repeats=3"], ["seed=3"])
    told = [(member.overrides[0], member.case.repeat if member.case else None) for member in plan.members]
    assert told == [
        *(("seed=1", 1), ("bad", None), ("seed=2", 1), ("seed=3", 0)),
        *(("seed=1", 2), ("seed=2", 2), ("seed=2", 3)),
    ]
    assert len({case.name for case in plan.cases}) == 6


def test_the_number_of_repeats_makes_no_other_case_and_a_repeat_says_how_to_make_it_alone():
    two, five = (planned(["seed=1", f"repeats={count}"]).cases[0] for count in (2, 5))
    assert two.name == five.name
    assert two.record.overrides[-1] == "repeats=1"
