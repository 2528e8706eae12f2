"""Environments that need no torch keep every rule of the contract on a server whose processes cannot import it."""

import os

import pytest

from benchmark_app.check.contract import RULES, finished_rows_freeze
from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.execution.make import make_execution_env
from tests.conftest import ROOT

from .test_served_runs import DOUBLES, NO_TORCH


@pytest.fixture
def without_torch(tmp_path, monkeypatch):
    """Every process started from here on finds a torch and a warp that cannot be imported."""
    for name in ("torch", "warp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(NO_TORCH)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (tmp_path, ROOT, DOUBLES))))
    monkeypatch.syspath_prepend(str(DOUBLES))


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, marks=() if rule is finished_rows_freeze else pytest.mark.tasks) for rule in RULES],
    ids=lambda rule: rule.__name__,
)
def test_a_server_without_torch_keeps_every_rule(without_torch, rule):
    import rolling_ball

    served = ExecutionCfg(name="served", start_timeout_s=60.0, timeout_s=20.0)
    rule(lambda rows: make_execution_env(rolling_ball.Cfg(), "", rows, execution=served))
