"""From settings to a running environment."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmark_app.physics import availability, load_engine, make_backend
from benchmark_app.physics.catalogue import made_for_others
from benchmark_app.physics.given import engine_cfg
from benchmark_app.rendering import availability as rendering_availability
from benchmark_app.rendering import find_renderer, launch_renderer, make_renderer
from benchmark_app.rendering.catalogue import undrawable

from .cfg import EnvCfg
from .devices import absent
from .image_spec import DEFAULT_RENDERER, without_renderer

if TYPE_CHECKING:
    from .torch_env import TorchEnv


def make_env(
    cfg: EnvCfg,
    physics: str,
    num_envs: int,
    device: str = "cpu",
    physics_settings: dict[str, Any] | None = None,
    rendering: str | None = None,
) -> TorchEnv:
    """Build a task's scene in an engine, which is started unless it runs, and the environment around it.

    Args:
        cfg: Task settings; `cfg.module` is imported for the task's code.
        physics: Engine name, one of `benchmark_app.physics.catalogue.ENGINES`.
        num_envs: Rows.
        device: Torch device: cpu, cuda or cuda:N.
        physics_settings: The engine's own settings, by the names in `conf/physics/`.
        rendering: What draws the images that a task observes, one of `benchmark_app.rendering.catalogue.RENDERERS`;
            None: `newton`. A task without images has no renderer, whatever is named.

    Raises:
        ValueError: A setting cannot work, the task is not made for the engine, or the engine, the renderer or the
            device is not there; the message says which, and why.
    """
    if not isinstance(num_envs, int) or isinstance(num_envs, bool) or num_envs < 1:
        raise ValueError(f"num_envs={num_envs!r}: must be a whole number of at least 1")
    if problems := cfg.problems():
        raise ValueError("; ".join(f"task.{problem}" for problem in problems))
    engine = engine_cfg(physics, physics_settings)
    if cfg.declaration is not None and (problem := made_for_others(physics, cfg.name, cfg.declaration.engines)):
        raise ValueError(problem)
    if problem := availability.missing(physics, python=sys.executable):
        raise ValueError(f"physics={physics}: {problem}")
    if problem := absent(device):
        raise ValueError(f"device={device}: {problem}")
    if problem := availability.device_problem(physics, device):
        raise ValueError(problem)
    cameras, renderer = cfg.cameras(), rendering or DEFAULT_RENDERER
    if problem := without_renderer(renderer, cfg.name, cfg.image_groups()):
        raise ValueError(problem)
    if cameras and (problem := cannot_render(renderer, physics, device)):
        raise ValueError(problem)
    module = import_module(cfg.module)
    if not hasattr(module, "load_env"):
        raise ValueError(f"task.module={cfg.module}: has no load_env(), which gives the class of its environment")
    env_class = module.load_env()
    load_engine(physics).launch(device)
    if cameras:
        launch_renderer(renderer, device)
    scene = env_class.scene(cfg, num_envs)
    backend = make_backend(physics, scene, device, **engine.keywords())
    env: TorchEnv = env_class(cfg, backend, num_envs, device=device)
    if cameras:
        try:
            env.set_renderer(make_renderer(renderer, backend, scene, cameras))
        except BaseException:
            env.close()
            raise
    return env


def cannot_render(rendering: str, physics: str, device: str) -> str:
    """Why a renderer cannot be used here, "" where it can."""
    find_renderer(rendering)
    if problem := undrawable(rendering, physics, device):
        return problem
    problem = rendering_availability.missing(rendering, python=sys.executable)
    return f"rendering={rendering}: {problem}" if problem else ""
