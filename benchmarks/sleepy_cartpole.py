"""Cartpole whose every environment step takes longer by `SLEEPY_CARTPOLE_S` seconds, for `detect_slowdown.py`.

It waits by looking at the clock: a sleep of a few microseconds lasts as long as the scheduler likes.
"""

import os
import time

from benchmark_app.tasks.cartpole import Cfg
from benchmark_app.tasks.cartpole import load_env as load_cartpole

__all__ = ["Cfg", "load_env"]


def load_env():
    class SleepyCartpole(load_cartpole()):
        recordable = True  # it is not inherited: what waits is Python, but outside of the hooks

        def step(self, actions):
            end = time.perf_counter() + float(os.environ.get("SLEEPY_CARTPOLE_S", "0"))
            while time.perf_counter() < end:
                pass
            return super().step(actions)

    return SleepyCartpole
