"""Humanoid: walk on two legs towards a far target. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import HumanoidCfg as Cfg

if TYPE_CHECKING:
    from .env import HumanoidEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[HumanoidEnv]:
    """The environment class."""
    from .env import HumanoidEnv

    return HumanoidEnv
