"""The reach environment."""

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
from .cfg import ReachCfg
from .declaration import DECLARATION

JOINTS = tuple(joint.name for joint in DECLARATION.joints)
DEFAULT_POSE = (0.0, 0.2, 1.4, 0.0, 0.9, 0.0)
"""Elbow bent, the tool half a metre in front of the base and pointing down steeply [rad]."""
ACTUATOR = PDActuator(
    stiffness=(1000.0, 1500.0, 800.0, 150.0, 150.0, 60.0),
    damping=(60.0, 80.0, 40.0, 7.0, 7.0, 3.0),
)
"""Near critical damping in the default pose, and stable at this physics step with the arm drawn in."""
EFFORT_LIMIT = (150.0, 150.0, 100.0, 30.0, 30.0, 10.0)
"""[N·m]; about three times what holding the stretched arm takes."""


class ReachEnv(TorchEnv):
    """Bring the tip of the tool to the target and hold it there.

    An action in [-1, 1] (clamped here) per joint moves the target of a PD law at up to `max_joint_speed`. The
    observation is joint positions [rad] and velocities [rad/s], tip, target and the way from tip to target [m], and
    the last action. Success: the tip was within `success_distance` of the target at `success_steps` steps in a row.
    """

    num_actions = len(JOINTS)
    obs_groups_spec: ClassVar = {"policy": 3 * len(JOINTS) + 9}
    reward_terms: ClassVar = tuple(DECLARATION.reward_terms)
    metrics: ClassVar = tuple(DECLARATION.metrics)
    num_reset_randoms = len(JOINTS) + 3
    recordable = True

    def __init__(
        self, cfg: ReachCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        region = [
            (-cfg.target_azimuth, cfg.target_azimuth),
            (cfg.target_radius_min, cfg.target_radius_max),
            (cfg.target_height_min, cfg.target_height_max),
        ]
        weights = (cfg.reward_distance, cfg.reward_distance_fine, cfg.reward_action_rate)
        with torch.inference_mode(False):
            self._first_pos, self._first_vel, self._setpoint, self._action, self._previous = torch.zeros(
                5, num_envs, len(JOINTS), device=self.device
            )
            self.target = torch.zeros(num_envs, 3, device=self.device)
            self._distance = torch.zeros(num_envs, device=self.device)
            # Steps on target up to now, and the step that made the episode a success, from 1; 0: none yet.
            self._held, self._success_step = torch.zeros(2, num_envs, dtype=torch.int32, device=self.device)
            limits = [(joint.lower, joint.upper) for joint in DECLARATION.joints]
            self._limits, self._region = (torch.tensor(rows, device=self.device) for rows in (limits, region))
            self._default = torch.tensor(DEFAULT_POSE, device=self.device)
            self._weights = torch.tensor(weights, device=self.device) * cfg.control_dt

    @staticmethod
    def scene(cfg: ReachCfg, num_envs: int) -> SceneSpec:
        """The arm. The only constraints are its joints' limits."""
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "assets" / "reach.xml"),
            usd=str(Path(__file__).parent / "assets" / "reach.usda"),
            joints=JOINTS,
            links=("tool",),
            num_envs=num_envs,
            floor=0.0,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            effort_limit=EFFORT_LIMIT,
            actuator=ACTUATOR,
            max_contacts=0,
            max_constraints=len(JOINTS),
        )

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """Move the joints' targets [rad]; see `TorchEnv.apply_action`."""
        step = self.task.max_joint_speed * self.task.control_dt
        buffers = (self._action, self._previous, self._setpoint, self.control)
        self.launch(arm_kernels.move_targets, self.num_envs, actions, step, self._limits, *buffers)
        return self.control

    def observe(self, state: TorchEnvState) -> None:
        """Joint positions and velocities, tip, target, the way between them, last action."""
        engine = self.backend
        inputs = (engine.joint_pos, engine.joint_vel, engine.link_pose, self.target, self._action)
        self.launch(kernels.observe, self.num_envs, *inputs, state.obs["policy"])

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Observation, reward and success so far; see `TorchEnv.update_state`."""
        self.observe(state)
        cfg = self.task
        self.launch(
            kernels.judge,
            self.num_envs,
            self.backend.link_pose,
            self.target,
            self._action,
            self._previous,
            state.info["steps"],
            cfg.max_episode_steps,
            cfg.success_distance,
            cfg.success_steps,
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
        """Near the default pose, at rest, with a new target; see `TorchEnv.initial_state`."""
        self.launch(
            kernels.place,
            self.num_envs,
            rows,
            uniform,
            self._default,
            self.task.initial_joint_spread,
            self._region,
            self._first_pos,
            self._setpoint,
            self._action,
            self.target,
            self._held,
            self._success_step,
        )
        return self._first_pos, self._first_vel

    def task_state(self) -> dict[str, torch.Tensor]:
        """The joints' targets, the last action, the target, and how long the tip has been on it."""
        return {
            "setpoint": self._setpoint,
            "action": self._action,
            "target": self.target,
            "held": self._held,
            "success_step": self._success_step,
        }

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The tip has been on target for long enough, once."""
        succeeded: torch.Tensor = self._success_step.index_select(0, env_ids) > 0
        return succeeded

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """Distance at this step [m], and time to success [s]; see `TorchEnv.episode_metrics`."""
        distance, step = (values.index_select(0, env_ids) for values in (self._distance, self._success_step))
        return torch.stack((distance, torch.where(step > 0, step * self.task.control_dt, math.nan)))
