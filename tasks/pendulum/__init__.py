"""Pendulum: swing up a rod that the motor cannot lift. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import PendulumCfg as Cfg

if TYPE_CHECKING:
    from .env import PendulumEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[PendulumEnv]:
    """The environment class."""
    from .env import PendulumEnv

    return PendulumEnv
