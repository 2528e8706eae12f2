"""The verb `tasks`, and tasks of other packages on the command line."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from benchmark_app.catalogue import find_tasks
from benchmark_app.cli import main
from tests.conftest import ROOT

from .offered import offer
from .reference_cases import reference


@pytest.fixture
def tasks(capsys):
    """The verb's exit status and what it prints."""

    def tasks(*arguments):
        status = main(["tasks", *arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return tasks


def test_all_tasks_are_listed_by_suite(tasks):
    status, out, err = tasks()
    assert (status, err) == (0, "")
    for name, entry in find_tasks().items():
        assert f"  {name:<20} {entry.cfg().gym_id}\n" in out
    assert out.index("classic\n") < out.index("  cartpole") < out.index("manipulation\n")


def test_a_task_is_described_in_full(tasks):
    status, out, _ = tasks("cartpole")
    assert status == 0
    text = " ".join(out.split())
    for words in (
        "Push the cart so that the pole on it stays upright.",
        "60 actions per second (physics step 0.008333 s, decimation 2); an episode is at most 5 s, 300 actions",
        "observation.state, 4 numbers",
        "cart_force [100.0 N]",
        "terminated: -2 per second",
        "final_pole_angle: how far",
        "solved from 95 % of the episodes on",
        "newton_mjwarp, newton_kamino, ovphysx",
        "Apache-2.0",
        "cartpole_ppo: agent.iterations=150",
    ):
        assert words in text


def test_json_has_everything_for_a_program(tasks):
    status, out, _ = tasks("--json")
    assert status == 0
    found = {task["name"]: task for task in json.loads(out)}
    assert found.keys() == find_tasks().keys()
    cartpole = found["cartpole"]
    assert cartpole["conventions"]["semantics"] == "cartpole-effort-v1"
    assert cartpole["declaration"]["joints"][0] == {
        "name": "slider", "lower": -4.0, "upper": 4.0, "damping": 10.0, "armature": 0.0
    }  # fmt: skip
    assert cartpole["tuned"]["cartpole_ppo"]["agent.iterations"] == 150
    assert cartpole["settings"]["max_effort"] == 100.0
    assert cartpole["play"]["episodes"] == 128


def test_names_that_are_no_tasks_and_wrong_options_are_refused_in_one_line(tasks):
    for arguments, said in (
        (("cartpol",), "cartpol: no such task; did you mean cartpole or cartpole_camera?"),
        (("--page",), "--page: give the name of one task"),
        (("--config-dir", "nowhere"), "--config-dir nowhere: no such folder"),
    ):
        status, out, err = tasks(*arguments)
        assert (status, out) == (2, "")
        assert err == f"benchmark_app: error: {said}\n"


def test_reference_results_are_shown(tasks, tmp_path):
    copy = tmp_path / "own_tasks" / "cartpole_copy"
    shutil.copytree(find_tasks()["cartpole"].folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "reference.json").write_text(json.dumps(reference()))
    (tmp_path / "task").mkdir()
    settings = find_tasks()["cartpole"].config.read_text().replace("benchmark_app.tasks.cartpole", "cartpole_copy")
    (tmp_path / "task" / "copy.yaml").write_text(settings.replace("name: cartpole", "name: copy"))
    sys.path.insert(0, str(tmp_path / "own_tasks"))
    try:
        _, text, _ = tasks("copy", "--config-dir", str(tmp_path))
        _, page, _ = tasks("copy", "--config-dir", str(tmp_path), "--page")
    finally:
        sys.path.remove(str(tmp_path / "own_tasks"))
    assert "rsl_rl, ppo, newton_mjwarp, cpu: success 99.22 %, return 4.93 (2 seeds)" in " ".join(text.split())
    assert "| 1 | 31.5 | 127 of 128 | [95.7, 99.9] | 4.93 | 0.0123 | – |" in page
    assert "python -m benchmark_app -m task=cartpole seed=1,2" in page
    text = " ".join(page.split())
    assert "Over the seeds (mean, 95 % interval): pc_success 99.22 [99, 99.5], avg_sum_reward 4.93." in text
    assert "Random actions: return 0.31, standard error 0.02, 100 episodes." in text
    assert "Measured on 2026-11-30, revision 066c0dc12345. cpu_name Some CPU, cpu_count 2. torch 2.13.0." in text


def test_listing_and_describing_import_no_engine_and_no_library():
    heavy = ("torch", "warp", "newton", "mujoco", "gymnasium", "numpy", "rsl_rl", "skrl")
    code = "import sys; from benchmark_app.cli import main; main(['tasks', '--json']); main(['tasks', 'cartpole'])\n"
    code += f"print('LOADED', [m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("LOADED []\n")


def on_path(site):
    return {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}


def test_a_task_of_a_package_is_listed_and_runs_by_its_name_alone(app):
    site = app.folder / "site"
    site.mkdir()
    offer(site)
    listed = subprocess.run(
        [sys.executable, "-m", "benchmark_app", "tasks"],
        cwd=app.folder,
        env={**os.environ, **on_path(site)},
        capture_output=True,
        text=True,
    )
    assert "  tilted               Tilted-v0  (from pole-tasks)\n" in listed.stdout
    process = app.synthetic("task=tilted", "workflow=training", env=on_path(site))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    bundle = app.bundle("training")
    assert bundle.run.task == "Tilted-v0"
    assert bundle.run.max_iterations == 7  # its tuned settings were found as well


def test_a_package_that_is_broken_is_told_of_and_stops_no_other_task(tmp_path):
    offer(tmp_path, code="1 / 0")
    listed = subprocess.run(
        [sys.executable, "-m", "benchmark_app", "tasks"],
        cwd=tmp_path,
        env={**os.environ, **on_path(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "not usable\n\n  tilted\n" in listed.stdout
    assert "division by zero" in listed.stdout
    assert "  cartpole " in listed.stdout


def test_gymnasium_knows_the_task_of_a_package(tmp_path):
    offer(tmp_path)
    code = "import gymnasium, benchmark_app.gym; print(gymnasium.spec('Tilted-v0').kwargs['module'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, **on_path(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "pole_tasks.tilted\n", done.stderr
