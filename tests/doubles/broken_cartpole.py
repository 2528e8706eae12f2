"""Cartpole on the real engine that fails in the step named by `BROKEN`, as `what@step`: raise, os_exit, nan, sleep."""

import os
import time

from benchmark_app.tasks.cartpole import Cfg
from benchmark_app.tasks.cartpole import load_env as load_cartpole

__all__ = ["Cfg", "load_env"]


def load_env():
    class BrokenCartpole(load_cartpole()):
        steps = 0

        def apply_action(self, actions, state):
            self.steps += 1
            what, _, when = os.environ.get("BROKEN", "").partition("@")
            if what and self.steps == int(when):
                if what == "raise":
                    raise RuntimeError("the task is broken")
                if what == "os_exit":
                    os._exit(0)
                if what == "nan":
                    return super().apply_action(actions, state) * float("nan")
            if what == "sleep":
                time.sleep(0.002)
            return super().apply_action(actions, state)

    return BrokenCartpole
