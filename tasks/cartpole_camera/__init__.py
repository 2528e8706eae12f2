"""Cartpole seen through a camera. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import CartpoleCameraCfg as Cfg

if TYPE_CHECKING:
    from .env import CartpoleCameraEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[CartpoleCameraEnv]:
    """The environment class."""
    from .env import CartpoleCameraEnv

    return CartpoleCameraEnv
