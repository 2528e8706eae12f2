"""The quadruped's velocity environment."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch
import warp as wp

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import PDActuator, SceneSpec

from . import kernels
from .cfg import QuadrupedVelocityCfg
from .declaration import DECLARATION, LEGS

ASSETS = Path(__file__).parent / "assets"
DEFAULT_POSE = (0.0, 0.8, -1.6)
"""Hip, thigh and calf of every leg [rad]: each foot below its hip."""
NUM_JOINTS = len(DECLARATION.joints)


class QuadrupedVelocityEnv(TorchEnv):
    """Walk and turn at the velocity commanded.

    An action in [-1, 1] (clamped here) times `action_scale` is the offset of a joint's target from the default pose.
    The policy sees the trunk's velocities, the direction of gravity, the command, joint positions and velocities and
    its last action, and the critic the feet besides; `QuadrupedVelocityCfg.conventions` lists them.
    """

    num_actions = NUM_JOINTS
    obs_groups_spec: ClassVar = {"policy": 12 + 3 * NUM_JOINTS, "critic": 12 + 3 * NUM_JOINTS + 3 * len(LEGS)}
    num_reset_randoms = 9 + NUM_JOINTS
    reward_terms: ClassVar = tuple(DECLARATION.reward_terms)
    metrics: ClassVar = tuple(DECLARATION.metrics)
    recordable = True

    def __init__(
        self, cfg: QuadrupedVelocityCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        with torch.inference_mode(False):
            per_joint, per_leg = (num_envs, NUM_JOINTS), (num_envs, len(LEGS))
            self._default_pos = torch.tensor(DEFAULT_POSE * len(LEGS), device=self.device)
            self._weights = torch.tensor(
                [getattr(cfg, f"reward_{term}") for term in self.reward_terms], device=self.device
            )
            self._action = torch.zeros(per_joint, device=self.device)
            self._command, self._next_command = torch.zeros(2, num_envs, 3, device=self.device)
            self._last_action, self._last_joint_vel = torch.zeros(2, *per_joint, device=self.device)
            self._air_time = torch.zeros(per_leg, device=self.device)
            self._errors = torch.zeros(num_envs, 2, device=self.device)
            self._first = tuple(torch.zeros_like(part) for part in backend.robot_state.values())

    @staticmethod
    def scene(cfg: QuadrupedVelocityCfg, num_envs: int) -> SceneSpec:
        """The robot on flat ground.

        Four feet, four knees and a trunk of eight corners may touch it, each contact a row of constraints in each of
        three directions, and each joint may be at one end of its range.
        """
        reach = 1.0 + 1.5 * cfg.episode_length_s * max(cfg.command_lin_vel_x, cfg.command_lin_vel_y)
        return SceneSpec(
            mjcf=str(ASSETS / "quadruped_velocity.xml"),
            usd=str(ASSETS / "quadruped_velocity.usda"),
            joints=tuple(joint.name for joint in DECLARATION.joints),
            links=tuple(f"{leg}_calf" for leg in LEGS),
            floating=True,
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            ground=True,
            effort_limit=(cfg.effort_limit,) * NUM_JOINTS,
            actuator=PDActuator(stiffness=(cfg.stiffness,) * NUM_JOINTS, damping=(cfg.damping,) * NUM_JOINTS),
            extent=(reach, reach),
            max_contacts=16,
            max_constraints=64 + NUM_JOINTS,
        )

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """Targets of the joints [rad]; see `TorchEnv.apply_action`."""
        given = (actions, self._default_pos, self.task.action_scale)
        self.launch(kernels.aim, self.num_envs, *given, self._action, self.control)
        return self.control

    def observe(self, state: TorchEnvState) -> None:
        """What the policy sees, and for the critic the feet besides."""
        self.launch(
            kernels.observe,
            self.num_envs,
            *self.backend.robot_state.values(),
            self.backend.link_pose,
            self._default_pos,
            self.task.ang_vel_scale,
            self.task.joint_vel_scale,
            self._command,
            self._last_action,
            self._air_time,
            state.obs["policy"],
            state.obs["critic"],
        )

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Reward and termination under the command so far, then what is seen next; see `TorchEnv.update_state`."""
        cfg = self.task
        self.launch(
            kernels.judge,
            self.num_envs,
            *self.backend.robot_state.values(),
            self.backend.link_pose,
            self.control,
            self._action,
            state.info["steps"],
            self._weights,
            cfg.control_dt,
            cfg.stiffness,
            cfg.damping,
            cfg.effort_limit,
            cfg.tracking_std,
            cfg.air_time,
            cfg.max_tilt,
            cfg.trunk_clearance,
            cfg.max_episode_steps // 2,
            self._next_command,
            self._command,
            self._last_action,
            self._last_joint_vel,
            self._air_time,
            self._errors,
            self.terms,
            state.reward,
            state.terminated,
        )
        self.observe(state)
        return state

    def initial_state(self, rows: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """At rest near the default pose, headed anywhere, with the episode's two commands drawn."""
        cfg = self.task
        self.launch(
            kernels.place,
            self.num_envs,
            rows,
            uniform,
            self._default_pos,
            cfg.initial_joint_offset,
            wp.vec3(cfg.command_lin_vel_x, cfg.command_lin_vel_y, cfg.command_ang_vel_z),
            cfg.standing_share,
            *self._first,
            *self.task_state().values(),
        )
        return self._first

    def task_state(self) -> dict[str, torch.Tensor]:
        """What an episode remembers: its commands, the step before, the feet's time in the air, the errors so far."""
        return {
            "next_command": self._next_command,
            "command": self._command,
            "last_action": self._last_action,
            "last_joint_vel": self._last_joint_vel,
            "air_time": self._air_time,
            "errors": self._errors,
        }

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The time limit was reached, with small mean errors."""
        lin, ang = self.episode_metrics(state, env_ids)
        close = torch.logical_and(lin < self.task.max_lin_vel_error, ang < self.task.max_ang_vel_error)
        return torch.logical_and(state.truncated.index_select(0, env_ids), close)

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """Mean errors of velocity and yaw rate over the episode so far."""
        errors, steps = self._errors.index_select(0, env_ids), state.info["steps"].index_select(0, env_ids)
        return torch.div(errors, steps.unsqueeze(1)).T.contiguous()
