"""A robot of the table as USD text, for PhysX.

- A fixed robot hangs on a link of its own, `anchor`, that a fixed joint holds to the world: a joint of the world itself
  would be none of the articulation's.
- Damping is the damping of a drive without stiffness, in N·m·s per degree where the joint turns.
- What PhysX adds of its own accord (angular damping, sleeping, contacts between the robot's own links) is switched off.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

from .robots import FILE_ROOT, UPRIGHT, Joint, Link, Quaternion, Robot, Shape, Vector

ANCHOR = Link(name="anchor", mass=1.0, inertia=(1.0, 1.0, 1.0))

_QUIET = """float physxArticulation:sleepThreshold = 0
float physxArticulation:stabilizationThreshold = 0
bool physxArticulation:enabledSelfCollisions = 0"""
_ROOT_SCHEMAS = '"PhysicsArticulationRootAPI", "PhysxArticulationAPI"'
_LINK_SCHEMAS = '"PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysxRigidBodyAPI"'


def to_usda(robot: Robot) -> str:
    """The robot's file: its default prim holds the links, the joints and nothing else."""
    frames = {robot.root: (np.array(FILE_ROOT), Rotation.identity())}
    prims = []
    if robot.floating:
        prims.append(_link(robot.link(robot.root), *frames[robot.root], root=True))
    else:
        prims += [_link(ANCHOR, np.zeros(3), Rotation.identity()), _weld(robot)]
    waiting = [robot.root] if robot.floating else [None]
    while waiting:
        parent = waiting.pop()
        origin, turn = frames[parent] if parent is not None else (np.zeros(3), Rotation.identity())
        for joint in robot.joints_below(parent):
            frames[joint.child] = (
                origin + turn.apply(joint.position),
                turn * Rotation.from_quat(joint.orientation),
            )
            prims.append(_link(robot.link(joint.child), *frames[joint.child]))
            waiting.append(joint.child)
    prims += [_joint(robot, joint) for joint in robot.joints]
    head = "" if robot.floating else f" (\n    prepend apiSchemas = [{_ROOT_SCHEMAS}]\n)"
    quiet = "" if robot.floating else _indented(_QUIET) + "\n\n"
    return (
        f'#usda 1.0\n(\n    defaultPrim = "{robot.name}"\n    metersPerUnit = 1\n    kilogramsPerUnit = 1\n'
        f'    upAxis = "Z"\n)\n\ndef Xform "{robot.name}"{head}\n{{\n{quiet}'
        + "\n\n".join(_indented(prim) for prim in prims)
        + "\n}\n"
    )


def _link(link: Link, origin: np.ndarray, turn: Rotation, root: bool = False) -> str:
    schemas = f"{_ROOT_SCHEMAS}, {_LINK_SCHEMAS}" if root else _LINK_SCHEMAS
    lines = [
        f"double3 xformOp:translate = {_numbers(tuple(origin))}",
        f"quatd xformOp:orient = {_quaternion(tuple(turn.as_quat()))}",
        'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]',
        f"float physics:mass = {link.mass!r}",
        f"point3f physics:centerOfMass = {_numbers(link.com)}",
        f"float3 physics:diagonalInertia = {_numbers(link.inertia)}",
        f"quatf physics:principalAxes = {_quaternion(link.principal)}",
        "float physxRigidBody:angularDamping = 0",
        "float physxRigidBody:linearDamping = 0",
        "float physxRigidBody:sleepThreshold = 0",
        "float physxRigidBody:stabilizationThreshold = 0",
        *([_QUIET] if root else []),
        *(_shape(f"shape_{index}", shape) for index, shape in enumerate(link.shapes)),
    ]
    return (
        f'def Xform "{link.name}" (\n    prepend apiSchemas = [{schemas}]\n)\n{{\n{_indented(chr(10).join(lines))}\n}}'
    )


def _shape(name: str, shape: Shape) -> str:
    place = f"double3 xformOp:translate = {_numbers(shape.position)}\n"
    order = '"xformOp:translate"'
    if shape.kind == "sphere":
        kind, size = "Sphere", f"double radius = {shape.size[0]!r}\n"
    else:  # a cube of two metres, scaled to the half extents
        kind, size = "Cube", f"double size = 2\nfloat3 xformOp:scale = {_numbers(shape.size)}\n"
        order += ', "xformOp:scale"'
    body = _indented(f"{size}{place}uniform token[] xformOpOrder = [{order}]")
    return f'def {kind} "{name}" (\n    prepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{{\n{body}\n}}'


def _weld(robot: Robot) -> str:
    return f'def PhysicsFixedJoint "weld"\n{{\n    rel physics:body1 = </{robot.name}/{ANCHOR.name}>\n}}'


def _joint(robot: Robot, joint: Joint) -> str:
    hinge = joint.kind == "hinge"
    kind, drive, unit = ("Revolute", "angular", math.radians(1.0)) if hinge else ("Prismatic", "linear", 1.0)
    along = turn_to(joint.axis)  # takes x, which USD's joint acts along, to the joint's axis
    in_parent = tuple((Rotation.from_quat(joint.orientation) * Rotation.from_quat(along)).as_quat())
    lines = [
        f"rel physics:body0 = </{robot.name}/{joint.parent or ANCHOR.name}>",
        f"rel physics:body1 = </{robot.name}/{joint.child}>",
        'uniform token physics:axis = "X"',
        f"point3f physics:localPos0 = {_numbers(joint.position)}",
        f"quatf physics:localRot0 = {_quaternion(in_parent)}",
        "point3f physics:localPos1 = (0, 0, 0)",
        f"quatf physics:localRot1 = {_quaternion(along)}",
        *([] if joint.limits is None else _limits(joint.limits, unit)),
        f'uniform token drive:{drive}:physics:type = "force"',
        f"float drive:{drive}:physics:stiffness = 0",
        f"float drive:{drive}:physics:damping = {joint.damping * unit!r}",
        f"float newton:armature = {joint.armature!r}",
    ]
    schemas = f'"PhysicsDriveAPI:{drive}", "NewtonJointAPI"'
    return (
        f'def Physics{kind}Joint "{joint.name}" (\n    prepend apiSchemas = [{schemas}]\n)\n'
        f"{{\n{_indented(chr(10).join(lines))}\n}}"
    )


def _limits(limits: tuple[float, float], unit: float) -> list[str]:
    lower, upper = (limit / unit for limit in limits)
    return [f"float physics:lowerLimit = {lower!r}", f"float physics:upperLimit = {upper!r}"]


def turn_to(axis: Vector) -> Quaternion:
    """The shortest turn that takes the x axis to a unit vector."""
    x, y, z = axis
    if x < -0.999999:
        return (0.0, 0.0, 1.0, 0.0)
    turn = np.array([0.0, -z, y, 1.0 + x])  # x axis × axis, and 1 + their product
    return tuple(turn / np.linalg.norm(turn)) if x < 1.0 else UPRIGHT


def _numbers(values: tuple[float, ...]) -> str:
    return "(" + ", ".join(repr(float(value)) for value in values) + ")"


def _quaternion(xyzw: Quaternion) -> str:
    """USD text wants the scalar first."""
    return _numbers((xyzw[3], *xyzw[:3]))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.splitlines())
