"""Settings of the tasks of walking towards a far target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmark_app.envs.cfg import EnvCfg


@dataclass(kw_only=True)
class LocomotionCfg(EnvCfg):
    """Walking towards a far target, as Isaac Lab's direct ant and humanoid do. A robot's own settings subclass it.

    Rewards are per second: each is multiplied by the control step, so that a return does not depend on it. Progress is
    paid by the metre and dying once.

    Attributes:
        target_distance: How far ahead the target is, along x [m].
        action_scale: Part of each joint's gear that an action of 1 stands for.
        initial_height: Height of the torso at the start [m].
        initial_joint_pos: Initial joint positions are uniform within ± this about the default pose, within the joints'
            limits [rad].
        initial_joint_vel: Initial joint velocities are uniform within ± this [rad/s].
        min_height: A torso lower than this ends the episode [m].
        angular_velocity_scale: Factor of the torso's angular velocity in the observation.
        joint_velocity_scale: Factor of the joint velocities in the observation.
        reward_progress: Reward for coming nearer to the target [1/m].
        reward_alive: Reward for not terminating [1/s].
        reward_up: Reward for being upright [1/s].
        up_threshold: Cosine of the torso's tilt above which it is upright.
        reward_heading: Reward for facing the target [1/s].
        heading_threshold: Cosine of the angle to the target from which on that reward grows no more.
        reward_action: Weight of the actions squared [1/s].
        reward_energy: Weight of the power: each action times its joint's velocity [1/rad].
        reward_joint_limit: Weight of how far joints are into the last part of their range [1/s].
        joint_limit_threshold: Where that part begins, on a scale with 1 at the limits.
        reward_death: Reward for terminating, once.
        success_distance: How far towards the target the robot must have come by the time limit [m].
    """

    physics_dt: float = 1 / 120
    decimation: int = 2
    episode_length_s: float = 16.0
    target_distance: float = 1000.0
    action_scale: float
    initial_height: float
    initial_joint_pos: float = 0.2
    initial_joint_vel: float = 0.1
    min_height: float
    angular_velocity_scale: float
    joint_velocity_scale: float
    reward_progress: float = 1.0
    reward_alive: float
    reward_up: float = 0.1
    up_threshold: float = 0.93
    reward_heading: float = 0.5
    heading_threshold: float = 0.8
    reward_action: float
    reward_energy: float
    reward_joint_limit: float
    joint_limit_threshold: float
    reward_death: float
    success_distance: float = 16.0

    @property
    def gears(self) -> tuple[float, ...]:
        """Effort of each joint for an action of 1, before `action_scale` [N·m], in the order of the declaration."""
        raise NotImplementedError

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        for key in ("target_distance", "action_scale", "initial_height", "heading_threshold", "success_distance"):
            if (value := getattr(self, key)) <= 0:
                found.append(f"{key}={value}: must be greater than 0")
        for key in ("initial_joint_pos", "initial_joint_vel"):
            if (value := getattr(self, key)) < 0:
                found.append(f"{key}={value}: must not be negative")
        if not 0 <= self.joint_limit_threshold < 1:
            found.append(f"joint_limit_threshold={self.joint_limit_threshold}: must be in [0, 1)")
        if self.min_height >= self.initial_height > 0:
            found.append(f"min_height={self.min_height}: must be less than initial_height={self.initial_height}")
        if self.success_distance > self.target_distance > 0:
            target = f"target_distance={self.target_distance}"
            found.append(f"success_distance={self.success_distance}: must not be beyond the target, {target}")
        return found

    def conventions(self) -> dict[str, Any]:
        """What numbers of this task mean, and where they differ from Isaac Lab's."""
        declared = self.declaration
        assert declared is not None
        joints = [joint.name for joint in declared.joints]
        spin, speed = (f"{1 / scale:g} rad/s" for scale in (self.angular_velocity_scale, self.joint_velocity_scale))
        torso = [
            {"name": "height", "unit": "m", "meaning": "height of the torso above the ground"},
            *(
                {"name": f"velocity_{axis}", "unit": "m/s", "meaning": f"velocity of the torso, its own {axis} axis"}
                for axis in "xyz"
            ),
            *(
                {"name": f"spin_{axis}", "unit": spin, "meaning": f"angular velocity of the torso, its own {axis} axis"}
                for axis in "xyz"
            ),
            {"name": "yaw", "unit": "rad", "meaning": "of the torso, in [-pi, pi]"},
            {"name": "roll", "unit": "rad", "meaning": "of the torso, in [-pi, pi]"},
            {"name": "angle_to_target", "unit": "rad", "meaning": "direction of the target less yaw, in [-pi, pi]"},
            {"name": "up", "unit": "", "meaning": "cosine of the torso's tilt"},
            {"name": "heading", "unit": "", "meaning": "cosine of the angle between the torso's x axis and the target"},
        ]
        return super().conventions() | {
            "observations": {
                "policy": [
                    *torso,
                    *_each(joints, "position", "", "joint position: -1 at its lower limit, 1 at its upper"),
                    *_each(joints, "velocity", speed, "joint velocity"),
                    *_each(joints, "last_action", "", "the last action, clamped, 0 after a reset"),
                ]
            },
            "actions": [
                {
                    "name": f"{joint}_effort",
                    "unit": f"{self.action_scale * gear:g} N·m",
                    "meaning": "torque of the joint's motor, clamped to [-1, 1] by the environment",
                }
                for joint, gear in zip(joints, self.gears, strict=True)
            ],
            "terminates": f"torso lower than {self.min_height} m",
            "success": f"{self.success_distance} m nearer to the target at the time limit, without terminating",
            "differs_from": {"Isaac Lab's direct task": " ".join(declared.differs)},
        }


def _each(joints: list[str], what: str, unit: str, meaning: str) -> list[dict[str, str]]:
    return [{"name": f"{joint}_{what}", "unit": unit, "meaning": meaning} for joint in joints]
