"""Reach: bring an arm's tool to a random point and hold it. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import ReachCfg as Cfg

if TYPE_CHECKING:
    from .env import ReachEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[ReachEnv]:
    """The environment class."""
    from .env import ReachEnv

    return ReachEnv
