"""Two engines compared, as a run: what is refused, what each process does, and what is left however the run ends."""

import json
import signal
import sys

import pytest
import yaml

from benchmark_app.bundle.equivalence import fact_differences
from benchmark_app.bundle.equivalence_schema import read_equivalence_file
from benchmark_app.cli import main
from benchmark_app.physics.availability import missing
from tests.conftest import ROOT, SYNTHETIC


def robot(**changes):
    joint = {"name": "hinge", "lower": None, "upper": 1.0, "damping": 0.1}
    joint |= {"armature": 0.0, "friction": 0.0, "effort_limit": None}
    link = {"name": "pole", "mass": 2.0, "com": [0.0, 0.0, 0.3], "inertia": [0.1, 0.1, 0.01, 0.0, 0.0, 0.0]}
    whole = {"joints": [joint], "links": [link], "gravity": [0.0, 0.0, -9.81], "physics_dt": 0.01}
    return json.loads(json.dumps(whole | changes)), joint, link


def test_facts_differ_beyond_float32_only():
    reference, joint, link = robot()
    same, _, _ = robot(links=[link | {"mass": 2.0000001, "com": [1e-8, 0.0, 0.3]}], gravity=[1e-7, 0.0, -9.81])
    assert fact_differences(reference, same) == []
    other, _, _ = robot(
        joints=[joint | {"lower": -1.0, "damping": 0.2}], links=[link | {"mass": 2.1}, link | {"name": "rail"}]
    )
    found = fact_differences(reference, other)
    assert found[:3] == [
        {"fact": "joint hinge: lower", "reference": None, "physics": -1.0},
        {"fact": "joint hinge: damping", "reference": 0.1, "physics": 0.2},
        {"fact": "link pole: mass [kg]", "reference": 2.0, "physics": 2.1},
    ]
    assert {"fact": "link rail: mass [kg]", "reference": None, "physics": 2.0} in found


AGAINST = "reference_physics=newton_mjwarp"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "reference_physics=null: workflow=equivalence compares two engines; set reference_physics=ENGINE"),
        (["reference_physics=mujoco"], "reference_physics=mujoco: not one of newton_kamino, newton_mjwarp, ovphysx"),
        ([AGAINST, "num_envs=2"], "num_envs=2: workflow=equivalence has 3 sets of actions"),
        (
            [AGAINST, "equivalence.steps=301"],
            "equivalence.steps=301: must be from 1 to 300, the steps of an episode, or null",
        ),
        ([AGAINST, "equivalence.steps=0"], "equivalence.steps=0: must be from 1 to 300"),
        (
            [AGAINST, "equivalence.amplitude=2"],
            "equivalence.amplitude=2.0: must be in (0, 1]",
        ),
        (
            [AGAINST, "equivalence.tolerance_m=0"],
            "equivalence.tolerance_m=0.0: must be greater",
        ),
        (
            [AGAINST, "equivalence.reference_python=/no/such"],
            "equivalence.reference_python=/no/such: no such program",
        ),
        (
            [AGAINST, "reference_physics.integrator=rk9"],
            "reference_physics.integrator=rk9: must be one of",
        ),
        (
            [AGAINST, "reference_physics.name=ovphysx"],
            "reference_physics.name=ovphysx: is set by the choice reference_physics=newton_mjwarp",
        ),
        (
            [AGAINST, "workflow=runtime"],
            "reference_physics=newton_mjwarp: workflow=runtime compares no engines; leave it out",
        ),
        (
            [AGAINST, "checkpoint=policy.pt"],
            "checkpoint=policy.pt: workflow=equivalence takes none",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["workflow=equivalence", f"worker.program={SYNTHETIC}", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_every_engine_can_be_the_reference():
    chosen = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / "conf/reference_physics").glob("*.yaml")}
    assert set(chosen) == {path.stem for path in (ROOT / "conf" / "physics").glob("*.yaml")}
    assert chosen == {name: {"defaults": [{"/physics@_here_": name}]} for name in chosen}


RUN = ("workflow=equivalence", "reference_physics=newton_mjwarp", "reference_physics.integrator=euler")


def result(app):
    def refuse(constant):
        raise AssertionError(f"{constant} in a result file")

    return json.loads((app.run_dir / "equivalence.json").read_text(), parse_constant=refuse)


def spec(app, part):
    return json.loads((app.run_dir / "journal" / f"equivalence.{part}.spec.json").read_text())["settings"]


def test_each_part_runs_in_a_process_of_its_own_with_its_engine_and_step(app):
    assert app.status(*RUN, "equivalence.steps=2") == 0
    found = result(app)
    assert (found["status"], found["reason"], found["synthetic"]) == ("completed", "", True)
    assert (found["reference_physics"], found["physics"]) == ("newton_mjwarp", "newton_mjwarp")
    assert found["fact_differences"] == []
    assert found["comparison"]["verdict"] == "identical"
    for side, integrator in (("reference", "euler"), ("physics", "implicitfast")):
        whole, half = spec(app, side), spec(app, f"{side}.half_step")
        assert whole["physics"]["integrator"] == half["physics"]["integrator"] == integrator
        assert half["task"]["physics_dt"] == whole["task"]["physics_dt"] / 2
        assert half["task"]["decimation"] == whole["task"]["decimation"] * 2
    manifest = app.manifest()
    assert manifest["workflows"]["equivalence"]["bundle"] == "equivalence.json"
    assert manifest["workflows"]["equivalence"]["log"] == "logs/equivalence.compare.log"
    step = spec(app, "physics")["task"]["physics_dt"]
    assert manifest["diagnostics"]["equivalence"] == {
        "reference": {"physics_dt": step},
        "reference.half_step": {"physics_dt": step / 2},
        "physics": {"physics_dt": step},
        "physics.half_step": {"physics_dt": step / 2},
    }
    assert read_equivalence_file(app.run_dir / "equivalence.json").status == "completed"
    app.assert_clean()


def test_a_warning_that_is_allowed_is_told_with_the_part_it_belongs_to(app):
    allowed = [f"{side}.allow=[constraint_overflow]" for side in ("physics", "reference_physics")]
    said = {
        "SYNTHETIC_SAYS": "nefc overflow - please increase njmax beyond 12\n",
        "SYNTHETIC_PART": "physics.half_step",
    }
    process = app.synthetic(*RUN, "equivalence.steps=5", *allowed, fault="say@1,say@2", env=said)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err + out
    found = result(app)
    assert found["engine_warnings"] == {"physics.half_step": {"constraint_overflow": 2}}
    assert not [key for key in found["extra"] if "warning" in key]
    assert "engine warning constraint_overflow: 2 (physics.half step)" in out


def test_the_reference_can_run_in_another_interpreter(app, tmp_path):
    other = tmp_path / "other_python"
    other.write_text(f'#!/bin/sh\ntouch "{tmp_path}/used-$(basename "$3" .spec.json)"\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    assert app.status(*RUN, "equivalence.steps=2", f"equivalence.reference_python={other}") == 0
    used = sorted(path.name for path in tmp_path.glob("used-equivalence*"))
    assert used == ["used-equivalence.reference", "used-equivalence.reference.half_step"]


@pytest.mark.parametrize("part", ["reference", "physics", "physics.half_step", "compare"])
def test_a_part_that_fails_leaves_a_crashed_result_and_no_later_part(app, part):
    process = app.synthetic(*RUN, "equivalence.steps=3", fault="raise@1", env={"SYNTHETIC_PART": part})
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    found = result(app)
    assert found["status"] == "crashed"
    assert "the synthetic task failed" in found["reason"]
    assert found["comparison"] is None
    assert (found["fact_differences"] is None) == (part == "reference")
    ran = [path.name for path in (app.run_dir / "journal").glob("equivalence.*.worker.jsonl")]
    order = ["reference", "reference.half_step", "physics", "physics.half_step", "compare"]
    assert len(ran) == order.index(part) + 1
    assert f"equivalence.{part}.log" in out
    assert app.manifest()["workflows"]["equivalence"]["log"] == f"logs/equivalence.{part}.log"
    assert read_equivalence_file(app.run_dir / "equivalence.json").status == "crashed"
    app.assert_clean()


def test_a_killed_part_is_a_crash(app):
    code = app.status(*RUN, "equivalence.steps=3", fault="kill@1", env={"SYNTHETIC_PART": "physics"})
    assert code == 1
    assert result(app)["reason"] == "the worker was killed by SIGKILL before it finished its work"


@pytest.mark.parametrize("part", ["reference", "physics.half_step", "compare"])
def test_an_interrupt_in_any_part_leaves_an_interrupted_result(app, part):
    steps = "equivalence.steps=300"
    process = app.synthetic(*RUN, steps, step_s=0.0, fault="hang@2", env={"SYNTHETIC_PART": part})
    app.wait_for_event(f"equivalence.{part}", '"first_index":1', process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert result(app)["status"] == "interrupted"
    assert result(app)["comparison"] is None
    app.assert_clean()


@pytest.mark.parametrize("part", ["reference", "physics"])
def test_an_interrupt_while_a_part_ends_stops_the_parts_after_it(app, part):
    """It may come while no worker is there to be asked to stop."""
    process = app.synthetic(*RUN, "equivalence.steps=2")
    app.wait_for_event(f"equivalence.{part}", '"finished"', process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert result(app)["status"] == "interrupted"
    assert not (app.run_dir / "journal" / "equivalence.compare.worker.jsonl").exists()
    app.assert_clean()


def test_a_run_whose_supervisor_was_killed_is_recovered_from_its_journals(app):
    process = app.synthetic(*RUN, step_s=0.05, env={})
    app.wait_for_event("equivalence.physics", '"first_index":1', process)
    process.kill()
    process.communicate(timeout=30)
    assert not (app.run_dir / "equivalence.json").exists()
    code, out, err = app.run("recover", str(app.run_dir), run_dir=False)
    assert code == 0, err
    assert result(app)["status"] == "crashed"
    assert result(app)["engines"]["reference"]["engine"] == "newton_mjwarp"
    assert "equivalence" in out


# ---------------------------------------------------------------- real engines


SMALL = ("workflow=equivalence", "num_envs=12", "equivalence.steps=40", "device=cpu", "task.max_pole_angle=null")


def measured(app, *arguments):
    code, out, err = app.run(*SMALL, *arguments, timeout=280)
    assert code == 0, err + out
    read_equivalence_file(app.run_dir / "equivalence.json")
    return result(app), out


STOPS_EARLY = ("reference_physics=newton_kamino", "reference_physics.max_iterations=1")


@pytest.mark.engine
def test_a_reference_whose_solver_stops_early_fails_the_run_and_names_its_own_settings(app):
    code, out, _ = app.run(*SMALL, *STOPS_EARLY)
    assert code == 1
    assert "; raise reference_physics.max_iterations or reference_physics.tolerance; " in result(app)["reason"]
    assert "set reference_physics.allow=[no_convergence]" in out


@pytest.mark.engine
@pytest.mark.slow
def test_what_a_real_engine_counts_is_told_by_rollout(app):
    found, out = measured(app, *STOPS_EARLY, "reference_physics.allow=[no_convergence]")
    assert set(found["engine_warnings"]) == {"reference", "reference.half_step"}
    assert found["engine_warnings"]["reference"]["no_convergence"] == 12
    assert "engine warning no_convergence: 12 (reference)" in out


@pytest.mark.engine
def test_newton_mjwarp_against_itself_differs_by_exactly_nothing(app):
    found, out = measured(app, "reference_physics=newton_mjwarp")
    comparison = found["comparison"]
    assert comparison["verdict"] == "identical"
    assert comparison["initial_difference"] == 0.0
    assert [(joint["name"], joint["unit"]) for joint in comparison["joints"]] == [("slider", "m"), ("hinge", "rad")]
    for joint in comparison["joints"]:
        for each in joint["action_sets"].values():
            assert set(each["curves"]["divergence_maximum"]) == {0.0}
            assert len(each["curves"]["divergence_maximum"]) == 41
            assert 0.5e-6 < each["rounding"] < 1e-4  # the perturbation was there, and grew
            assert each["step_error_physics"] == each["step_error_reference"] > 0
    reference, other = found["engines"]["reference"], found["engines"]["physics"]
    assert reference["facts"] == other["facts"]
    assert [joint["damping"] for joint in other["facts"]["joints"]] == [10.0, 0.0]
    assert found["fact_differences"] == []
    assert (app.run_dir / "equivalence.svg").stat().st_size > 10_000
    assert "the same numbers throughout" in out
    app.assert_clean()


@pytest.mark.engine
def test_newton_kamino_differs_from_newton_mjwarp_by_the_time_step_alone(app):
    found, _ = measured(app, "physics=newton_kamino", "reference_physics=newton_mjwarp")
    comparison = found["comparison"]
    assert found["fact_differences"] == []
    assert comparison["initial_difference"] < 1e-6
    assert comparison["verdict"] == "step"
    for joint in comparison["joints"]:
        assert all(1e-6 < each["divergence"] < 0.05 for each in joint["action_sets"].values())


@pytest.fixture
def ovphysx():
    if problem := missing("ovphysx"):
        pytest.skip(f"physics=ovphysx {problem}")


@pytest.mark.ovphysx
@pytest.mark.usefixtures("ovphysx")
def test_ovphysx_differs_from_newton_mjwarp_by_rounding_and_from_its_other_solver_by_the_step(app):
    found, _ = measured(app, "physics=ovphysx", "reference_physics=newton_mjwarp")
    assert found["fact_differences"] == []
    assert found["comparison"]["verdict"] == "rounding"
    app.run_dir = app.folder / "tgs"
    found, _ = measured(app, "physics=ovphysx", "physics.solver_type=tgs", "reference_physics=ovphysx")
    assert found["comparison"]["verdict"] == "step"


@pytest.mark.ovphysx
@pytest.mark.usefixtures("ovphysx")
def test_a_task_without_a_usd_file_is_refused_by_an_engine_that_builds_from_one(app, tmp_path):
    (tmp_path / "unpainted.py").write_text(
        "import dataclasses\n"
        "from benchmark_app.tasks.cartpole import Cfg\n"
        "from benchmark_app.tasks.cartpole import load_env as whole\n"
        "def load_env():\n"
        "    class Env(whole()):\n"
        "        @staticmethod\n"
        "        def scene(cfg, num_envs):\n"
        "            return dataclasses.replace(whole().scene(cfg, num_envs), usd=None)\n"
        "    return Env\n"
    )
    code, out, _ = app.run(
        *("workflow=equivalence", "physics=ovphysx", "reference_physics=newton_mjwarp", "num_envs=3"),
        *("equivalence.steps=2", "device=cpu", "task.module=unpainted"),
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )
    assert code == 2
    assert "USD" in out
    assert not (app.run_dir / "equivalence.json").exists()
