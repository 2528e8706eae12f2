"""Cartpole: balance a pole on a cart. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import CartpoleCfg as Cfg

if TYPE_CHECKING:
    from .env import CartpoleEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[CartpoleEnv]:
    """The environment class."""
    from .env import CartpoleEnv

    return CartpoleEnv
