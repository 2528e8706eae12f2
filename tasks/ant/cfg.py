"""Settings of the ant task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from benchmark_app.envs.declaration import TaskDeclaration

from ..locomotion.cfg import LocomotionCfg
from .declaration import DECLARATION


@dataclass(kw_only=True)
class AntCfg(LocomotionCfg):
    """Ant, with the numbers of Isaac Lab's direct ant; see `LocomotionCfg`.

    Attributes:
        gear: Torque of every motor for an action of 1, before `action_scale` [N·m].
    """

    declaration: ClassVar[TaskDeclaration | None] = DECLARATION

    name: str = "ant"
    module: str = "benchmark_app.tasks.ant"
    gym_id: str = "Ant-Direct-v0"
    action_scale: float = 0.5
    gear: float = 15.0
    initial_height: float = 0.56
    min_height: float = 0.31
    angular_velocity_scale: float = 1.0
    joint_velocity_scale: float = 0.2
    reward_alive: float = 0.5
    reward_action: float = -0.005
    reward_energy: float = -0.05
    reward_joint_limit: float = -0.1
    joint_limit_threshold: float = 0.99
    reward_death: float = -2.0

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Walk on four legs towards the target far ahead, as fast as possible, without falling."

    @property
    def gears(self) -> tuple[float, ...]:
        """The same for every joint [N·m]."""
        return (self.gear,) * len(DECLARATION.joints)

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        found = super().problems()
        if self.gear <= 0:
            found.append(f"gear={self.gear}: must be greater than 0")
        return found
