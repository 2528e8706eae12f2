"""The cartpole environment."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from . import kernels
from .cfg import CartpoleCfg
from .declaration import DECLARATION

JOINTS = tuple(joint.name for joint in DECLARATION.joints)


class CartpoleEnv(TorchEnv):
    """Push a cart along a rail so that the pole on it stays upright.

    An action in [-1, 1] (clamped here) times `max_effort` is the force on the cart. The observation is pole angle
    [rad], pole velocity [rad/s], cart position [m], cart velocity [m/s]. Success: the time limit was reached.
    """

    num_actions = 1
    obs_groups_spec: ClassVar = {"policy": 4}
    num_reset_randoms = 4
    reward_terms = tuple(DECLARATION.reward_terms)
    metrics = tuple(DECLARATION.metrics)
    recordable = True

    def __init__(
        self, cfg: CartpoleCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        with torch.inference_mode(False):
            self._first_pos, self._first_vel = torch.zeros(2, num_envs, len(JOINTS), device=self.device)
            self._measured = torch.zeros(len(self.metrics), num_envs, device=self.device)
            self._ranges = torch.tensor(
                [
                    cfg.initial_cart_position,
                    cfg.initial_pole_angle,
                    cfg.initial_cart_velocity,
                    cfg.initial_pole_velocity,
                ],
                device=self.device,
            )

    @staticmethod
    def scene(cfg: CartpoleCfg, num_envs: int) -> SceneSpec:
        """Cart and pole. The only constraint is one end of the rail at a time."""
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "assets" / "cartpole.xml"),
            usd=str(Path(__file__).parent / "assets" / "cartpole.usda"),
            joints=JOINTS,
            num_envs=num_envs,
            floor=-1.1,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            max_contacts=0,
            max_constraints=2,
        )

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """A force on the cart [N]; the hinge is not driven. See `TorchEnv.apply_action`."""
        self.launch(kernels.push, self.num_envs, actions, self.task.max_effort, self.control)
        return self.control

    def observe(self, state: TorchEnvState) -> None:
        """Pole angle, pole velocity, cart position, cart velocity."""
        joints = (self.backend.joint_pos, self.backend.joint_vel)
        wrap = self.task.max_pole_angle is None
        self.launch(kernels.observe, self.num_envs, *joints, wrap, self._numbers(state))

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Observation, termination and reward; see `TorchEnv.update_state`."""
        self.observe(state)
        cfg = self.task
        self.launch(
            kernels.judge,
            self.num_envs,
            self._numbers(state),
            cfg.max_cart_position,
            math.inf if cfg.max_pole_angle is None else cfg.max_pole_angle,
            cfg.control_dt,
            cfg.reward_alive,
            cfg.reward_terminated,
            cfg.reward_pole_angle,
            cfg.reward_cart_velocity,
            cfg.reward_pole_velocity,
            self.terms,
            state.reward,
            state.terminated,
            self._measured,
        )
        return state

    def _numbers(self, state: TorchEnvState) -> torch.Tensor:
        """Where the four numbers stand `[N, 4]`, by which reward and termination are judged."""
        return state.obs["policy"]

    def initial_state(self, rows: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Uniform within plus and minus the initial ranges; see `TorchEnv.initial_state`."""
        first = (self._first_pos, self._first_vel)
        self.launch(kernels.place, self.num_envs, rows, uniform, self._ranges, *first)
        return first

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The time limit was reached."""
        return state.truncated.index_select(0, env_ids)

    def episode_metrics(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """How far the pole is from upright [rad], and the cart from the middle [m]."""
        return self._measured.index_select(1, env_ids)
