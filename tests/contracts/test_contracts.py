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

from benchmark_app.check.contract import (
    RULES,
    an_exported_state_continues,
    resetting_rows_leaves_the_others_alone,
    same_seed_same_run,
)
from benchmark_app.check.walk import shortened
from benchmark_app.envs.make import make_env
from benchmark_app.physics.availability import missing
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.settings import task_cfg_class
from tests.conftest import ROOT

from . import contact_task

EPISODE_STEPS = 60
"""Enough for a cartpole to fall by itself, and short of most episodes' end."""
WHOLE = {
    "newton_mjwarp": ("in_contact", "floating", "cartpole"),
    "ovphysx": ("in_contact", "floating", "cartpole"),
    "newton_kamino": ("in_contact",),
}
"""Tasks that keep every rule in every run of the tests; `make test-tasks` does the same for all others."""
QUICK = {
    "newton_mjwarp": (same_seed_same_run, resetting_rows_leaves_the_others_alone, an_exported_state_continues),
    "ovphysx": (same_seed_same_run, an_exported_state_continues),
    "newton_kamino": (same_seed_same_run,),
}
"""What the others keep in every run: where a task's own buffers and random numbers show, and little is built."""


def tasks() -> dict[str, Any]:
    """Settings of every task of this repository, with short episodes, and of two that are in contact all the time."""
    found: dict[str, Any] = {"in_contact": contact_task.Cfg(), "floating": contact_task.FloatingCfg()}
    for path in sorted((ROOT / "conf" / "task").glob("*.yaml")):
        settings = yaml.safe_load(path.read_text())
        cfg = task_cfg_class(settings["module"])(**settings)
        small = {"image_height": 6, "image_width": 10} if cfg.image_groups() else {}
        found[path.stem] = shortened(replace(cfg, **small), EPISODE_STEPS)
    return found


TASKS = tasks()


def cases() -> Iterator[Any]:
    """Every rule, task, engine and device, to be skipped where they cannot run."""
    for task, cfg in TASKS.items():
        declared = ENGINES if cfg.declaration is None else cfg.declaration.engines
        for physics, device in [(name, kind) for name in declared for kind in ENGINES[name].capabilities.devices]:
            marks = [pytest.mark.ovphysx] if physics == "ovphysx" else []
            marks += [pytest.mark.gpu] if device == "cuda" else []
            for rule in RULES:
                slow = [] if task in WHOLE.get(physics, ()) or rule in QUICK.get(physics, ()) else [pytest.mark.tasks]
                name = f"{task}-{physics}-{device}-{rule.__name__}"
                yield pytest.param(rule, task, physics, device, id=name, marks=[*marks, *slow])


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
@pytest.mark.parametrize(("rule", "task", "physics", "device"), list(cases()))
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
