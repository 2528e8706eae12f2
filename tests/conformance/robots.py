"""The robots of the conformance suite as one table of data; `mjcf.py` and `usda.py` write them out.

SI units, radians, quaternions xyzw. Every number is of order one, so that float32 serves all of them alike, and few of
them are round, so that a swapped or forgotten one shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

ORIGIN: Vector = (0.0, 0.0, 0.0)
UPRIGHT: Quaternion = (0.0, 0.0, 0.0, 1.0)

FILE_ROOT: Vector = (0.0, 0.0, 1.0)
"""Where a floating robot's file puts its root: clear of the ground, so that no engine makes room for contacts there."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a link touches others with: a sphere (`size` holds its radius) or a box (its half extents)."""

    kind: Literal["sphere", "box"]
    size: tuple[float, ...]
    position: Vector = ORIGIN


@dataclass(frozen=True, kw_only=True)
class Link:
    """A rigid body; `inertia` are the moments about the centre of mass along the axes that `principal` turns to."""

    name: str
    mass: float
    inertia: Vector
    com: Vector = ORIGIN
    principal: Quaternion = UPRIGHT
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Joint:
    """What holds `child` to `parent` (None: the world), with one degree of freedom about or along `axis`.

    The child's frame lies at `position` with `orientation` in the parent's where the joint is at 0, and the joint acts
    at its origin; `axis` is a unit vector of the child's frame.
    """

    name: str
    child: str
    axis: Vector
    parent: str | None = None
    kind: Literal["hinge", "slide"] = "hinge"
    position: Vector = ORIGIN
    orientation: Quaternion = UPRIGHT
    limits: tuple[float, float] | None = None
    damping: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Robot:
    """A tree of links. Its joints stand in the task's order, which need not be the tree's."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]

    @property
    def floating(self) -> bool:
        return all(joint.parent is not None for joint in self.joints)

    @property
    def root(self) -> str:
        """The link that hangs on the world, or on nothing."""
        children = {joint.child for joint in self.joints if joint.parent is not None}
        (root,) = (link.name for link in self.links if link.name not in children)
        return root

    def link(self, name: str) -> Link:
        return next(link for link in self.links if link.name == name)

    def joints_below(self, parent: str | None) -> list[Joint]:
        """Joints that hang on a link (or on the world), first those whose child is named first in `links`."""
        order = [link.name for link in self.links]
        below = [joint for joint in self.joints if joint.parent == parent]
        return sorted(below, key=lambda joint: order.index(joint.child))


def turned(axis: Vector, angle: float) -> Quaternion:
    """A turn by `angle` about a unit vector."""
    sine = math.sin(angle / 2)
    return (axis[0] * sine, axis[1] * sine, axis[2] * sine, math.cos(angle / 2))


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

PENDULUM = Robot(
    name="pendulum",
    links=(Link(name="bob", mass=1.3, com=(0.0, 0.0, -0.6), inertia=(0.05, 0.04, 0.03)),),
    joints=(Joint(name="pivot", child="bob", axis=Y),),
)

DOUBLE_PENDULUM = Robot(
    name="double_pendulum",
    links=(
        Link(name="upper", mass=1.2, com=(0.0, 0.0, -0.4), inertia=(0.06, 0.05, 0.03)),
        Link(name="lower", mass=0.7, com=(0.05, 0.0, -0.3), inertia=(0.03, 0.04, 0.02)),
    ),
    joints=(
        Joint(name="shoulder", child="upper", axis=Y),
        Joint(name="elbow", child="lower", parent="upper", axis=Y, position=(0.0, 0.0, -0.8)),
    ),
)

GATE = Robot(
    # The gate's centre of mass lies on its vertical hinge: the two joints do not feel each other, nor gravity.
    name="gate",
    links=(
        Link(name="cart", mass=1.1, inertia=(0.04, 0.05, 0.06)),
        Link(name="gate", mass=0.9, com=(0.0, 0.0, 0.2), inertia=(0.07, 0.08, 0.11)),
    ),
    joints=(
        Joint(name="rail", child="cart", kind="slide", axis=X, limits=(-0.5, 0.7), damping=1.7, armature=0.6),
        Joint(name="hinge", child="gate", parent="cart", axis=Z, limits=(-0.9, 1.2), damping=0.13, armature=0.07),
    ),
)

TUMBLER = Robot(
    name="tumbler",
    links=(
        Link(
            name="body",
            mass=2.1,
            com=(0.06, -0.04, 0.03),
            inertia=(0.05, 0.07, 0.09),
            principal=turned((0.6, 0.0, 0.8), 0.7),
        ),
        Link(name="paddle", mass=0.9, com=(0.11, 0.05, -0.02), inertia=(0.02, 0.03, 0.04)),
    ),
    joints=(
        Joint(
            name="waist",
            child="paddle",
            parent="body",
            axis=(0.0, 0.8, 0.6),
            position=(0.2, 0.05, 0.1),
            orientation=turned(X, 0.4),
        ),
    ),
)

BOX = Robot(
    name="box",
    links=(
        Link(
            name="box",
            mass=1.5,
            inertia=(0.00625, 0.0125, 0.01625),
            shapes=(Shape(kind="box", size=(0.15, 0.1, 0.05)),),
        ),
    ),
    joints=(),
)

BALL = Robot(
    name="ball",
    links=(Link(name="ball", mass=0.8, inertia=(0.0032, 0.0032, 0.0032), shapes=(Shape(kind="sphere", size=(0.1,)),)),),
    joints=(),
)

TREE = Robot(
    # Two branches, so that going deep first and going wide first differ; declared in neither order.
    name="tree",
    links=(
        Link(name="trunk", mass=1.4, com=(0.0, 0.0, 0.3), inertia=(0.08, 0.07, 0.05)),
        Link(name="left", mass=0.6, com=(0.2, 0.03, 0.0), inertia=(0.01, 0.02, 0.03)),
        Link(name="tip", mass=0.5, com=(0.1, 0.0, 0.05), inertia=(0.02, 0.01, 0.02)),
        Link(name="right", mass=0.8, com=(-0.2, 0.0, 0.04), inertia=(0.02, 0.03, 0.02)),
    ),
    joints=(
        Joint(name="wrist", child="tip", parent="left", axis=(0.6, 0.0, 0.8), position=(0.4, 0.0, 0.0)),
        Joint(name="right_arm", child="right", parent="trunk", axis=Y, position=(-0.1, 0.0, 0.6)),
        Joint(name="turn", child="trunk", axis=(0.0, 0.0, -1.0)),
        Joint(name="left_arm", child="left", parent="trunk", kind="slide", axis=X, position=(0.1, 0.0, 0.5)),
    ),
)

ARM = Robot(
    # Frames turned against each other, and an axis that points backwards.
    name="arm",
    links=(
        Link(name="shoulder", mass=1.0, com=(0.0, 0.05, 0.2), inertia=(0.05, 0.04, 0.03)),
        Link(
            name="forearm",
            mass=0.7,
            com=(0.2, -0.06, 0.1),
            inertia=(0.02, 0.03, 0.04),
            principal=turned((0.0, 0.6, 0.8), -0.5),
        ),
        Link(name="hand", mass=0.4, com=(0.09, 0.05, -0.04), inertia=(0.01, 0.015, 0.02)),
    ),
    joints=(
        Joint(name="yaw", child="shoulder", axis=Z, position=(0.1, -0.2, 0.3), orientation=turned(Y, 0.3)),
        Joint(
            name="reach",
            child="forearm",
            parent="shoulder",
            axis=(-1.0, 0.0, 0.0),
            position=(0.05, 0.1, 0.4),
            orientation=turned((0.0, 0.6, -0.8), 0.9),
        ),
        Joint(
            name="twist",
            child="hand",
            parent="forearm",
            axis=(0.48, 0.64, 0.6),
            position=(0.35, 0.0, -0.1),
            orientation=turned(Z, math.pi / 2),
        ),
    ),
)

ROBOTS = {robot.name: robot for robot in (PENDULUM, DOUBLE_PENDULUM, GATE, TUMBLER, BOX, BALL, TREE, ARM)}
