"""The facts of a robot in the contract's terms, from what a solver holds of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..scene import JointFacts, LinkFacts, RobotFacts, SceneSpec, Vector
from .model import NewtonScene

PARTS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Rows and columns of a symmetric tensor, in the order of `LinkFacts.inertia`."""


class Dof(NamedTuple):
    """What a solver holds of a joint; `limits` is None where it has none."""

    limits: tuple[float, float] | None
    damping: float
    armature: float
    friction: float


class Body(NamedTuple):
    """What a solver holds of a body; `inertia` `[3, 3]` about the centre of mass, axes of the link frame."""

    mass: float
    com: Any
    inertia: Any


def robot_facts(
    spec: SceneSpec, scene: NewtonScene, dofs: Mapping[int, Dof], bodies: Mapping[int, Body], gravity: Any
) -> RobotFacts:
    """Name what a solver holds of one world.

    Args:
        spec: The scene; effort limits and the physics step are our own doing and come from it.
        scene: Where in a world things are.
        dofs: By column of `joint_qd`.
        bodies: By place in a world.
        gravity: As the solver has it [m/s²].
    """
    limits = spec.effort_limit or (None,) * len(spec.joints)
    joints = []
    for name, dof, effort_limit in zip(spec.joints, scene.dofs, limits, strict=True):
        found = dofs[dof]
        lower, upper = found.limits or (None, None)
        joints.append(
            JointFacts(
                name=name,
                lower=lower,
                upper=upper,
                damping=found.damping,
                armature=found.armature,
                friction=found.friction,
                effort_limit=effort_limit,
            )
        )
    links = []
    for name, body in sorted((scene.body_names[place], body) for place, body in bodies.items()):
        if body.mass > 0 and name not in scene.fixed:
            xx, yy, zz, xy, xz, yz = (float(body.inertia[part]) for part in PARTS)
            com = vector(body.com)
            links.append(LinkFacts(name=name, mass=body.mass, com=com, inertia=(xx, yy, zz, xy, xz, yz)))
    return RobotFacts(joints=tuple(joints), links=tuple(links), gravity=vector(gravity), physics_dt=spec.physics_dt)


def vector(values: Any) -> Vector:
    """Three numbers."""
    x, y, z = map(float, values)
    return x, y, z


def turned(moments: Any, quat: Any) -> Any:
    """The inertia tensor `[3, 3]` of principal moments whose axes a quaternion wxyz turns into the link frame."""
    w, x, y, z = map(float, quat)
    axes = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return axes @ np.diag(np.asarray(moments, dtype=float)) @ axes.T
