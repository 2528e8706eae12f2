"""Settings of the quadruped's velocity task."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration

from .declaration import DECLARATION, LEGS


@dataclass(kw_only=True)
class QuadrupedVelocityCfg(EnvCfg):
    """Velocity tracking on flat ground, after Isaac Lab's flat velocity tasks.

    Rewards are per second: each is multiplied by the control step. That of `feet_air_time` is per landing, and
    multiplied likewise, as in Isaac Lab. Velocities are those of the trunk, in its own frame.

    Attributes:
        action_scale: Offset of a joint's target from its default for an action of 1 [rad].
        stiffness: Of every joint's PD law [N·m/rad].
        damping: Likewise [N·m·s/rad].
        effort_limit: Largest torque of a joint [N·m].
        command_lin_vel_x: Forward velocities commanded are uniform within ± this [m/s].
        command_lin_vel_y: Velocities to the left, likewise [m/s].
        command_ang_vel_z: Yaw rates, likewise [rad/s].
        standing_share: Share of commands that are to stand.
        initial_joint_offset: Initial joint positions are uniform within ± this of the default [rad].
        ang_vel_scale: What the trunk's turning is multiplied by where it is observed.
        joint_vel_scale: What joint velocities are, likewise.
        max_tilt: A trunk tilted by more than this ends the episode [rad].
        trunk_clearance: So does one whose lowest corner is lower than this [m].
        tracking_std: Error at which the reward for tracking is exp(-1) [m/s and rad/s].
        air_time: Time in the air from which on a foot's landing is rewarded [s].
        reward_track_lin_vel_xy_exp: Weight of the tracking of horizontal velocity [1/s].
        reward_track_ang_vel_z_exp: Weight of the tracking of the yaw rate [1/s].
        reward_lin_vel_z_l2: Weight of the vertical velocity squared [s/m²].
        reward_ang_vel_xy_l2: Weight of roll and pitch rates squared [s/rad²].
        reward_dof_torques_l2: Weight of the joint torques squared [1/(s·N²·m²)].
        reward_dof_acc_l2: Weight of the joint accelerations squared [s³/rad²].
        reward_action_rate_l2: Weight of the actions' change squared [1/s].
        reward_feet_air_time: Weight of the feet's time in the air [1/s²].
        reward_flat_orientation_l2: Weight of the tilt, the sine squared [1/s].
        max_lin_vel_error: Success needs a smaller mean error of the horizontal velocity [m/s].
        max_ang_vel_error: And a smaller mean error of the yaw rate [rad/s].
    """

    declaration: ClassVar[TaskDeclaration | None] = DECLARATION

    name: str = "quadruped_velocity"
    module: str = "benchmark_app.tasks.quadruped_velocity"
    gym_id: str = "Quadruped-Velocity-Flat-v0"
    physics_dt: float = 0.005
    decimation: int = 4
    episode_length_s: float = 20.0
    action_scale: float = 0.5
    stiffness: float = 40.0
    damping: float = 1.0
    effort_limit: float = 30.0
    command_lin_vel_x: float = 1.0
    command_lin_vel_y: float = 0.5
    command_ang_vel_z: float = 1.0
    standing_share: float = 0.1
    initial_joint_offset: float = 0.1
    ang_vel_scale: float = 0.25
    joint_vel_scale: float = 0.05
    max_tilt: float = 1.0
    trunk_clearance: float = 0.02
    tracking_std: float = 0.5
    air_time: float = 0.25
    reward_track_lin_vel_xy_exp: float = 1.5
    reward_track_ang_vel_z_exp: float = 0.75
    reward_lin_vel_z_l2: float = -1.0
    reward_ang_vel_xy_l2: float = -0.02
    reward_dof_torques_l2: float = -2.0e-4
    reward_dof_acc_l2: float = -1.0e-7
    reward_action_rate_l2: float = -0.01
    reward_feet_air_time: float = 0.5
    reward_flat_orientation_l2: float = -1.0
    max_lin_vel_error: float = 0.25
    max_ang_vel_error: float = 0.35

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Walk and turn at the velocity commanded."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        scales = ("action_scale", "ang_vel_scale", "joint_vel_scale", "tracking_std")
        for key in ("effort_limit", *scales, "max_lin_vel_error", "max_ang_vel_error"):
            if (value := getattr(self, key)) <= 0:
                found.append(f"{key}={value}: must be greater than 0")
        commands = ("command_lin_vel_x", "command_lin_vel_y", "command_ang_vel_z")
        for key in ("stiffness", "damping", *commands, "trunk_clearance", "air_time"):
            if (value := getattr(self, key)) < 0:
                found.append(f"{key}={value}: must not be negative")
        if not 0 <= self.standing_share <= 1:
            found.append(f"standing_share={self.standing_share}: must be a share, from 0 to 1")
        if not 0 <= self.initial_joint_offset <= 0.2:
            found.append(
                f"initial_joint_offset={self.initial_joint_offset}: must be from 0 to 0.2, or feet start in the ground"
            )
        if not 0 < self.max_tilt <= math.pi:
            found.append(f"max_tilt={self.max_tilt}: must be greater than 0 and at most pi")
        return found

    def conventions(self) -> dict[str, Any]:
        """What numbers of this task mean, and where they differ from Isaac Lab's."""
        joints = [joint.name for joint in DECLARATION.joints]
        policy = [
            *_components("base_lin_vel_{}", "xyz", "m/s", "velocity of the trunk, in its frame"),
            *_components(
                "base_ang_vel_{}", "xyz", "rad/s", f"turning of the trunk, in its frame, times {self.ang_vel_scale}"
            ),
            *_components("projected_gravity_{}", "xyz", "", "direction of gravity, in the trunk's frame"),
            *_components("command_lin_vel_{}", "xy", "m/s", "velocity commanded, in the trunk's frame"),
            *_components("command_ang_vel_{}", "z", "rad/s", "yaw rate commanded, positive to the left"),
            *_components("{}_pos", joints, "rad", "joint position less its default"),
            *_components("{}_vel", joints, "rad/s", f"joint velocity, times {self.joint_vel_scale}"),
            *_components("{}_last_action", joints, "", "action of the last step, as clamped"),
        ]
        feet = [
            *_components("{}_foot_height", LEGS, "m", "gap between foot and ground"),
            *_components("{}_foot_contact", LEGS, "", "1 in contact with the ground, 0 in the air"),
            *_components("{}_foot_air_time", LEGS, "s", "time in the air so far"),
        ]
        offset = "offset of the joint's target from its default, clamped to [-1, 1] by the environment"
        return super().conventions() | {
            "observations": {"policy": policy, "critic": [*policy, *feet]},
            "actions": _components("{}_target", joints, f"{self.action_scale} rad", offset),
            "terminates": f"trunk tilted by more than {self.max_tilt} rad, or within {self.trunk_clearance} m of the "
            "ground",
            "success": f"no fall, mean errors below {self.max_lin_vel_error} m/s and {self.max_ang_vel_error} rad/s",
            "differs_from": {"Isaac Lab 3.0.0 Isaac-Velocity-Flat": " ".join(DECLARATION.differs)},
        }


def _components(name: str, of: Iterable[str], unit: str, meaning: str) -> list[dict[str, str]]:
    """One component for each entry of `of`, put into `name`."""
    return [{"name": name.format(part), "unit": unit, "meaning": meaning} for part in of]
