"""Tasks in touch: boxes shoved about on rough ground, so that engines carry contacts and warm starts between steps.

One is held in a vertical plane by joints; the other floats, and falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.scene import SceneSpec

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
            usd=str(Path(__file__).parent / "planar_box.usda"),
            joints=JOINTS,
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            ground=True,
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


@dataclass(kw_only=True)
class FloatingCfg(EnvCfg):
    name: str = "rock"
    module: str = "tests.contracts.floating_task"
    gym_id: str = "Rock-Test-v0"
    physics_dt: float = 0.005
    decimation: int = 4
    episode_length_s: float = 0.8


class RockEnv(TorchEnv):
    """The action shifts the weight in a box that was dropped; it terminates 6 cm away from where it fell."""

    num_actions = 1
    obs_groups_spec: ClassVar = {"policy": 15 + 13}
    num_reset_randoms = 6

    @staticmethod
    def scene(cfg, num_envs):
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "floating_box.xml"),
            usd=str(Path(__file__).parent / "floating_box.usda"),
            joints=("rail",),
            links=("weight",),
            floating=True,
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            ground=True,
            friction=0.6,
            effort_limit=(15.0,),
            max_contacts=8,
            max_constraints=48,
        )

    def apply_action(self, actions, state):
        return self.control.copy_(20.0 * actions)

    def observe(self, state):
        links = (self.backend.link_pose[:, 0], self.backend.link_vel[:, 0])
        torch.cat((*self.backend.robot_state.values(), *links), 1, out=state.obs["policy"])

    def update_state(self, state):
        self.observe(state)
        state.reward.copy_(-self.backend.root_vel.abs().sum(1))
        state.terminated.copy_(self.backend.root_pose[:, :2].norm(dim=1) > 0.06)
        return state

    def initial_state(self, rows, uniform):
        pose = torch.tensor([0.0, 0.0, 0.17, 0.0, 0.0, 0.0, 1.0], device=uniform.device)
        return (
            torch.zeros_like(uniform[:, :1]),
            torch.zeros_like(uniform[:, :1]),
            pose.repeat(len(rows), 1),
            uniform - 0.5,
        )


def load_env():
    return ShoveEnv
