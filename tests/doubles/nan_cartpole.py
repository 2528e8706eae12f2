"""Cartpole with one number that is not finite in step 12 of episode 5: what `NAN` names, or nothing without it."""

import os

from benchmark_app.tasks.cartpole import Cfg
from benchmark_app.tasks.cartpole import load_env as load_cartpole

__all__ = ["Cfg", "load_env"]

EPISODE, STEP = 5, 12


def load_env():
    class NanCartpole(load_cartpole()):
        def _spoil(self, name, tensor, bad=float("nan")):
            if os.environ.get("NAN") == name:
                here = (self._episode == EPISODE) & (self._steps == STEP)
                tensor[here] = bad
            return tensor

        def apply_action(self, actions, state):
            control = super().apply_action(actions, state)
            self._spoil("velocity", control[:, 0], 1e38)
            self._spoil("control", control[:, 0])
            return control

        def update_state(self, state):
            super().update_state(state)
            self._spoil("observation", state.obs["policy"][:, 2])
            self._spoil("reward", state.reward)
            return state

        def initial_state(self, rows, uniform):
            first = super().initial_state(rows, uniform)
            if os.environ.get("NAN") == "reset":
                first[1][(self._episode == EPISODE + 8) & rows, 1] = float("nan")
            return first

    return NanCartpole
