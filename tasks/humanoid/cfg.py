"""Settings of the humanoid task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from benchmark_app.envs.declaration import TaskDeclaration

from ..locomotion.cfg import LocomotionCfg
from .declaration import DECLARATION, GEARS


@dataclass(kw_only=True)
class HumanoidCfg(LocomotionCfg):
    """Humanoid, with the numbers of Isaac Lab's direct humanoid; see `LocomotionCfg`."""

    declaration: ClassVar[TaskDeclaration | None] = DECLARATION

    name: str = "humanoid"
    module: str = "benchmark_app.tasks.humanoid"
    gym_id: str = "Humanoid-Direct-v0"
    action_scale: float = 1.0
    initial_height: float = 1.35
    min_height: float = 0.8
    angular_velocity_scale: float = 0.25
    joint_velocity_scale: float = 0.1
    reward_alive: float = 2.0
    reward_action: float = -0.01
    reward_energy: float = -0.005
    reward_joint_limit: float = -0.25
    joint_limit_threshold: float = 0.98
    reward_death: float = -1.0

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Walk on two legs towards the target far ahead, as fast as possible, without falling."

    @property
    def gears(self) -> tuple[float, ...]:
        """Those of Isaac Lab's humanoid [N·m]."""
        return tuple(GEARS[joint.name.removeprefix("right_").removeprefix("left_")] for joint in DECLARATION.joints)
