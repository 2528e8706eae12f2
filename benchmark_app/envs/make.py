"""From settings to a running environment."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmark_app.physics import make_backend

from .cfg import EnvCfg

if TYPE_CHECKING:
    from .torch_env import TorchEnv


def make_env(
    cfg: EnvCfg, physics: str, num_envs: int, device: str = "cpu", physics_settings: dict[str, Any] | None = None
) -> TorchEnv:
    """Build a task's scene in an engine, and the environment around it.

    Args:
        cfg: Task settings; `cfg.module` is imported for the task's code.
        physics: Engine name, one of `benchmark_app.physics.catalogue.ENGINES`.
        num_envs: Rows.
        device: Torch device.
        physics_settings: The engine's own settings.

    Raises:
        ValueError: A setting cannot work; the message says which.
    """
    if not isinstance(num_envs, int) or isinstance(num_envs, bool) or num_envs < 1:
        raise ValueError(f"num_envs={num_envs!r}: must be a whole number of at least 1")
    if problems := cfg.problems():
        raise ValueError("; ".join(f"task.{problem}" for problem in problems))
    env_class = import_module(cfg.module).load_env()
    backend = make_backend(physics, env_class.scene(cfg, num_envs), device, **(physics_settings or {}))
    env: TorchEnv = env_class(cfg, backend, num_envs, device=device)
    return env
