"""Settings of the cartpole task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration

from .declaration import DECLARATION


@dataclass(kw_only=True)
class CartpoleCfg(EnvCfg):
    """Cartpole, with the numbers of Isaac Lab's direct cartpole.

    Rewards are per second: each is multiplied by the control step, so that a return does not depend on it.

    Attributes:
        max_effort: Force on the cart for an action of 1 [N].
        max_cart_position: A cart farther than this from the middle ends the episode [m]. The rail is 4 m either way.
        max_pole_angle: A pole farther than this from upright ends the episode [rad]. None: it never does, and the
            angle is wrapped to [-π, π) in observation and reward (Isaac Lab's rule).
        initial_cart_position: Initial cart positions are uniform within ± this [m].
        initial_cart_velocity: Initial cart velocities, likewise [m/s].
        initial_pole_angle: Initial pole angles, likewise [rad].
        initial_pole_velocity: Initial pole velocities, likewise [rad/s].
        reward_alive: Reward for not terminating [1/s].
        reward_terminated: Reward for terminating, in place of the one for being alive [1/s].
        reward_pole_angle: Weight of the pole angle squared [1/(s·rad²)].
        reward_cart_velocity: Weight of the cart's speed [1/m].
        reward_pole_velocity: Weight of the pole's speed [1/rad].
    """

    declaration: ClassVar[TaskDeclaration] = DECLARATION

    name: str = "cartpole"
    module: str = "benchmark_app.tasks.cartpole"
    gym_id: str = "Cartpole-Direct-v0"
    physics_dt: float = 1 / 120
    decimation: int = 2
    episode_length_s: float = 5.0
    max_effort: float = 100.0
    max_cart_position: float = 3.0
    max_pole_angle: float | None = math.pi / 2
    initial_cart_position: float = 1.0
    initial_cart_velocity: float = 0.5
    initial_pole_angle: float = math.pi / 4
    initial_pole_velocity: float = math.pi / 4
    reward_alive: float = 1.0
    reward_terminated: float = -2.0
    reward_pole_angle: float = -1.0
    reward_cart_velocity: float = -0.01
    reward_pole_velocity: float = -0.005

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Push the cart so that the pole on it stays upright."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        if self.max_effort <= 0:
            found.append(f"max_effort={self.max_effort}: must be greater than 0")
        if not 0 < self.max_cart_position <= 4:
            found.append(f"max_cart_position={self.max_cart_position}: must be in (0, 4], the rail's half length")
        elif self.initial_cart_position > self.max_cart_position:
            found.append(
                f"initial_cart_position={self.initial_cart_position}: must not exceed "
                f"max_cart_position={self.max_cart_position}"
            )
        if self.max_pole_angle is not None and self.max_pole_angle <= 0:
            found.append(f"max_pole_angle={self.max_pole_angle}: must be greater than 0, or null")
        elif self.max_pole_angle is not None and self.initial_pole_angle > self.max_pole_angle:
            found.append(
                f"initial_pole_angle={self.initial_pole_angle}: must not exceed max_pole_angle={self.max_pole_angle}"
            )
        for key in ("cart_position", "cart_velocity", "pole_angle", "pole_velocity"):
            if (value := getattr(self, f"initial_{key}")) < 0:
                found.append(f"initial_{key}={value}: must not be negative")
        return found

    def conventions(self) -> dict[str, Any]:
        """What the numbers of this task mean."""
        limit = self.max_pole_angle
        ends = f"|cart position| > {self.max_cart_position} m" + (
            "" if limit is None else f" or |pole angle| > {limit:.4g} rad"
        )
        return super().conventions() | {
            "observations": {
                "policy": [
                    {"name": "pole_angle", "unit": "rad", "meaning": "hinge position, 0 upright, positive towards +x"},
                    {"name": "pole_velocity", "unit": "rad/s", "meaning": "hinge velocity"},
                    {"name": "cart_position", "unit": "m", "meaning": "slider position, 0 in the middle of the rail"},
                    {"name": "cart_velocity", "unit": "m/s", "meaning": "slider velocity"},
                ]
            },
            "actions": [
                {
                    "name": "cart_force",
                    "unit": f"{self.max_effort} N",
                    "meaning": "force on the cart along +x, clamped to [-1, 1] by the environment",
                }
            ],
            "terminates": ends,
            "pole_angle_range": "[-pi, pi), wrapped" if limit is None else "unwrapped",
            "differs_from": {"Isaac Lab 3.0.0 Isaac-Cartpole-Direct-v0": " ".join(DECLARATION.differs)},
        }
