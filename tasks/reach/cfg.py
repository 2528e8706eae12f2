"""Settings of the reach task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration

from .declaration import DECLARATION

SHOULDER_HEIGHT = 0.22
"""Height of the shoulder's pitch axis over the floor [m]."""
NEAREST, FARTHEST = 0.25, 0.84
"""How far from the shoulder a target may lie [m]. The arm can do a little more either way."""


@dataclass(kw_only=True)
class ReachCfg(EnvCfg):
    """Reach a random point and hold it.

    Rewards are per second: each is multiplied by the control step, so that a return does not depend on it.

    Attributes:
        max_joint_speed: Speed at which an action of 1 moves a joint's target [rad/s].
        initial_joint_spread: Joints start uniformly within ± this around the default pose [rad].
        target_azimuth: Targets lie within ± this of straight ahead, seen from the base [rad].
        target_radius_min: Horizontal distance of targets from the base's axis, at least [m].
        target_radius_max: Likewise, at most [m].
        target_height_min: Height of targets above the floor, at least [m].
        target_height_max: Likewise, at most [m].
        success_distance: The tip counts as on target within this [m].
        success_steps: Control steps in a row on target that make a success.
        reward_distance: Weight of the distance [1/(s·m)].
        reward_distance_fine: Weight of 1 - tanh(distance / `fine_scale`) [1/s].
        fine_scale: Distance at which the fine term begins to pull [m].
        reward_action_rate: Weight of the squared change of the action [1/s].
    """

    declaration: ClassVar[TaskDeclaration] = DECLARATION

    name: str = "reach"
    module: str = "benchmark_app.tasks.reach"
    gym_id: str = "Reach-Direct-v0"
    physics_dt: float = 1 / 120
    decimation: int = 6
    episode_length_s: float = 3.0
    max_joint_speed: float = 2.0
    initial_joint_spread: float = 0.3
    target_azimuth: float = 1.5
    target_radius_min: float = 0.3
    target_radius_max: float = 0.65
    target_height_min: float = 0.1
    target_height_max: float = 0.6
    success_distance: float = 0.02
    success_steps: int = 10
    reward_distance: float = -1.0
    reward_distance_fine: float = 1.0
    fine_scale: float = 0.1
    reward_action_rate: float = -0.01

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Move the tip of the tool to the target and hold it there."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        for key in ("max_joint_speed", "success_distance", "success_steps", "fine_scale", "target_radius_min"):
            if getattr(self, key) <= 0:
                found.append(f"{key}={getattr(self, key)}: must be greater than 0")
        if not 0 <= self.initial_joint_spread <= 0.8:
            found.append(f"initial_joint_spread={self.initial_joint_spread}: must be in [0, 0.8], inside the limits")
        if not 0 <= self.target_azimuth <= 2.8:
            found.append(f"target_azimuth={self.target_azimuth}: must be in [0, 2.8], the limit of the base")
        for low, high in (("target_radius_min", "target_radius_max"), ("target_height_min", "target_height_max")):
            if getattr(self, low) > getattr(self, high):
                found.append(f"{low}={getattr(self, low)}: must not exceed {high}={getattr(self, high)}")
        if self.target_height_min < 0:
            found.append(f"target_height_min={self.target_height_min}: must not be negative, which is below the floor")
        over = max(abs(height - SHOULDER_HEIGHT) for height in (self.target_height_min, self.target_height_max))
        if (far := math.hypot(self.target_radius_max, over)) > FARTHEST:
            found.append(
                f"target_radius_max={self.target_radius_max}: must be less; with these heights targets lie up to "
                f"{far:.3f} m from the shoulder, and the arm reaches {FARTHEST} m"
            )
        if self.target_radius_min < NEAREST:
            found.append(
                f"target_radius_min={self.target_radius_min}: must be at least {NEAREST}; the arm is in the way"
            )
        if self.success_steps > self.max_episode_steps:
            found.append(
                f"success_steps={self.success_steps}: must not exceed the {self.max_episode_steps} steps of an episode"
            )
        return found

    def conventions(self) -> dict[str, Any]:
        """What numbers of this task mean."""
        joints = [joint.name for joint in DECLARATION.joints]
        return super().conventions() | {
            "observations": {
                "policy": [
                    *({"name": f"{joint}_position", "unit": "rad", "meaning": "joint position"} for joint in joints),
                    *({"name": f"{joint}_velocity", "unit": "rad/s", "meaning": "joint velocity"} for joint in joints),
                    *_vector("tip", "tip of the tool, from the middle of the base's foot"),
                    *_vector("target", "target, likewise"),
                    *_vector("to_target", "from the tip to the target"),
                    *(
                        {"name": f"{joint}_last_action", "unit": "1", "meaning": "last action, clamped to [-1, 1]"}
                        for joint in joints
                    ),
                ]
            },
            "actions": [
                {
                    "name": f"{joint}_target_velocity",
                    "unit": f"{self.max_joint_speed} rad/s",
                    "meaning": "speed at which the joint's target moves, clamped to [-1, 1] by the environment; the "
                    "target stays inside the joint's limits",
                }
                for joint in joints
            ],
            "terminates": "never",
            "differs_from": {"Isaac Lab 3.0.0 Isaac-Reach-Franka": " ".join(DECLARATION.differs)},
        }


def _vector(name: str, meaning: str) -> list[dict[str, str]]:
    return [{"name": f"{name}_{axis}", "unit": "m", "meaning": f"{meaning}, {axis}"} for axis in "xyz"]
