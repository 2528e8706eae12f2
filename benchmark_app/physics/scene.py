"""What an engine is asked to build, and what it says it built. Plain data: nothing is imported for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

Vector: TypeAlias = tuple[float, float, float]

GROUND_COLOR = (0.7, 0.73, 0.75)
"""Of the ground in pictures, and of a floor that is only seen: sRGB from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class PDActuator:
    """A PD law that turns targets into efforts at every physics step, the same on every engine.

    The control then holds target positions; the effort is `stiffness * (target - position) - damping * velocity`,
    limited to `SceneSpec.effort_limit` where there is one.

    Attributes:
        stiffness: Per joint [N·m/rad or N/m].
        damping: Per joint [N·m·s/rad or N·s/m].
    """

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class SceneSpec:
    """The scene an engine is asked to build, one robot per environment.

    Robot files hold no ground and no actuators. Joint limits, damping, armature, masses and shapes come from them;
    everything else comes from here, so that every engine is told the same.

    Attributes:
        mjcf: Path of the robot's MJCF file.
        usd: Path of its USD file, with the same names; None where there is none, and no engine that needs one.
        joints: Names of its joints in the task's canonical order, D of them; each has one degree of freedom.
        links: Names of the links whose pose and velocity the task reads, L of them.
        floating: The root link is free; otherwise it is fixed to the world.
        num_envs: Environments simulated side by side.
        physics_dt: Physics step [s].
        decimation: Physics steps per control step.
        gravity: Acceleration of free fall [m/s²], world frame.
        ground: There is a flat floor at z = 0.
        floor: Height of a floor that is seen in pictures and that nothing touches [m], where there is no ground; None:
            nothing is below.
        friction: Coulomb friction coefficient of every contact.
        effort_limit: Largest effort per joint [N or N·m], in either direction; None: no limit.
        actuator: What the control means; None: it is the effort itself.
        extent: How far from its environment's origin the robot may come in x and in y [m], where there are contacts.
            An engine that cannot keep environments apart otherwise puts their origins at least twice as far apart.
        max_contacts: Contacts per environment the engine must have room for (0: the scene has none).
        max_constraints: Constraint rows per environment the engine must have room for.

    Raises:
        ValueError: A value cannot work; the message names it.
    """

    mjcf: str
    joints: tuple[str, ...]
    num_envs: int
    physics_dt: float
    decimation: int
    max_contacts: int
    max_constraints: int
    usd: str | None = None
    links: tuple[str, ...] = ()
    floating: bool = False
    gravity: Vector = (0.0, 0.0, -9.81)
    ground: bool = False
    floor: float | None = None
    friction: float = 1.0
    effort_limit: tuple[float, ...] | None = None
    actuator: PDActuator | None = None
    extent: tuple[float, float] = (5.0, 5.0)

    def __post_init__(self) -> None:
        for name in ("joints", "links"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name}={getattr(self, name)}: names must differ")
        if not self.joints and not self.floating:
            raise ValueError("joints=(): a robot fixed to the world needs a joint to move")
        per_joint = {"effort_limit": self.effort_limit}
        if self.actuator is not None:
            per_joint |= {
                "actuator.stiffness": self.actuator.stiffness,
                "actuator.damping": self.actuator.damping,
            }
        for name, values in per_joint.items():
            if values is not None and (len(values) != len(self.joints) or not all(value >= 0 for value in values)):
                raise ValueError(f"{name}={values}: must be {len(self.joints)} numbers, one per joint, none negative")
        for name, least in (("num_envs", 1), ("decimation", 1), ("max_contacts", 0), ("max_constraints", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least {least}")
        if not (math.isfinite(self.physics_dt) and self.physics_dt > 0):
            raise ValueError(f"physics_dt={self.physics_dt}: must be a time greater than 0")
        if self.floor is not None and (self.ground or not math.isfinite(self.floor)):
            raise ValueError(f"floor={self.floor}: must be a height, and None where there is ground")
        if not (math.isfinite(self.friction) and self.friction >= 0):
            raise ValueError(f"friction={self.friction}: must be a finite number, not negative")
        if not all(math.isfinite(part) for part in self.gravity):
            raise ValueError(f"gravity={self.gravity}: must be three finite numbers")
        if not all(math.isfinite(size) and size > 0 for size in self.extent):
            raise ValueError(f"extent={self.extent}: must be two lengths greater than 0")


@dataclass(frozen=True, kw_only=True)
class JointFacts:
    """One joint as an engine has it.

    Attributes:
        name: Its name.
        lower: Lower limit [rad or m]; None: unlimited.
        upper: Upper limit, likewise.
        damping: Passive damping [N·m·s/rad or N·s/m].
        armature: Inertia added to the joint [kg·m² or kg].
        friction: Dry friction [N·m or N].
        effort_limit: Largest effort [N·m or N]; None: unlimited.
    """

    name: str
    lower: float | None
    upper: float | None
    damping: float
    armature: float
    friction: float
    effort_limit: float | None


@dataclass(frozen=True, kw_only=True)
class LinkFacts:
    """One link as an engine has it.

    Attributes:
        name: Its name.
        mass: [kg].
        com: Centre of mass [m], link frame.
        inertia: Moments and products of inertia about the centre of mass, axes of the link frame [kg·m²]:
            xx, yy, zz, xy, xz, yz.
    """

    name: str
    mass: float
    com: Vector
    inertia: tuple[float, float, float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class RobotFacts:
    """What an engine says it simulates, read back from it: to be compared with another engine's.

    Attributes:
        joints: In the task's canonical order.
        links: Every link with a mass that can move, sorted by name.
        gravity: [m/s²], world frame.
        physics_dt: [s].
    """

    joints: tuple[JointFacts, ...]
    links: tuple[LinkFacts, ...]
    gravity: Vector
    physics_dt: float
