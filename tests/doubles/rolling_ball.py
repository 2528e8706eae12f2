"""A task of Gymnasium's environments that imports nothing but NumPy and Gymnasium: push a ball to the middle of a line.

`ROLLING` says what goes wrong, as `what@step`: kill (the process), raise (what no environment should), hang, nan.
"""

import os
import signal
import time
from dataclasses import dataclass

import gymnasium
import numpy as np

from benchmark_app.envs.cfg import EnvCfg


@dataclass
class Cfg(EnvCfg):
    name: str = "rolling_ball"
    module: str = "rolling_ball"
    gym_id: str = "Rolling-Ball-v0"
    physics_dt: float = 0.02
    decimation: int = 2
    episode_length_s: float = 0.8
    push: float = 5.0


class Ball(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, cfg):
        self.cfg, self.taken = cfg, 0
        self.at = self.speed = 0.0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.speed = self.np_random.uniform(-1, 1, 2)
        return self._seen(), {}

    def step(self, action):
        self.taken += 1
        misbehave(self.taken)
        self.speed += self.cfg.push * float(np.clip(action[0], -1, 1)) * self.cfg.control_dt
        self.at += self.speed * self.cfg.control_dt
        return self._seen(), 1.0 - abs(self.at), abs(self.at) > 1.3, False, {"is_success": abs(self.at) < 0.2}

    def _seen(self):
        return np.array([self.at, self.speed], dtype=np.float32)


def misbehave(step):
    what, _, when = os.environ.get("ROLLING", "").partition("@")
    if not what or step != int(when):
        return
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ZeroDivisionError("the ball is flat")
    if what == "hang":
        time.sleep(3600)


def env_fns(cfg, num_envs):
    return [lambda: Ball(cfg)] * num_envs
