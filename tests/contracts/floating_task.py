"""The floating box of `contact_task` as a module of its own, since a task's module is found by its name."""

from .contact_task import FloatingCfg as Cfg
from .contact_task import RockEnv

__all__ = ["Cfg", "load_env"]


def load_env():
    return RockEnv
