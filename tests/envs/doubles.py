"""A tiny engine and task in plain torch, so that the lifecycle is tested in milliseconds and with exact numbers."""

from __future__ import annotations

from typing import ClassVar

import torch

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.capabilities import BackendCapabilities
from benchmark_app.physics.scene import RobotFacts, SceneSpec


class Glider(SimBackend):
    """N unit masses on a line. A control step adds the effort to the velocity and the velocity to the position."""

    capabilities = BackendCapabilities(
        devices=("cpu",),
        row_reset=True,
        row_independent=True,
        deterministic=True,
        graph_replay=False,
        floating_base=False,
        contacts=False,
    )

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.device = torch.device("cpu")
        self.joint_names = ("slide",)
        self.joint_pos = torch.zeros(num_envs, 1)
        self.joint_vel = torch.zeros(num_envs, 1)
        self.closed = 0
        self.receipts = []  # what the coming steps give, for tests that promise them
        self._fault = torch.zeros(())

    def step(self, effort):
        self.joint_vel.add_(effort)
        self.joint_pos.add_(self.joint_vel)

    def reset_rows(self, mask, joint_pos, joint_vel):
        self.joint_pos.copy_(torch.where(mask.unsqueeze(1), joint_pos, self.joint_pos))
        self.joint_vel.copy_(torch.where(mask.unsqueeze(1), joint_vel, self.joint_vel))

    @property
    def fault(self):
        return self._fault

    def describe_fault(self):
        return "the glider broke in row 1"

    def receipt(self):
        return self.receipts.pop(0) if self.receipts else None

    def robot_facts(self):
        return RobotFacts(joints=(), links=(), gravity=(0.0, 0.0, 0.0), physics_dt=0.5)

    def diagnostics(self):
        return {"num_envs": self.num_envs}

    def close(self):
        self.closed += 1


class GliderEnv(TorchEnv):
    """The action is the effort; the reward is the action; a position beyond 100 terminates; success is truncation.

    `spoil` maps a hook's name to what it does to a tensor just filled, for tests that break things.
    """

    num_actions = 1
    obs_groups_spec: ClassVar = {"policy": 2, "critic": 1}
    num_reset_randoms = 1
    reports_success = True

    def __init__(self, num_envs=3, *, steps=4, limit=100.0, backend=None):
        cfg = EnvCfg(
            name="glider", module="", gym_id="Glider-v0", physics_dt=0.5, decimation=2, episode_length_s=float(steps)
        )
        super().__init__(cfg, backend or Glider(num_envs), num_envs)
        self.limit = limit
        self.spoil = {}
        self.reward_value = torch.zeros(num_envs)

    @staticmethod
    def scene(cfg, num_envs):
        return SceneSpec(
            mjcf="",
            joints=("slide",),
            num_envs=num_envs,
            physics_dt=0.5,
            decimation=2,
            max_contacts=0,
            max_constraints=0,
        )

    def _spoiled(self, name, tensor):
        if name in self.spoil:
            self.spoil[name](tensor)

    def apply_action(self, actions, state):
        self.control.copy_(actions)
        self.reward_value.copy_(actions[:, 0])
        self._spoiled("control", self.control)
        return self.control

    def observe(self, state):
        torch.cat((self.backend.joint_pos, self.backend.joint_vel), 1, out=state.obs["policy"])
        state.obs["critic"].copy_(self.backend.joint_pos)
        self._spoiled("observe", state.obs["policy"])

    def update_state(self, state):
        self.observe(state)
        state.reward.copy_(self.reward_value)
        state.terminated.copy_(self.backend.joint_pos[:, 0] > self.limit)
        self._spoiled("policy", state.obs["policy"])
        self._spoiled("critic", state.obs["critic"])
        self._spoiled("reward", state.reward)
        return state

    def initial_state(self, rows, uniform):
        return uniform, torch.zeros_like(uniform)

    def episode_success(self, state, env_ids):
        return state.truncated[env_ids] if self.reports_success else None


class MindfulGliderEnv(GliderEnv):
    """The same with a memory: half of the last action comes on top of the effort, and stands in the observation."""

    def __init__(self, num_envs=3, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.last = torch.zeros(num_envs, 1)

    def apply_action(self, actions, state):
        super().apply_action(actions, state)
        self.control.add_(self.last, alpha=0.5)
        self.last.copy_(actions)
        return self.control

    def observe(self, state):
        super().observe(state)
        state.obs["critic"].copy_(self.last)

    def initial_state(self, rows, uniform):
        self.last.masked_fill_(rows.unsqueeze(1), 0.0)
        return super().initial_state(rows, uniform)

    def task_state(self):
        return {"last": self.last}


def started(num_envs=3, **kwargs):
    env = GliderEnv(num_envs, **kwargs)
    env.init_state()
    return env


def nan_in(row):
    def spoil(tensor):
        tensor[row] = torch.nan

    return spoil
