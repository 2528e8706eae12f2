"""A task of Gymnasium's own cartpole: what a task module of plain Gymnasium environments looks like. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration


@dataclass(kw_only=True)
class Cfg(EnvCfg):
    declaration: ClassVar[TaskDeclaration | None] = TaskDeclaration(
        suite="classic",
        title="Upright",
        summary="Gymnasium's cartpole, pushed left by a negative action and right by a positive one.",
        robot_type="cartpole",
        control="effort",
        success="The time limit was reached.",
        solved_at=0.9,
        reward_terms={},
        metrics={"lean": "how far the pole leans [rad]"},
        joints=(),
        engines=(),
        sources=(),
    )

    name: str = "upright"
    module: str = "tests.execution.upright"
    gym_id: str = "Upright-Test-v0"
    physics_dt: float = 0.02
    decimation: int = 1
    episode_length_s: float = 1.2
    fails_at: int = 0  # the step of an episode at which its observation is not finite; 0: none
    dies_at: int = 0  # likewise at which the process ends at once
    says: str = ""  # what it prints at every reset


class Upright(gymnasium.Env):
    """Counts what is made of it, so that a test sees when it was made."""

    made = 0

    def __init__(self, cfg):
        if cfg.fails_at < 0:
            raise ValueError(f"fails_at={cfg.fails_at}: no such step")
        Upright.made += 1
        self._cfg, self._inner, self._steps = cfg, CartPoleEnv(), 0
        self.observation_space = spaces.Dict({"policy": spaces.Box(-np.inf, np.inf, (4,), np.float32)})
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None):
        observation, _ = self._inner.reset(seed=seed)
        self._steps = 0
        if self._cfg.says:
            print(self._cfg.says, flush=True)
        return {"policy": observation}, {}

    def step(self, action):
        assert action.dtype == np.float32
        observation, reward, terminated, _, _ = self._inner.step(int(action[0] > 0))
        self._steps += 1
        if self._steps == self._cfg.fails_at:
            observation = np.full(4, np.nan, dtype=np.float32)
        if self._steps == self._cfg.dies_at:
            import os

            print("the simulator has had enough", flush=True)
            os._exit(3)
        late = self._steps >= self._cfg.max_episode_steps
        info = {"is_success": late and not terminated, "metrics": {"lean": abs(float(observation[2]))}}
        return {"policy": observation}, reward, terminated, False, info

    def close(self):
        self._inner.close()


def env_fns(cfg: Cfg, num_envs: int):
    """One factory for each row; nothing is made yet."""
    return [partial(Upright, cfg)] * num_envs
