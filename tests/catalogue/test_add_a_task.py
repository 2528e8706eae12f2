"""docs/add_a_task.md: what it shows is a package that builds, and a task that passes `check`."""

import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

from benchmark_app.check.child import main
from benchmark_app.check.findings import FAILED
from benchmark_app.check.job import FILES as FILES_ALONE
from benchmark_app.check.job import Job
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "add_a_task.md").read_text()
FILES = dict(re.findall(r"^`(pole-tasks/\S+)`\n\n```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
EMPTY = "pole-tasks/pole_tasks/__init__.py"


@pytest.fixture
def project(tmp_path):
    """What a reader types; other tests have other packages of that name."""
    for name, text in {**FILES, EMPTY: ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path / "pole-tasks"
    for module in [name for name in sys.modules if name.split(".")[0] == "pole_tasks"]:
        del sys.modules[module]


def run(*command, cwd, path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run([sys.executable, "-m", *command], cwd=cwd, env=env, capture_output=True, text=True)


def test_the_page_lists_the_files_it_shows():
    (tree,) = re.findall(r"^```\npole-tasks/\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert sorted(f"pole-tasks/{line.split()[0]}" for line in tree.splitlines()) == sorted([*FILES, EMPTY])


def test_the_package_on_the_page_builds_and_once_installed_its_task_is_found(project, tmp_path):
    pytest.importorskip("hatchling")
    done = run("hatchling", "build", "-t", "wheel", cwd=project, path=[])
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    zipfile.ZipFile(next((project / "dist").glob("*.whl"))).extractall(site)
    shown = {name.removeprefix("pole-tasks/") for name in [*FILES, EMPTY]} - {"pyproject.toml"}
    assert {name for name in shown if not (site / name).is_file()} == set()
    listed = run("benchmark_app", "tasks", "tilt", cwd=tmp_path, path=[site, ROOT])
    assert listed.returncode == 0, listed.stderr
    assert "Keep the pole upright." in listed.stdout


WRITTEN_BY_CHECK = {"reference results are recorded", "the golden file is reproduced"}


@pytest.mark.engine
def test_the_files_on_the_page_pass_check(project, monkeypatch):
    monkeypatch.syspath_prepend(project)
    found = []
    main(Job(task="pole_tasks.tilt", config_dir=None, place=FILES_ALONE, device="cpu", what="check"), found.append)
    failed = [entry["finding"] for entry in found if entry["finding"]["verdict"] == FAILED]
    assert {finding["check"] for finding in failed} <= WRITTEN_BY_CHECK, failed
    assert len(found) > 12


@pytest.mark.tasks
@pytest.mark.engine
def test_the_task_on_the_page_passes_check_once_its_golden_file_is_written(project):
    path = [project, ROOT]
    reasons = ("--reason", "first", "--effect", "none")
    written = run("benchmark_app", "check", "pole_tasks.tilt", "--write-golden", *reasons, cwd=project, path=path)
    assert written.returncode == 0, written.stdout + written.stderr
    done = run("benchmark_app", "check", "pole_tasks.tilt", "--json", cwd=project, path=path)
    (report,) = json.loads(done.stdout)
    failed = {finding["check"] for finding in report["findings"] if finding["verdict"] == FAILED}
    assert failed == {"reference results are recorded"}


def test_every_file_of_ours_that_the_page_names_is_there():
    for path in re.findall(r"`((?:benchmark_app|benchmarks|tasks/cartpole)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path
