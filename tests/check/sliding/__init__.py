"""A small task with a small engine of its own, in plain torch, so that checks are tested in milliseconds."""

from .cfg import SlidingCfg as Cfg

__all__ = ["Cfg", "load_env"]


def load_env():
    from .env import SlidingEnv

    return SlidingEnv
