"""Settings of the push task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration

from .declaration import DECLARATION

ARM_JOINTS = tuple(joint.name for joint in DECLARATION.joints if not joint.name.startswith("box"))
UPPER_ARM, FOREARM = 0.35, 0.30
"""From shoulder to elbow, and from elbow to peg [m]."""
NEAREST, FARTHEST = 0.32, 0.55
"""How near to the shoulder and how far from it a box may lie so that the peg can get round it [m]."""


@dataclass(kw_only=True)
class PushCfg(EnvCfg):
    """Push a box to a random point.

    Rewards are per second: each is multiplied by the control step, so that a return does not depend on it.

    Attributes:
        max_joint_speed: Speed at which an action of 1 moves a joint's target [rad/s].
        friction: Coulomb friction coefficient between peg and box.
        initial_joint_spread: The arm's joints start uniformly within ± this around its folded pose [rad].
        box_azimuth: Boxes and targets lie within ± this of straight ahead, seen from the shoulder [rad].
        box_radius_min: Their distance from the shoulder, at least [m].
        box_radius_max: Likewise, at most [m].
        box_turn: The target's azimuth differs from the box's by at least this [rad].
        success_distance: The box counts as on target within this [m].
        success_steps: Control steps in a row on target that make a success.
        standoff: The peg is drawn to this far behind the box's centre [m]: nearer than it can come without pushing.
        reward_approach: Weight of the peg's distance from there [1/(s·m)].
        reward_distance: Weight of the box's distance from the target [1/(s·m)].
        reward_distance_fine: Weight of 1 - tanh(that distance / `fine_scale`) [1/s].
        fine_scale: Distance at which the fine term begins to pull [m].
        reward_action_rate: Weight of the squared change of the action [1/s].
    """

    declaration: ClassVar[TaskDeclaration] = DECLARATION

    name: str = "push"
    module: str = "benchmark_app.tasks.push"
    gym_id: str = "Push-Direct-v0"
    physics_dt: float = 1 / 120
    decimation: int = 6
    episode_length_s: float = 5.0
    max_joint_speed: float = 1.5
    friction: float = 0.5
    initial_joint_spread: float = 0.1
    box_azimuth: float = 0.7
    box_radius_min: float = 0.36
    box_radius_max: float = 0.5
    box_turn: float = 0.3
    success_distance: float = 0.03
    success_steps: int = 10
    standoff: float = 0.045
    reward_approach: float = -2.0
    reward_distance: float = -3.0
    reward_distance_fine: float = 1.0
    fine_scale: float = 0.05
    reward_action_rate: float = -0.01

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Push the box to the target."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        for key in ("max_joint_speed", "success_distance", "success_steps", "standoff", "fine_scale"):
            if getattr(self, key) <= 0:
                found.append(f"{key}={getattr(self, key)}: must be greater than 0")
        if self.friction < 0:
            found.append(f"friction={self.friction}: must not be negative")
        if not 0 <= self.initial_joint_spread <= 0.2:
            found.append(f"initial_joint_spread={self.initial_joint_spread}: must be in [0, 0.2], clear of the box")
        if not 0 < self.box_azimuth <= 1.2:
            found.append(
                f"box_azimuth={self.box_azimuth}: must be in (0, 1.2]; beyond it the arm cannot get round the box"
            )
        if not NEAREST <= self.box_radius_min <= self.box_radius_max <= FARTHEST:
            found.append(
                f"box_radius_min={self.box_radius_min}, box_radius_max={self.box_radius_max}: must be in order and in "
                f"[{NEAREST}, {FARTHEST}], where the peg gets round the box"
            )
        if not 0 <= self.box_turn < self.box_azimuth:
            found.append(f"box_turn={self.box_turn}: must be in [0, box_azimuth={self.box_azimuth})")
        if self.success_steps > self.max_episode_steps:
            found.append(
                f"success_steps={self.success_steps}: must not exceed the {self.max_episode_steps} steps of an episode"
            )
        return found

    def conventions(self) -> dict[str, Any]:
        """What numbers of this task mean."""
        return super().conventions() | {
            "observations": {
                "policy": [
                    *({"name": f"{name}_position", "unit": "rad", "meaning": "joint position"} for name in ARM_JOINTS),
                    *(
                        {"name": f"{name}_velocity", "unit": "rad/s", "meaning": "joint velocity"}
                        for name in ARM_JOINTS
                    ),
                    *_pair("peg", "m", "peg, from the shoulder"),
                    *_pair("box", "m", "box's centre, likewise"),
                    *_pair("box_velocity", "m/s", "its velocity"),
                    {
                        "name": "box_cos",
                        "unit": "1",
                        "meaning": "cosine of four times the box's yaw: it has four sides",
                    },
                    {"name": "box_sin", "unit": "1", "meaning": "sine of four times the box's yaw"},
                    *_pair("target", "m", "target, from the shoulder"),
                    *_pair("peg_to_box", "m", "from the peg to the box's centre"),
                    *_pair("box_to_target", "m", "from the box's centre to the target"),
                    *(
                        {"name": f"{name}_last_action", "unit": "1", "meaning": "last action, clamped to [-1, 1]"}
                        for name in ARM_JOINTS
                    ),
                ]
            },
            "actions": [
                {
                    "name": f"{name}_target_velocity",
                    "unit": f"{self.max_joint_speed} rad/s",
                    "meaning": "speed at which the joint's target moves, clamped to [-1, 1] by the environment; the "
                    "target stays inside the joint's limits",
                }
                for name in ARM_JOINTS
            ],
            "terminates": "never",
            "differs_from": {"PushT": " ".join(DECLARATION.differs)},
        }


def _pair(name: str, unit: str, meaning: str) -> list[dict[str, str]]:
    return [{"name": f"{name}_{axis}", "unit": unit, "meaning": f"{meaning}, {axis}"} for axis in "xy"]
