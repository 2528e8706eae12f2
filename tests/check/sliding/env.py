from pathlib import Path
from typing import ClassVar

import torch

from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.capabilities import BackendCapabilities
from benchmark_app.physics.scene import JointFacts, LinkFacts, RobotFacts, SceneSpec

from .cfg import DECLARATION

MAX_EFFORT = 2.0


class Rail(SimBackend):
    """N unit masses, each on a rail, stepped by the semi-implicit rule."""

    capabilities = BackendCapabilities(
        devices=("cpu",),
        row_reset=True,
        row_independent=True,
        deterministic=True,
        graph_replay=False,
        floating_base=False,
        contacts=False,
        exact_state=True,
    )

    def __init__(self, spec, damping=0.5):
        self.num_envs, self.spec, self.damping = spec.num_envs, spec, damping
        self.device = torch.device("cpu")
        self.joint_names = spec.joints
        self.joint_pos, self.joint_vel = torch.zeros(2, spec.num_envs, 1)
        self._fault = torch.zeros(())

    def step(self, effort):
        for _ in range(self.spec.decimation):
            self.joint_vel.add_(effort - self.damping * self.joint_vel, alpha=self.spec.physics_dt)
            self.joint_pos.add_(self.joint_vel, alpha=self.spec.physics_dt)

    def reset_rows(self, mask, joint_pos, joint_vel):
        self.joint_pos.copy_(torch.where(mask.unsqueeze(1), joint_pos, self.joint_pos))
        self.joint_vel.copy_(torch.where(mask.unsqueeze(1), joint_vel, self.joint_vel))

    @property
    def fault(self):
        return self._fault

    def describe_fault(self):
        return "the rail broke"

    def robot_facts(self):
        slide = JointFacts(
            name="slide",
            lower=-4.0,
            upper=4.0,
            damping=self.damping,
            armature=0.0,
            friction=0.0,
            effort_limit=MAX_EFFORT,
        )
        mass = LinkFacts(name="mass", mass=1.0, com=(0.0, 0.0, 0.0), inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
        return RobotFacts(joints=(slide,), links=(mass,), gravity=(0.0, 0.0, 0.0), physics_dt=self.spec.physics_dt)

    def diagnostics(self):
        return {}

    def close(self):
        pass


class SlidingEnv(TorchEnv):
    num_actions = 1
    obs_groups_spec: ClassVar = {"policy": 2}
    num_reset_randoms = 2
    reward_terms = tuple(DECLARATION.reward_terms)
    metrics = tuple(DECLARATION.metrics)

    def __init__(self, cfg, backend, num_envs, *, device="cpu"):
        super().__init__(cfg, backend, num_envs, device=device)
        self.action, self.fastest = torch.zeros(2, num_envs)

    @staticmethod
    def scene(cfg, num_envs):
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "mass.xml"),
            joints=("slide",),
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            effort_limit=(MAX_EFFORT,),
            max_contacts=0,
            max_constraints=0,
        )

    def apply_action(self, actions, state):
        self.action.copy_(actions[:, 0].clamp(-1.0, 1.0))
        return torch.mul(self.action.unsqueeze(1), MAX_EFFORT, out=self.control)

    def observe(self, state):
        torch.cat((self.backend.joint_pos, self.backend.joint_vel), 1, out=state.obs["policy"])

    def update_state(self, state):
        self.observe(state)
        distance, speed = state.obs["policy"].abs().unbind(1)
        torch.maximum(self.fastest, speed, out=self.fastest)
        self.terms[:, 0] = -distance * self.cfg.control_dt
        self.terms[:, 1] = -0.1 * self.action**2 * self.cfg.control_dt
        torch.sum(self.terms, 1, out=state.reward)
        state.terminated.copy_(distance > 1.3)
        return state

    def initial_state(self, rows, uniform):
        self.fastest.masked_fill_(rows, 0.0)
        return 2.0 * uniform[:, :1] - 1.0, 2.0 * uniform[:, 1:] - 1.0

    def task_state(self):
        return {"fastest": self.fastest}

    def episode_success(self, state, env_ids):
        return state.obs["policy"][env_ids, 0].abs() < 0.1

    def episode_metrics(self, state, env_ids):
        return torch.stack((state.obs["policy"][env_ids, 0].abs(), self.fastest[env_ids]))
