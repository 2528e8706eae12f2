"""Every task on every engine that can run here keeps every rule."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch
import yaml

from benchmark_app.envs.make import make_env
from benchmark_app.physics.availability import missing
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.settings import task_cfg_class
from tests.conftest import ROOT

from . import contact_task
from .rules import RULES, an_exported_state_continues

EPISODE_STEPS = 60
"""Enough for a cartpole to fall by itself, and short of most episodes' end."""


def tasks() -> dict[str, Any]:
    """Settings of every task of this repository, with short episodes, and of two that are in contact all the time."""
    found: dict[str, Any] = {"in_contact": contact_task.Cfg(), "floating": contact_task.FloatingCfg()}
    for path in sorted((ROOT / "conf" / "task").glob("*.yaml")):
        settings = yaml.safe_load(path.read_text())
        cfg = task_cfg_class(settings["module"])(**settings)
        found[path.stem] = replace(cfg, episode_length_s=EPISODE_STEPS * cfg.control_dt)
    return found


TASKS = tasks()


def places() -> Iterator[Any]:
    """Every task, engine and device, to be skipped where they cannot run."""
    for task in TASKS:
        for physics in ENGINES:
            marks = [pytest.mark.ovphysx] if physics == "ovphysx" else []
            for device in ENGINES[physics].capabilities.devices:
                gpu = [pytest.mark.gpu] if device == "cuda" else []
                yield pytest.param(task, physics, device, id=f"{task}-{physics}-{device}", marks=[*gpu, *marks])


@functools.cache
def unsuitable(task: str, physics: str, device: str) -> str:
    """Why an engine cannot run a task here; empty where it can."""
    if reason := missing(physics):
        return f"{physics}: {reason}"
    engine, cfg = ENGINES[physics], TASKS[task]
    scene = import_module(cfg.module).load_env().scene(cfg, 1)
    needs = {"floating_base": scene.floating, "contacts": scene.max_contacts > 0}
    if lacking := [name for name, needed in needs.items() if needed and not getattr(engine.capabilities, name)]:
        return f"{physics} does not declare {', '.join(lacking)}"
    if engine.needs_usd and scene.usd is None:
        return f"{physics} needs a USD file, and {task} has none"
    return "" if device == "cpu" or torch.cuda.is_available() else "there is no CUDA device"


@pytest.mark.engine
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(("task", "physics", "device"), list(places()))
def test_every_task_keeps_every_rule_on_every_engine(rule, task, physics, device):
    if reason := unsuitable(task, physics, device):
        pytest.skip(reason)
    rule(lambda num_envs: make_env(TASKS[task], physics, num_envs, device))


@pytest.mark.engine
def test_a_snapshot_that_leaves_out_what_the_solver_carries_is_caught(monkeypatch):
    module, name = ENGINES["newton_mjwarp"].backend
    backend = getattr(import_module(f"benchmark_app.physics.{module}"), name)
    for part in ("export_state", "import_state"):
        monkeypatch.setattr(backend, part, getattr(SimBackend, part))  # the joint state only
    with pytest.raises(AssertionError, match="differs"):
        an_exported_state_continues(lambda num_envs: make_env(TASKS["in_contact"], "newton_mjwarp", num_envs))
