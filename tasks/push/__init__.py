"""Push: a two-joint arm shoves a box to a target. This module is light; `load_env` brings in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cfg import PushCfg as Cfg

if TYPE_CHECKING:
    from .env import PushEnv

__all__ = ["Cfg", "load_env"]


def load_env() -> type[PushEnv]:
    """The environment class."""
    from .env import PushEnv

    return PushEnv
