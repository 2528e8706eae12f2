"""Quadruped velocity: walk as commanded. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import QuadrupedVelocityCfg as Cfg

if TYPE_CHECKING:
    from .env import QuadrupedVelocityEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[QuadrupedVelocityEnv]:
    """The environment class."""
    from .env import QuadrupedVelocityEnv

    return QuadrupedVelocityEnv
