"""A robot's USD file, read with OpenUSD's own library (`usd-core`)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from .read_mjcf import half_sides
from .robot import Joint, Link, Robot, Shape

_KINDS = {"Sphere": "sphere", "Capsule": "capsule", "Cylinder": "cylinder", "Cube": "box", "Plane": "plane"}
_Z_FROM = {"X": np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]), "Y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])}
"""Turns the z axis to another one."""


def read_usd(path: Path) -> Robot:
    """Read a robot. A root that no joint moves counts as fixed to the world, unless it is all that could float.

    Raises:
        pxr.Tf.ErrorException: It is no USD file.
    """
    stage = Usd.Stage.Open(str(path))
    prims = list(stage.Traverse())
    bodies = {prim.GetPath(): prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    found = [prim for prim in prims if prim.IsA(UsdPhysics.Joint)]
    welded = {path for prim in found if prim.IsA(UsdPhysics.FixedJoint) for path in _bodies_of(prim) if path in bodies}
    moved = {_bodies_of(prim)[1] for prim in found if not prim.IsA(UsdPhysics.FixedJoint)}
    roots = [path for path in bodies if path not in moved]
    fixed = set(welded) & set(roots)
    floating = [path for path in roots if path not in fixed]
    places = {path: _placed(prim) for path, prim in bodies.items()}
    to_root = np.linalg.inv(places[floating[0]]) if floating else np.eye(4)
    links = {
        bodies[path].GetName(): _link(bodies[path], to_root @ places[path]) for path in bodies if path not in fixed
    }
    joints = {
        prim.GetName(): _joint(prim, bodies, places, to_root)
        for prim in found
        if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint)
    }
    shapes, extras = [], []
    for prim in prims:
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            shapes.append(_shape(prim, bodies, fixed))
        if prim.IsA(UsdPhysics.Scene):
            extras.append(f"the physics scene {prim.GetName()}")
    extras += [f"a {shape.kind}" for shape in shapes if shape.kind == "plane"]
    return Robot(file=path.name, links=links, joints=joints, shapes=tuple(shapes), extras=tuple(extras))


def _bodies_of(prim: Any) -> tuple[Any, Any]:
    """Paths of the bodies a joint is between; None: the world."""
    joint = UsdPhysics.Joint(prim)
    first, second = joint.GetBody0Rel().GetTargets(), joint.GetBody1Rel().GetTargets()
    return (first[0] if first else None), (second[0] if second else None)


def _link(prim: Any, pose: np.ndarray) -> Link:
    mass = UsdPhysics.MassAPI(prim)
    turn = _turned(mass.GetPrincipalAxesAttr().Get())
    return Link(
        mass=float(mass.GetMassAttr().Get()),
        com=np.array(mass.GetCenterOfMassAttr().Get(), dtype=float),
        inertia=turn @ np.diag(np.array(mass.GetDiagonalInertiaAttr().Get(), dtype=float)) @ turn.T,
        pose=pose,
    )


def _joint(prim: Any, bodies: dict[Any, Any], places: dict[Any, np.ndarray], to_root: np.ndarray) -> Joint:
    hinge = prim.IsA(UsdPhysics.RevoluteJoint)
    joint = UsdPhysics.RevoluteJoint(prim) if hinge else UsdPhysics.PrismaticJoint(prim)
    parent, child = _bodies_of(prim)
    frame = np.eye(4)
    frame[:3, :3] = _turned(joint.GetLocalRot0Attr().Get())
    frame[:3, 3] = joint.GetLocalPos0Attr().Get()
    frame = to_root @ (places[parent] if parent in places else np.eye(4)) @ frame
    unit = math.radians(1.0) if hinge else 1.0
    bounds = (joint.GetLowerLimitAttr().Get(), joint.GetUpperLimitAttr().Get())
    lower, upper = (None if bound is None or math.isinf(bound) else bound * unit for bound in bounds)
    drive = UsdPhysics.DriveAPI(prim, "angular" if hinge else "linear")
    damping, stiffness = (attribute.Get() or 0.0 for attribute in (drive.GetDampingAttr(), drive.GetStiffnessAttr()))
    armature = prim.GetAttribute("newton:armature").Get() or prim.GetAttribute("physxJoint:armature").Get() or 0.0
    friction = prim.GetAttribute("newton:friction").Get() or prim.GetAttribute("physxJoint:jointFriction").Get() or 0.0
    others = {"stiffness": stiffness, "friction": friction}
    return Joint(
        kind="hinge" if hinge else "slide",
        child=bodies[child].GetName(),
        axis=frame[:3, "XYZ".index(joint.GetAxisAttr().Get())],
        anchor=frame[:3, 3],
        lower=lower,
        upper=upper,
        damping=damping / unit,
        armature=float(armature),
        other=tuple(f"{name} {float(value):g}" for name, value in others.items() if value),
    )


def _shape(prim: Any, bodies: dict[Any, Any], fixed: set[Any]) -> Shape:
    kind = _KINDS.get(prim.GetTypeName(), str(prim.GetTypeName()).lower())
    owner = prim
    while owner.GetPath() not in bodies and owner.GetParent():
        owner = owner.GetParent()
    body = owner.GetPath() if owner.GetPath() in bodies else None
    scaled = _matrix(prim)
    scale = np.linalg.norm(scaled[:3, :3], axis=0)
    on_link = body is not None and body not in fixed
    place = _placed(prim)
    inside = np.linalg.inv(_placed(bodies[body])) @ place if on_link else place
    turn = inside[:3, :3]
    sizes: dict[str, Any] = {}
    if kind in ("sphere", "capsule", "cylinder"):
        sizes["radius"] = prim.GetAttribute("radius").Get() * scale[0]
    if kind in ("capsule", "cylinder"):
        sizes["half_height"] = 0.5 * prim.GetAttribute("height").Get() * scale[2]
        axis = prim.GetAttribute("axis").Get()
        turn = turn @ _Z_FROM[axis] if axis in _Z_FROM else turn
    if kind == "box":
        sizes["half_extents"] = 0.5 * prim.GetAttribute("size").Get() * scale
    name = bodies[body].GetName() if on_link else ""
    return Shape(link=name, kind=kind, centre=inside[:3, 3], extent=half_sides(kind, turn, **sizes))


def _matrix(prim: Any) -> np.ndarray:
    """Where a prim is in the stage, with its scale; column vectors, where USD has rows."""
    return np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default()), dtype=float).T


def _placed(prim: Any) -> np.ndarray:
    """The same without scale."""
    pose = _matrix(prim)
    pose[:3, :3] /= np.linalg.norm(pose[:3, :3], axis=0)
    return pose


def _turned(quat: Any) -> np.ndarray:
    w, (x, y, z) = quat.GetReal(), quat.GetImaginary()
    if w == x == y == z == 0.0:  # the schema's default, which means no turn
        return np.eye(3)
    n = math.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w / n, x / n, y / n, z / n
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
