"""From settings to environments, wherever they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from benchmark_app.envs.cfg import EnvCfg

from .cfg import LOCAL, PROCESS, ExecutionCfg, is_gymnasium
from .hosting import make_host

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv


def holds_engine(execution: str, module: str) -> bool:
    """Whether the process that asks for an environment holds its engine, too."""
    return execution == LOCAL and not is_gymnasium(module)


def make_execution_env(
    cfg: EnvCfg,
    physics: str,
    num_envs: int,
    device: str = "cpu",
    physics_settings: dict[str, Any] | None = None,
    execution: ExecutionCfg | None = None,
    *,
    threads: int = 1,
    log_of: Callable[[int], Path] | None = None,
    beside: tuple[int, int] = (0, 1),
    rendering: str | None = None,
) -> TorchEnv:
    """Build a task's environment where the settings say.

    Args:
        cfg: Task settings.
        physics: Engine name; a task of Gymnasium's environments does not look at it.
        num_envs: Rows.
        device: Torch device: cpu, cuda or cuda:N.
        physics_settings: The engine's own settings.
        execution: Where; None: in this process.
        threads: CPU threads of every other process.
        log_of: Files for the output of other processes, by their number.
        beside: Number of this process among those that do the same on this machine, and how many they are.
        rendering: What draws the images that a task observes; see `envs.make.make_env`.

    Returns:
        A `TorchEnv`, or a `RemoteEnv`, which offers what libraries, workflows and checks use of one.

    Raises:
        ValueError: A setting cannot work; see `envs.make.make_env`.
        LinkError: A process that was to hold environments died, or took too long.
    """
    execution = execution or ExecutionCfg()
    if holds_engine(execution.name, cfg.module):
        from benchmark_app.envs.make import make_env

        return make_env(cfg, physics, num_envs, device, physics_settings, rendering)
    from .remote_env import RemoteEnv

    environments: dict[str, Any] = {
        "task": asdict(cfg),
        "physics": physics,
        "physics_settings": physics_settings,
        "device": device,
        "threads": threads,
        "rendering": rendering,
    }
    if execution.name == LOCAL:
        from .link import DirectLink

        return cast("TorchEnv", RemoteEnv(cfg, [DirectLink(make_host(**environments, rows=num_envs))], device=device))
    if execution.name == PROCESS:
        from .process.start import start

        return cast("TorchEnv", RemoteEnv(cfg, start(environments, num_envs, execution, log_of, beside), device=device))
    from .served.start import start as start_served

    link = start_served(environments, num_envs, execution, log_of)
    return cast("TorchEnv", RemoteEnv(cfg, [link], device=device))
