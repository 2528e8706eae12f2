"""What PhysX says of the robot it simulates."""

from __future__ import annotations

import torch

from ..scene import JointFacts, LinkFacts, RobotFacts, SceneSpec
from .view import ArticulationView, Field

_FREE = 1e6
"""A limit beyond this [rad or m] is none: PhysX writes the largest float for it."""


def robot_facts(view: ArticulationView, spec: SceneSpec) -> RobotFacts:
    """Read joints and links back from PhysX. Gravity and physics step are those it was given: it tells neither.

    The effort limit is ours, since PhysX saturates nothing of what we write. The root of a fixed robot is left out: it
    is part of the world, and its mass plays no part.
    """
    limit, damping, armature, friction = (
        _first_row(view, field)
        for field in (Field.DOF_LIMIT, Field.DOF_DAMPING, Field.DOF_ARMATURE, Field.DOF_FRICTION)
    )
    joints = []
    for place, name in enumerate(spec.joints):
        dof = view.joint_names.index(name)
        lower, upper = (None if abs(bound) > _FREE else bound for bound in limit[dof].tolist())
        dry, _, viscous = friction[dof].tolist()
        joints.append(
            JointFacts(
                name=name,
                lower=lower,
                upper=upper,
                damping=float(damping[dof]) + viscous,
                armature=float(armature[dof]),
                friction=dry,
                effort_limit=None if spec.effort_limit is None else spec.effort_limit[place],
            )
        )
    mass, com, inertia = (_first_row(view, field) for field in (Field.LINK_MASS, Field.LINK_COM, Field.LINK_INERTIA))
    links = []
    for body, name in enumerate(view.link_names):
        if body == 0 and view.fixed_base:
            continue
        # PhysX has turned the moments from the mass frame to the link's axes already.
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia[body].view(3, 3).tolist()
        x, y, z = com[body, :3].tolist()
        links.append(LinkFacts(name=name, mass=float(mass[body]), com=(x, y, z), inertia=(xx, yy, zz, xy, xz, yz)))
    links.sort(key=lambda link: link.name)
    return RobotFacts(joints=tuple(joints), links=tuple(links), gravity=spec.gravity, physics_dt=spec.physics_dt)


def _first_row(view: ArticulationView, field: Field) -> torch.Tensor:
    values = torch.zeros(view.shape(field))
    if values.numel():
        view.read(field, values)
    return values[0]
