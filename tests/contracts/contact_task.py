"""A task in touch: a box shoved about on rough ground, so that engines carry contacts and warm starts between steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SceneSpec

JOINTS = ("slide", "rise", "tumble")


@dataclass(kw_only=True)
class Cfg(EnvCfg):
    name: str = "shove"
    module: str = "tests.contracts.contact_task"
    gym_id: str = "Shove-Test-v0"
    physics_dt: float = 0.005
    decimation: int = 4
    episode_length_s: float = 0.8


class ShoveEnv(TorchEnv):
    """The action shoves the box along x and turns it; lying still is rewarded; a tilt beyond 0.4 rad terminates."""

    num_actions = 2
    obs_groups_spec: ClassVar = {"policy": 6}
    num_reset_randoms = 3

    @staticmethod
    def scene(cfg, num_envs):
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "planar_box.xml"),
            joints=JOINTS,
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            max_contacts=8,
            max_constraints=48,
        )

    def apply_action(self, actions, state):
        self.control[:, 0] = 8.0 * actions[:, 0]
        self.control[:, 2] = 3.0 * actions[:, 1]
        return self.control

    def observe(self, state):
        torch.cat((self.backend.joint_pos, self.backend.joint_vel), 1, out=state.obs["policy"])

    def update_state(self, state):
        self.observe(state)
        state.reward.copy_(-self.backend.joint_vel.abs().sum(1))
        state.terminated.copy_(self.backend.joint_pos[:, 2].abs() > 0.4)
        return state

    def initial_state(self, rows, uniform):
        return torch.zeros_like(uniform), 0.2 * uniform - 0.1


def load_env():
    return ShoveEnv
