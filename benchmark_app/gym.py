"""Every task as an environment of Gymnasium: the shipped ones and those of installed packages.

Importing this module registers them.

    import gymnasium
    import benchmark_app.gym

    gymnasium.make("Cartpole-Direct-v0", max_effort=50.0)
    gymnasium.make_vec("Cartpole-Direct-v0", num_envs=8, device="cuda:0")

The settings of a task's file are the keyword arguments of its registration, so that `make` replaces any of them, and
`env.spec` tells all. torch and the engine are imported when an environment is made, not before.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from benchmark_app.catalogue.entries import find_tasks, read_settings, unusable_tasks
from benchmark_app.catalogue.environments import make_torch_env

if TYPE_CHECKING:
    from gymnasium.vector import AutoresetMode

    from benchmark_app.envs.gymnasium_envs import TorchSingleEnv, TorchVectorEnv
    from benchmark_app.envs.torch_env import TorchEnv

ENTRY_POINT = f"{__name__}:make_single_env"
VECTOR_ENTRY_POINT = f"{__name__}:make_vector_env"


def register_tasks(folder: Path | None = None) -> list[str]:
    """Register tasks; those registered before are registered anew.

    Args:
        folder: One file `NAME.yaml` for each task. None: the shipped ones and those of installed packages; of those
            that cannot be used, a warning tells why.

    Returns:
        Their ids, `gym_id` in the files.

    Raises:
        ValueError: A file is no task's.
    """
    if folder is None:
        files = [entry.config for entry in find_tasks().values()]
        for name, why in unusable_tasks().items():
            warnings.warn(f"the task {name} is not registered: {why}", stacklevel=2)
    else:
        files = sorted(folder.glob("*.yaml"))
    ids = []
    for path in files:
        settings = read_settings(path)
        gym_id = settings["gym_id"]
        before = gymnasium.registry.get(gym_id)
        if before is not None and before.entry_point == ENTRY_POINT:
            del gymnasium.registry[gym_id]  # Gymnasium warns of a name that is taken
        # No max_episode_steps: it would put a second time limit around the task's own, one that also calls a step
        # truncated that terminated.
        gymnasium.register(gym_id, ENTRY_POINT, vector_entry_point=VECTOR_ENTRY_POINT, kwargs=settings)
        ids.append(gym_id)
    return ids


def make_single_env(
    *,
    physics: str = "newton_mjwarp",
    device: str = "cpu",
    physics_settings: dict[str, Any] | None = None,
    rendering: str | None = None,
    render_mode: None = None,
    **settings: Any,
) -> TorchSingleEnv:
    """Make a task's plain environment; `gymnasium.make` calls this.

    Args:
        physics: The physics engine, one of `benchmark_app.physics.catalogue.ENGINES`.
        device: Torch device it simulates on.
        physics_settings: The engine's own settings.
        rendering: What draws the images that a task observes; see `benchmark_app.envs.make.make_env`.
        render_mode: None; there is no renderer here.
        **settings: The task's settings, `module` among them.

    Raises:
        ValueError: A setting is unknown or cannot work; the message says which.
    """
    env = _torch_env(settings, render_mode, physics, 1, device, physics_settings, rendering)
    from benchmark_app.envs.gymnasium_envs import TorchSingleEnv

    return TorchSingleEnv(env)


def make_vector_env(
    *,
    num_envs: int = 1,
    autoreset_mode: AutoresetMode | str = "SameStep",
    physics: str = "newton_mjwarp",
    device: str = "cpu",
    physics_settings: dict[str, Any] | None = None,
    rendering: str | None = None,
    render_mode: None = None,
    **settings: Any,
) -> TorchVectorEnv:
    """Make a task's vector environment, all rows in one engine; `gymnasium.make_vec` calls this.

    Args:
        num_envs: Rows.
        autoreset_mode: What becomes of rows that finish: `SameStep` or `Disabled`; see `TorchVectorEnv`.
        physics: The physics engine, one of `benchmark_app.physics.catalogue.ENGINES`.
        device: Torch device it simulates on.
        physics_settings: The engine's own settings.
        rendering: What draws the images that a task observes; see `benchmark_app.envs.make.make_env`.
        render_mode: None; there is no renderer here.
        **settings: The task's settings, `module` among them.

    Raises:
        ValueError: A setting is unknown or cannot work; the message says which.
    """
    env = _torch_env(settings, render_mode, physics, num_envs, device, physics_settings, rendering)
    from benchmark_app.envs.gymnasium_envs import TorchVectorEnv

    return TorchVectorEnv(env, autoreset_mode)


def _torch_env(
    settings: dict[str, Any],
    render_mode: None,
    physics: str,
    num_envs: int,
    device: str,
    physics_settings: dict[str, Any] | None,
    rendering: str | None,
) -> TorchEnv:
    if render_mode is not None:
        raise ValueError(f"render_mode={render_mode}: must be None; these environments do not render")
    return make_torch_env(settings, physics, num_envs, device, physics_settings, rendering)


register_tasks()
