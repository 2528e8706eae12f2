"""The push environment."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import PDActuator, SceneSpec

from .. import arm_kernels
from . import kernels
from .cfg import ARM_JOINTS, FOREARM, UPPER_ARM, PushCfg
from .declaration import DECLARATION

JOINTS = tuple(joint.name for joint in DECLARATION.joints)
FOLDED_POSE = (-1.3, 2.5)
"""The peg close to the shoulder, so that a box is always beyond it [rad]."""
ACTUATOR = PDActuator(stiffness=(400.0, 150.0, 0.0, 0.0, 0.0), damping=(20.0, 8.0, 0.0, 0.0, 0.0))
"""Nothing but the peg moves the box: its joints have no stiffness, and their damping is in the robot's file."""
EFFORT_LIMIT = (40.0, 20.0, 0.0, 0.0, 0.0)
"""[N·m], and [N] of the box's slides."""


class PushEnv(TorchEnv):
    """Push the box to the target.

    An action in [-1, 1] (clamped here) per joint of the arm moves the target of a PD law at up to `max_joint_speed`.
    The observation is the arm's joint positions [rad] and velocities [rad/s]; peg, box [m], the box's velocity [m/s],
    cosine and sine of four times its yaw, target; the ways from peg to box and from box to target; the last action.
    Success: the box's centre was within `success_distance` of the target at `success_steps` steps in a row.
    """

    num_actions = len(ARM_JOINTS)
    obs_groups_spec: ClassVar = {"policy": 20}
    reward_terms: ClassVar = tuple(DECLARATION.reward_terms)
    metrics: ClassVar = tuple(DECLARATION.metrics)
    num_reset_randoms = 7
    recordable = True

    def __init__(self, cfg: PushCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu") -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        weights = (cfg.reward_approach, cfg.reward_distance, cfg.reward_distance_fine, cfg.reward_action_rate)
        with torch.inference_mode(False):
            self._first_pos, self._first_vel = torch.zeros(2, num_envs, len(JOINTS), device=self.device)
            self._setpoint, self._action, self._previous = torch.zeros(
                3, num_envs, self.num_actions, device=self.device
            )
            self.target = torch.zeros(num_envs, 2, device=self.device)
            self._distance = torch.zeros(num_envs, device=self.device)
            # Steps on target up to now, and the step that made the episode a success, from 1; 0: none yet.
            self._held, self._success_step = torch.zeros(2, num_envs, dtype=torch.int32, device=self.device)
            limits = [(joint.lower, joint.upper) for joint in DECLARATION.joints if joint.name in ARM_JOINTS]
            self._limits = torch.tensor(limits, device=self.device)
            self._folded = torch.tensor(FOLDED_POSE, device=self.device)
            self._weights = torch.tensor(weights, device=self.device) * cfg.control_dt

    @staticmethod
    def scene(cfg: PushCfg, num_envs: int) -> SceneSpec:
        """Arm and box. Peg and box touch at one point, with room for a second; two joints have limits."""
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "assets" / "push.xml"),
            usd=str(Path(__file__).parent / "assets" / "push.usda"),
            joints=JOINTS,
            num_envs=num_envs,
            floor=-0.4,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            friction=cfg.friction,
            effort_limit=EFFORT_LIMIT,
            actuator=ACTUATOR,
            extent=(1.0, 1.0),
            max_contacts=2,
            max_constraints=8,
        )

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """Move the targets of the arm's joints [rad]; see `TorchEnv.apply_action`."""
        step = self.task.max_joint_speed * self.task.control_dt
        buffers = (self._action, self._previous, self._setpoint, self.control)
        self.launch(arm_kernels.move_targets, self.num_envs, actions, step, self._limits, *buffers)
        return self.control

    def observe(self, state: TorchEnvState) -> None:
        """Arm, peg, box, target, the ways from one to the next, last action."""
        joints = (self.backend.joint_pos, self.backend.joint_vel)
        inputs = (*joints, UPPER_ARM, FOREARM, self.target, self._action)
        self.launch(kernels.observe, self.num_envs, *inputs, state.obs["policy"])

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Observation, reward and success so far; see `TorchEnv.update_state`."""
        self.observe(state)
        cfg = self.task
        self.launch(
            kernels.judge,
            self.num_envs,
            self.backend.joint_pos,
            UPPER_ARM,
            FOREARM,
            self.target,
            self._action,
            self._previous,
            state.info["steps"],
            cfg.max_episode_steps,
            cfg.success_distance,
            cfg.success_steps,
            cfg.standoff,
            self._weights,
            cfg.fine_scale,
            self._distance,
            self._held,
            self._success_step,
            self.terms,
            state.reward,
            state.terminated,
        )
        return state

    def initial_state(self, rows: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The arm folded and at rest, a box and a target before it; see `TorchEnv.initial_state`."""
        cfg = self.task
        self.launch(
            kernels.place,
            self.num_envs,
            rows,
            uniform,
            self._folded,
            cfg.initial_joint_spread,
            cfg.box_azimuth,
            cfg.box_radius_min,
            cfg.box_radius_max,
            cfg.box_turn,
            self._first_pos,
            self._setpoint,
            self._action,
            self.target,
            self._held,
            self._success_step,
        )
        return self._first_pos, self._first_vel

    def task_state(self) -> dict[str, torch.Tensor]:
        """The targets of the arm's joints, the last action, the target, and how long the box has been on it."""
        return {
            "setpoint": self._setpoint,
            "action": self._action,
            "target": self.target,
            "held": self._held,
            "success_step": self._success_step,
        }

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The box has been on target for long enough, once."""
        succeeded: torch.Tensor = self._success_step.index_select(0, env_ids) > 0
        return succeeded

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """Distance at this step [m], and time to success [s]; see `TorchEnv.episode_metrics`."""
        distance, step = (values.index_select(0, env_ids) for values in (self._distance, self._success_step))
        return torch.stack((distance, torch.where(step > 0, step * self.task.control_dt, math.nan)))
