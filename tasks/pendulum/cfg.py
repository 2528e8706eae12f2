"""Settings of the pendulum task."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration

from .declaration import DECLARATION


@dataclass(kw_only=True)
class PendulumCfg(EnvCfg):
    """Pendulum, with the sizes and the reward of Gymnasium's.

    Rewards are per second: each is multiplied by the control step, so that a return does not depend on it.

    Attributes:
        max_torque: Torque of the motor for an action of 1 [N·m]. Lifting the rod straight up takes 4.9.
        initial_angle: Initial angles from upright are uniform within ± this [rad].
        initial_velocity: Initial angular velocities, likewise [rad/s].
        reward_angle: Weight of the angle squared [1/(s·rad²)].
        reward_velocity: Weight of the angular velocity squared [s/rad²].
        reward_torque: Weight of the torque squared [1/(s·N²·m²)].
        upright_angle: The rod is upright within ± this [rad].
        upright_time: How long it must have been upright when the episode ends, for success [s].
    """

    declaration: ClassVar[TaskDeclaration | None] = DECLARATION

    name: str = "pendulum"
    module: str = "benchmark_app.tasks.pendulum"
    gym_id: str = "Pendulum-Direct-v0"
    physics_dt: float = 0.01
    decimation: int = 5
    episode_length_s: float = 10.0
    max_torque: float = 2.0
    initial_angle: float = math.pi
    initial_velocity: float = 1.0
    reward_angle: float = -1.0
    reward_velocity: float = -0.1
    reward_torque: float = -0.001
    upright_angle: float = 0.2
    upright_time: float = 2.0

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Swing the rod up and keep it upright."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        if self.max_torque <= 0:
            found.append(f"max_torque={self.max_torque}: must be greater than 0")
        if not 0 < self.upright_angle < math.pi:
            found.append(f"upright_angle={self.upright_angle}: must be greater than 0 and less than pi")
        for key in ("initial_angle", "initial_velocity", "upright_time"):
            if (value := getattr(self, key)) < 0:
                found.append(f"{key}={value}: must not be negative")
        if self.upright_time > self.episode_length_s > 0:
            length = f"episode_length_s={self.episode_length_s}"
            found.append(f"upright_time={self.upright_time}: must not be longer than an episode, {length}")
        return found

    def shortened(self, steps: int) -> Self:
        """Shorter episodes; the rod need not be upright for longer than one."""
        length = steps * self.control_dt
        return replace(self, episode_length_s=length, upright_time=min(self.upright_time, length))

    def conventions(self) -> dict[str, Any]:
        """What numbers of this task mean, and where they differ from Gymnasium's."""
        return super().conventions() | {
            "observations": {
                "policy": [
                    {"name": "angle_cos", "unit": "", "meaning": "cosine of the angle: 1 upright, -1 hanging"},
                    {"name": "angle_sin", "unit": "", "meaning": "its sine: positive where the tip leans towards +x"},
                    {"name": "velocity", "unit": "rad/s", "meaning": "angular velocity, positive about +y"},
                ]
            },
            "actions": [
                {
                    "name": "torque",
                    "unit": f"{self.max_torque} N·m",
                    "meaning": "torque about +y, clamped to [-1, 1] by the environment",
                }
            ],
            "terminates": "never: every episode runs to its time limit",
            "success": f"|angle| < {self.upright_angle} rad for the last {self.upright_time} s of the episode",
            "differs_from": {"Gymnasium 1.4.0 Pendulum-v1": " ".join(DECLARATION.differs)},
        }
