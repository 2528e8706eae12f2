"""The presets of launchers: each starts what it says, and what is not installed or not there is said in one line."""

import os

import pytest
from hydra.core.config_store import ConfigStore

from benchmark_app.cli import main
from tests.conftest import SYNTHETIC


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """The one line that a command is refused with; nothing is left behind."""
    monkeypatch.chdir(tmp_path)

    def attempt(*arguments):
        assert main([f"worker.program={SYNTHETIC}", "workflow=training", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert not list(tmp_path.iterdir())
        return line.removeprefix("benchmark_app: error: ")

    return attempt


@pytest.mark.parametrize(
    ("launcher", "plugin", "extra"),
    [
        ("joblib", "joblib", "joblib"),
        ("slurm", "submitit_slurm", "slurm"),
        ("slurm_local", "submitit_local", "slurm"),
        ("ray", "ray", "ray"),
    ],
)
def test_a_launcher_that_is_not_installed_is_named_with_what_to_type(refused, monkeypatch, launcher, plugin, extra):
    refused("-m", "seed=-1")  # Hydra has found its plugins now
    monkeypatch.delitem(ConfigStore.instance().repo["hydra"]["launcher"], f"{plugin}.yaml")
    line = refused("-m", f"launcher={launcher}", "seed=1,2")
    assert line == f"launcher={launcher}: is not installed; type: pip install 'benchmark-app[{extra}]'"


def test_a_launcher_starts_a_sweep_and_no_single_run(refused):
    assert refused("launcher=joblib", "seed=1") == "launcher=joblib: starts the runs of a sweep; add -m"


def test_a_launcher_that_is_none_and_a_setting_it_has_not_are_named(refused):
    assert refused("-m", "launcher=cloud", "seed=1").startswith("launcher=cloud: not one of basic, joblib, ray, slurm")
    line = refused("-m", "launcher=joblib", "hydra.launcher.partition=gpu", "seed=1")
    assert line.startswith("hydra.launcher.partition=gpu: launcher=joblib has no such setting")


def test_more_runs_at_once_than_cores_are_refused_before_anything_is_made(refused):
    runs = len(os.sched_getaffinity(0)) + 1
    line = refused("-m", "launcher=joblib", f"hydra.launcher.n_jobs={runs}", f"seed={','.join(map(str, range(runs)))}")
    assert f"hydra.launcher.n_jobs={runs}: a run takes 1 core" in line
    assert line.endswith(f"set it to {runs - 1}, or sweep.oversubscribe=true")
