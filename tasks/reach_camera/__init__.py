"""Reach, the arm seen through a camera. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import ReachCameraCfg as Cfg

if TYPE_CHECKING:
    from .env import ReachCameraEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[ReachCameraEnv]:
    """The environment class."""
    from .env import ReachCameraEnv

    return ReachCameraEnv
