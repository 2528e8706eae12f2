"""The pendulum environment."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

import torch
import warp as wp

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from . import kernels
from .cfg import PendulumCfg
from .declaration import DECLARATION

ASSETS = Path(__file__).parent / "assets"


class PendulumEnv(TorchEnv):
    """Swing up a rod that the motor in its hinge cannot lift, and keep it upright.

    An action in [-1, 1] (clamped here) times `max_torque` is the torque at the hinge. The observation is cosine and
    sine of the angle from upright and the angular velocity [rad/s]. Success: upright for the last `upright_time`.
    """

    num_actions = 1
    obs_groups_spec: ClassVar = {"policy": 3}
    num_reset_randoms = 2
    reward_terms: ClassVar = tuple(DECLARATION.reward_terms)
    metrics: ClassVar = tuple(DECLARATION.metrics)
    recordable = True

    def __init__(
        self, cfg: PendulumCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        with torch.inference_mode(False):
            self._first_pos, self._first_vel = torch.zeros(2, num_envs, 1, device=self.device)
            self._angle = torch.zeros(num_envs, device=self.device)
            self._upright_since = torch.full((num_envs,), -1, dtype=torch.int64, device=self.device)

    @staticmethod
    def scene(cfg: PendulumCfg, num_envs: int) -> SceneSpec:
        """The rod on its hinge. There is nothing to be constrained, but engines want room for one row."""
        return SceneSpec(
            mjcf=str(ASSETS / "pendulum.xml"),
            usd=str(ASSETS / "pendulum.usda"),
            joints=tuple(joint.name for joint in DECLARATION.joints),
            num_envs=num_envs,
            floor=-1.1,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            max_contacts=0,
            max_constraints=1,
        )

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """The torque at the hinge [N·m]; see `TorchEnv.apply_action`."""
        self.launch(kernels.drive, self.num_envs, actions, self.task.max_torque, self.control)
        return self.control

    def observe(self, state: TorchEnvState) -> None:
        """Cosine and sine of the angle, and the angular velocity."""
        joints = (self.backend.joint_pos, self.backend.joint_vel)
        self.launch(kernels.observe, self.num_envs, *joints, state.obs["policy"])

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Observation, reward, and how long the rod has been upright; see `TorchEnv.update_state`."""
        self.observe(state)
        cfg = self.task
        self.launch(
            kernels.judge,
            self.num_envs,
            state.obs["policy"],
            self.control,
            state.info["steps"],
            wp.vec3(cfg.reward_angle, cfg.reward_velocity, cfg.reward_torque),
            cfg.control_dt,
            cfg.upright_angle,
            self._angle,
            self._upright_since,
            self.terms,
            state.reward,
        )
        return state

    def initial_state(self, rows: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Uniform within plus and minus the initial ranges; see `TorchEnv.initial_state`."""
        ranges = (self.task.initial_angle, self.task.initial_velocity)
        first = (self._first_pos, self._first_vel)
        self.launch(kernels.place, self.num_envs, rows, uniform, *ranges, *first, self._upright_since)
        return first

    def task_state(self) -> dict[str, torch.Tensor]:
        """Since which step of its episode each rod has been upright."""
        return {"upright_since": self._upright_since}

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """Upright for at least `upright_time`, up to this step."""
        since = self._upright_since.index_select(0, env_ids)
        needed = math.ceil(self.task.upright_time / self.task.control_dt - 1e-6)
        lasted = state.info["steps"].index_select(0, env_ids) - since
        return torch.logical_and(since >= 0, lasted >= needed)

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The angle from upright now, and when the rod came up."""
        since = self._upright_since[env_ids]
        came_up = torch.where(since >= 0, since * self.task.control_dt, math.nan)
        return torch.stack((self._angle[env_ids].abs(), came_up))
