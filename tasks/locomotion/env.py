"""The environment of walking towards a far target; a robot adds its scene and its default pose."""

from __future__ import annotations

from typing import ClassVar

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend

from . import kernels
from .cfg import LocomotionCfg
from .declaration import METRICS, REWARD_TERMS


class LocomotionEnv(TorchEnv):
    """Walk as far towards a far target as possible without falling; see `LocomotionCfg` for what is rewarded.

    A robot of D joints has D actions, each the part of a motor's torque to use, in [-1, 1] (clamped here), and observes
    12 + 3 D numbers, named by `LocomotionCfg.conventions`. Success: far enough by the time limit.

    Attributes:
        default_pose: Joint positions about which episodes begin [rad], in the order of the declaration.
    """

    reward_terms = tuple(REWARD_TERMS)
    metrics = tuple(METRICS)
    default_pose: ClassVar[tuple[float, ...]]

    def __init__(
        self, cfg: LocomotionCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        assert cfg.declaration is not None
        gears, dt = torch.tensor(cfg.gears), cfg.control_dt
        with torch.inference_mode(False):
            self._strengths = cfg.action_scale * gears
            self._gear_shares = gears / gears.max()
            self._limits = torch.tensor([[joint.lower, joint.upper] for joint in cfg.declaration.joints])
            self._default_pose = torch.tensor(self.default_pose)
            self._weights = torch.tensor(
                [
                    cfg.reward_progress,
                    dt * cfg.reward_alive,
                    dt * cfg.reward_up,
                    dt * cfg.reward_heading,
                    dt * cfg.reward_action,
                    dt * cfg.reward_energy,
                    dt * cfg.reward_joint_limit,
                    cfg.reward_death,
                ]
            )
            for name in ("_strengths", "_gear_shares", "_limits", "_default_pose", "_weights"):
                setattr(self, name, getattr(self, name).to(self.device, torch.float32).contiguous())
            joints = len(gears)
            self._last_actions, self._first_pos, self._first_vel = torch.zeros(3, num_envs, joints, device=self.device)
            self._last_place = torch.zeros(num_envs, 2, device=self.device)
            self._first_pose = torch.zeros(num_envs, 7, device=self.device)
            self._still = torch.zeros(num_envs, 6, device=self.device)

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """A torque for every joint; see `TorchEnv.apply_action`."""
        remembered = (self._last_actions, self._last_place)
        pose = self._root()[0]
        self.launch(kernels.drive, self.num_envs, actions, self._strengths, pose, *remembered, self.control)
        return self.control

    def observe(self, state: TorchEnvState) -> None:
        """Torso, joints and last actions, as `LocomotionCfg.conventions` names them."""
        cfg, backend = self.task, self.backend
        self.launch(
            kernels.observe,
            self.num_envs,
            *self._root(),
            backend.joint_pos,
            backend.joint_vel,
            self._last_actions,
            self._limits,
            cfg.target_distance,
            cfg.angular_velocity_scale,
            cfg.joint_velocity_scale,
            state.obs["policy"],
        )

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Observation, termination and reward; see `TorchEnv.update_state`."""
        self.observe(state)
        cfg = self.task
        self.launch(
            kernels.judge,
            self.num_envs,
            state.obs["policy"],
            self._root()[0],
            self.backend.joint_vel,
            self._last_actions,
            self._last_place,
            self._gear_shares,
            self._weights,
            cfg.target_distance,
            cfg.min_height,
            cfg.up_threshold,
            cfg.heading_threshold,
            cfg.joint_limit_threshold,
            self.terms,
            state.reward,
            state.terminated,
        )
        return state

    def initial_state(self, rows: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """At rest above the origin, the joints near the default pose; see `TorchEnv.initial_state`."""
        cfg, first = self.task, (self._first_pos, self._first_vel, self._first_pose)
        drawn = (cfg.initial_height, cfg.initial_joint_pos, cfg.initial_joint_vel)
        fixed = (self._default_pose, self._limits)
        self.launch(kernels.place, self.num_envs, rows, uniform, *fixed, *drawn, self._last_actions, *first)
        return *first, self._still

    def task_state(self) -> dict[str, torch.Tensor]:
        """The last actions, which are observed."""
        return {"last_actions": self._last_actions}

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The time limit was reached, far enough from the start."""
        come = self.episode_metrics(state, env_ids)[0]
        return state.truncated.index_select(0, env_ids) & (come >= self.task.success_distance)

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """How much nearer to the target [m], and how fast on average [m/s]; see `TorchEnv.episode_metrics`."""
        target, pose = self.task.target_distance, self._root()[0].index_select(0, env_ids)
        x, y = pose[:, 0], pose[:, 1]
        nearer = (x * (2.0 * target - x) - y * y) / (target + torch.hypot(target - x, y))  # as `kernels.nearer`
        seconds = state.info["steps"].index_select(0, env_ids) * self.task.control_dt
        return torch.stack((nearer, nearer / seconds))  # 0 / 0 before the first step: NaN

    def _root(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Pose and velocity of the torso."""
        pose, velocity = self.backend.root_pose, self.backend.root_vel
        assert pose is not None
        assert velocity is not None
        return pose, velocity
