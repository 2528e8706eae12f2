"""The cartpole environment."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.base import SceneSpec, SimBackend

from .cfg import CartpoleCfg

JOINTS = ("slider", "hinge")


class CartpoleEnv(TorchEnv):
    """Push a cart along a rail so that the pole on it stays upright.

    An action in [-1, 1] (clamped here) times `max_effort` is the force on the cart. The observation is pole angle
    [rad], pole velocity [rad/s], cart position [m], cart velocity [m/s]. Success: the time limit was reached.
    """

    num_actions = 1
    obs_groups_spec = {"policy": 4}  # noqa: RUF012 (every instance has the same)
    num_reset_randoms = 4

    def __init__(
        self, cfg: CartpoleCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        self.task = cfg
        cart_position, pole_angle = backend.joint_pos.unbind(1)
        cart_velocity, pole_velocity = backend.joint_vel.unbind(1)
        self._observed = [pole_angle, pole_velocity, cart_position, cart_velocity]  # live columns of the engine
        with torch.inference_mode(False):
            self._effort = torch.zeros(num_envs, len(JOINTS), device=self.device)  # the hinge is not driven
            self._cart_effort = self._effort[:, :1]
            self._highest = self._constant(
                cfg.initial_cart_position, cfg.initial_pole_angle, cfg.initial_cart_velocity, cfg.initial_pole_velocity
            )
            self._lowest, self._width = -self._highest, 2.0 * self._highest
            # In the order of the observation.
            self._limits = self._constant(cfg.max_pole_angle or math.inf, math.inf, cfg.max_cart_position, math.inf)
            self._per_magnitude = cfg.control_dt * self._constant(
                0.0, cfg.reward_pole_velocity, 0.0, cfg.reward_cart_velocity
            )
            self._alive = torch.full((num_envs,), cfg.control_dt * cfg.reward_alive, device=self.device)
            self._on_termination = cfg.control_dt * (cfg.reward_terminated - cfg.reward_alive)

    def _constant(self, *values: float) -> torch.Tensor:
        return torch.tensor(values, device=self.device)

    @staticmethod
    def scene(cfg: CartpoleCfg, num_envs: int) -> SceneSpec:
        """What an engine must build. The only constraint is one end of the rail at a time."""
        return SceneSpec(
            mjcf=str(Path(__file__).parent / "assets" / "cartpole.xml"),
            joints=JOINTS,
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            max_contacts=0,
            max_constraints=2,
        )

    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """Joint efforts `[N, 2]` [N, N·m]; see `TorchEnv.apply_action`."""
        torch.clamp(actions, -1.0, 1.0, out=self._cart_effort).mul_(self.task.max_effort)
        return self._effort

    def observe(self) -> dict[str, torch.Tensor]:
        """`policy` `[N, 4]`: pole angle, pole velocity, cart position, cart velocity."""
        policy = torch.stack(self._observed, 1)
        if self.task.max_pole_angle is None:
            angle = policy[:, 0]
            angle.add_(math.pi).remainder_(2 * math.pi).sub_(math.pi)
        return {"policy": policy}

    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Rewards per second times the control step; see `TorchEnv.update_state`."""
        state.obs = self.observe()
        policy = state.obs["policy"]
        magnitude = policy.abs()
        state.terminated = (magnitude > self._limits).any(1)
        pole_angle = magnitude[:, 0]
        reward = torch.addmv(self._alive, magnitude, self._per_magnitude)
        reward.addcmul_(pole_angle, pole_angle, value=self.task.reward_pole_angle * self.task.control_dt)
        state.reward = reward.add_(state.terminated, alpha=self._on_termination)
        return state

    def initial_state(self, env_ids: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Uniform within plus and minus the initial ranges; see `TorchEnv.initial_state`."""
        joint_pos, joint_vel = torch.addcmul(self._lowest, uniform, self._width).chunk(2, 1)
        return joint_pos, joint_vel

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor:
        """The time limit was reached."""
        return state.truncated.index_select(0, env_ids)
