"""The shoved box of the contracts, with room for too few constraints: its engine counts what it drops, in silence."""

from dataclasses import replace

from tests.contracts.contact_task import Cfg, ShoveEnv

__all__ = ["Cfg", "load_env"]


def load_env():
    class CrampedBox(ShoveEnv):
        @staticmethod
        def scene(cfg, num_envs):
            return replace(ShoveEnv.scene(cfg, num_envs), max_constraints=4)

    return CrampedBox
