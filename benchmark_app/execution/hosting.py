"""From plain data to a host: what a process that holds environments is told to build. NumPy only, if that will do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .cfg import is_gymnasium

if TYPE_CHECKING:
    from benchmark_app.envs.cfg import EnvCfg

    from .host import EnvHost


def task_of(settings: dict[str, Any]) -> EnvCfg:
    """The settings of a task, from plain data."""
    cfg: EnvCfg = import_module(settings["module"]).Cfg(**settings)
    return cfg


def make_host(
    task: dict[str, Any],
    rows: int,
    physics: str = "",
    physics_settings: dict[str, Any] | None = None,
    device: str = "cpu",
    first_row: int = 0,
    total_rows: int | None = None,
    threads: int = 1,
    rendering: str | None = None,
) -> EnvHost:
    """Build environments.

    Args:
        task: The task's settings, `module` among them.
        rows: How many.
        physics: The engine; a task of Gymnasium's environments has none.
        physics_settings: The engine's own settings.
        device: Torch device, for an engine.
        first_row: Number of the first row here.
        total_rows: Rows in all; None: `rows`.
        threads: CPU threads of torch.
        rendering: What draws the images that a task observes; see `envs.make.make_env`.

    Raises:
        ValueError: They cannot be built; the message says why.
    """
    cfg = task_of(task)
    if is_gymnasium(cfg.module):
        from .gym_host import GymHost

        return GymHost(cfg, rows, first_row, total_rows)
    from .torch_host import build

    return build(cfg, rows, physics, physics_settings, device, first_row, total_rows, threads, rendering)
