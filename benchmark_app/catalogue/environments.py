"""Tasks as others ask for environments: factories by suite and task, and the same as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmark_app.envs.image_spec import DEFAULT_RENDERER, without_renderer
from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.physics.catalogue import made_for_others
from benchmark_app.physics.given import engine_cfg
from benchmark_app.rendering.catalogue import NONE

from .entries import TaskEntry, TaskError, find_tasks, load_task, task_cfg

if TYPE_CHECKING:
    from benchmark_app.envs.cfg import EnvCfg
    from benchmark_app.envs.gymnasium_envs import TorchSingleEnv
    from benchmark_app.envs.torch_env import TorchEnv

# Keyword arguments of an environment that are not the task's.
OF_THE_ENGINE = ("physics", "device", "physics_settings", "rendering")
# What says which task it is; no setting of it.
OF_THE_ENTRY = ("name", "module", "gym_id")


def env_fns(
    task: str, n_envs: int, gym_kwargs: dict[str, Any] | None = None
) -> dict[str, dict[int, list[Callable[[], TorchSingleEnv]]]]:
    """Factories of Gymnasium's plain environments of a task, or of every task of a suite. Nothing is built or imported.

    Args:
        task: Name of a task, or of a suite.
        n_envs: Factories per task.
        gym_kwargs: `physics`, `device`, `physics_settings`, `rendering`, and settings of the task, as for
            `gymnasium.make`; those of a suite go to each of its tasks.

    Returns:
        Suite to number of the task (in the order of `python -m benchmark_app tasks`) to `n_envs` factories. A factory
        can be pickled, and called in another process.

    Raises:
        TaskError: There is neither a task nor a suite of the name, or a setting cannot be used: it is unknown or cannot
            work, or the task is not made for the engine.
        ValueError: `n_envs` is not a whole number of at least 1.
    """
    if not isinstance(n_envs, int) or isinstance(n_envs, bool) or n_envs < 1:
        raise ValueError(f"n_envs={n_envs!r}: must be a whole number of at least 1")
    found = suites()
    suite, entries = (task, found[task]) if task in found else (_suite_of(load_task(task)), [load_task(task)])
    return {suite: {number: [_factory(entry, gym_kwargs or {})] * n_envs for number, entry in enumerate(entries)}}


def sim_settings(task: str, gym_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
    """The environment of a task as plain data, with every setting spelled out: what a server's YAML would say.

    `env_fns(found["task"], n, **found["kwargs"])` gives factories of exactly this environment. Two environments with
    the same data are the same.

    Args:
        task: Name of the task.
        gym_kwargs: As for `env_fns`.

    Returns:
        `type`, `task` and `kwargs`.

    Raises:
        TaskError: There is no such task, or a setting cannot be used.
    """
    entry = load_task(task)
    return {"type": "benchmark_app", "task": entry.name, "kwargs": {"gym_kwargs": _resolved(entry, gym_kwargs or {})}}


def suites(entries: dict[str, TaskEntry] | None = None) -> dict[str, list[TaskEntry]]:
    """Tasks by suite, in the order of their names; `""` holds those that declare none.

    Args:
        entries: The tasks; all that are found by default.
    """
    found: dict[str, list[TaskEntry]] = {}
    for entry in (find_tasks() if entries is None else entries).values():
        found.setdefault(_suite_of(entry), []).append(entry)
    return dict(sorted(found.items()))


def make_torch_env(
    settings: dict[str, Any],
    physics: str = "newton_mjwarp",
    num_envs: int = 1,
    device: str = "cpu",
    physics_settings: dict[str, Any] | None = None,
    rendering: str | None = None,
) -> TorchEnv:
    """Build a task's environment from its settings by name, `module` among them; see `envs.make.make_env`.

    Raises:
        ValueError: A setting is unknown or cannot work; the message says which.
    """
    cfg = task_cfg(settings)
    from benchmark_app.execution.make import make_execution_env

    return make_execution_env(cfg, physics, num_envs, device, physics_settings, rendering=rendering)


def _make_one(settings: dict[str, Any], engine: dict[str, Any]) -> TorchSingleEnv:
    env = make_torch_env(settings, **engine)
    from benchmark_app.envs.gymnasium_envs import TorchSingleEnv

    return TorchSingleEnv(env)


def _factory(entry: TaskEntry, gym_kwargs: dict[str, Any]) -> Callable[[], TorchSingleEnv]:
    resolved = _resolved(entry, gym_kwargs)
    engine = {key: resolved.pop(key) for key in OF_THE_ENGINE}
    return partial(_make_one, resolved, engine)


def _resolved(entry: TaskEntry, gym_kwargs: dict[str, Any]) -> dict[str, Any]:
    engine: dict[str, Any] = {"physics": "newton_mjwarp", "device": "cpu", "physics_settings": {}, "rendering": None}
    engine |= {key: value for key, value in gym_kwargs.items() if key in engine}
    changes = {key: value for key, value in gym_kwargs.items() if key not in engine}
    own = asdict(entry.cfg())
    for key in OF_THE_ENTRY:
        if changes.get(key, own[key]) != own[key]:
            raise TaskError(f"task.{key}={changes[key]}: must be {own[key]}, or left out; it says which task this is")
    cfg = entry.cfg(**changes)
    engine["rendering"] = engine["rendering"] or (DEFAULT_RENDERER if cfg.image_groups() else NONE)
    problems = [f"task.{problem}" for problem in cfg.problems()] + _of_the_engine(cfg, **engine)
    if problems:
        raise TaskError("; ".join(problems))
    return {**engine, **asdict(cfg)}


def _of_the_engine(cfg: EnvCfg, physics: Any, device: Any, physics_settings: Any, rendering: Any) -> list[str]:
    """What keeps an engine from being used for a task, as far as that is known without starting it."""
    found = [problem for problem in [without_renderer(str(rendering), cfg.name, cfg.image_groups())] if problem]
    try:
        engine_cfg(str(physics), physics_settings)
    except ValueError as error:
        found.append(str(error))
    else:
        if cfg.declaration is not None and not is_gymnasium(cfg.module):
            found += filter(None, [made_for_others(physics, cfg.name, cfg.declaration.engines)])
    if not re.fullmatch(r"cpu|cuda(:\d+)?", str(device)):
        found.append(f"device={device}: must be cpu, cuda or cuda:N")
    return found


def _suite_of(entry: TaskEntry) -> str:
    declaration = entry.cfg().declaration
    return declaration.suite if declaration is not None else ""
