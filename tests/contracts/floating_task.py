"""The floating box of `contact_task` as a module of its own, since a task's module is found by its name."""

from .contact_task import RockEnv


def load_env():
    return RockEnv
