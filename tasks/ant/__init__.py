"""Ant: walk on four legs towards a far target. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import AntCfg as Cfg

if TYPE_CHECKING:
    from .env import AntEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[AntEnv]:
    """The environment class."""
    from .env import AntEnv

    return AntEnv
