"""A robot's USD file, written from its MJCF file: the same masses, frames, joints and shapes, as PhysX wants them.

    python -m tests.tasks.mjcf_to_usda tasks/ant/assets/ant.xml > tasks/ant/assets/ant.usda

For floating robots of hinges and of solid spheres, capsules and boxes, whose frames all point the same way where every
joint is at 0. What it cannot carry over it refuses.

- Damping is the damping of a drive without stiffness, in N·m·s per degree.
- PhysX would let a robot touch itself, and fall asleep: both are switched off.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path

import mujoco
import numpy as np

from tests.conformance.usda import turn_to

HINGE, FREE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_FREE)
SPHERE, CAPSULE, BOX = (int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind}")) for kind in ("SPHERE", "CAPSULE", "BOX"))

HEAD = '''#usda 1.0
(
    doc = """{title}. The same robot as {name}.xml, and written from it.

Written from scratch for benchmark_app; Apache-2.0, like the rest of the repository (see LICENSE beside this file)."""
    defaultPrim = "{name}"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
'''


def to_usda(mjcf: Path) -> str:
    """The USD text of the robot in an MJCF file.

    Raises:
        ValueError: It holds what this converter cannot carry over; the message names it.
    """
    model = mujoco.MjModel.from_xml_path(str(mjcf))
    _require_simple(model)
    robot = mjcf.stem
    origins = np.zeros((model.nbody, 3))
    for body in range(1, model.nbody):
        origins[body] = origins[model.body_parentid[body]] + model.body_pos[body]
    prims = [_link(model, body, origins[body]) for body in range(1, model.nbody)]
    prims += [_joint(model, joint, robot) for joint in range(1, model.njnt)]
    title = mjcf.read_text().split("<!--\n", 1)[1].split(".\n", 1)[0].strip()
    return HEAD.format(title=title, name=robot) + "\n" + _prim("Xform", robot, [], prims) + "\n"


def _require_simple(model: mujoco.MjModel) -> None:
    if model.njnt != model.nbody - 1 or model.jnt_type[0] != FREE or (model.jnt_type[1:] != HINGE).any():
        raise ValueError("expected a floating root, and a hinge for every other body")
    if model.body_quat[1:, 0].min() < 1.0 or np.abs(model.jnt_pos).max() > 0.0:
        raise ValueError("a body's frame must not be turned, and must lie in its joint")
    if unknown := [model.geom(geom).name for geom in range(model.ngeom) if model.geom_type[geom] not in _SHAPES]:
        raise ValueError(f"geoms {unknown}: only spheres, capsules and boxes")
    for name in ("jnt_stiffness", "dof_frictionloss"):
        if getattr(model, name).any():
            raise ValueError(f"{name}: cannot be carried over")


def _link(model: mujoco.MjModel, body: int, origin: np.ndarray) -> str:
    root = body == 1
    schemas = ["PhysicsArticulationRootAPI", "PhysxArticulationAPI"] if root else []
    shapes = [_shape(model, geom) for geom in range(model.ngeom) if model.geom_bodyid[geom] == body]
    quiet = ["sleepThreshold = 0", "stabilizationThreshold = 0", "enabledSelfCollisions = 0"] if root else []
    lines = [
        f"double3 xformOp:translate = {_vector(origin)}",
        'uniform token[] xformOpOrder = ["xformOp:translate"]',
        f"float physics:mass = {_number(model.body_mass[body])}",
        f"point3f physics:centerOfMass = {_vector(model.body_ipos[body])}",
        f"float3 physics:diagonalInertia = {_vector(model.body_inertia[body])}",
        f"quatf physics:principalAxes = {_vector(model.body_iquat[body])}",
        *(f"{'bool' if 'enabled' in line else 'float'} physxArticulation:{line}" for line in quiet),
        *(f"float physxRigidBody:{name}Threshold = 0" for name in ("sleep", "stabilization")),
        *shapes,
    ]
    schemas += ["PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysxRigidBodyAPI"]
    return _prim("Xform", model.body(body).name, schemas, lines)


def _sphere(size: np.ndarray) -> list[str]:
    return [f"double radius = {_number(size[0])}"]


def _capsule(size: np.ndarray) -> list[str]:
    lengths = [f"double radius = {_number(size[0])}", f"double height = {_number(2 * size[1])}"]
    return ['uniform token axis = "Z"', *lengths]


def _box(size: np.ndarray) -> list[str]:
    return ["double size = 2", f"float3 xformOp:scale = {_vector(size)}"]


_SHAPES = {SPHERE: ("Sphere", _sphere), CAPSULE: ("Capsule", _capsule), BOX: ("Cube", _box)}


def _shape(model: mujoco.MjModel, geom: int) -> str:
    kind, sized = _SHAPES[model.geom_type[geom]]
    lines = sized(model.geom_size[geom])
    place = ["xformOp:translate", "xformOp:orient", *(["xformOp:scale"] if kind == "Cube" else [])]
    lines += [
        f"double3 xformOp:translate = {_vector(model.geom_pos[geom])}",
        f"quatf xformOp:orient = {_vector(model.geom_quat[geom])}",
        f"uniform token[] xformOpOrder = [{', '.join(map(_quoted, place))}]",
        f"color3f[] primvars:displayColor = [{_vector(model.geom_rgba[geom, :3].astype(float).round(6))}]",
    ]
    collides = model.geom_contype[geom] or model.geom_conaffinity[geom]
    name = model.geom(geom).name
    own = name != model.body(model.geom_bodyid[geom]).name
    return _prim(kind, name if own else "shape", ["PhysicsCollisionAPI"] if collides else [], lines)


def _joint(model: mujoco.MjModel, joint: int, robot: str) -> str:
    body, dof = int(model.jnt_bodyid[joint]), int(model.jnt_dofadr[joint])
    parent, child = (model.body(link).name for link in (model.body_parentid[body], body))
    x, y, z, w = turn_to(tuple(model.jnt_axis[joint]))  # takes x, along which USD's joint acts, to the axis
    along = _vector((w, x, y, z))
    lines = [
        f"rel physics:body0 = </{robot}/{parent}>",
        f"rel physics:body1 = </{robot}/{child}>",
        'uniform token physics:axis = "X"',
        f"point3f physics:localPos0 = {_vector(model.body_pos[body])}",
        f"quatf physics:localRot0 = {along}",
        "point3f physics:localPos1 = (0, 0, 0)",
        f"quatf physics:localRot1 = {along}",
        *(
            f"float physics:{end}Limit = {_number(math.degrees(limit))}"
            for end, limit in zip(("lower", "upper"), model.jnt_range[joint], strict=True)
            if model.jnt_limited[joint]
        ),
        'uniform token drive:angular:physics:type = "force"',
        "float drive:angular:physics:stiffness = 0",
        f"float drive:angular:physics:damping = {_number(math.radians(model.dof_damping[dof]))}",
        f"float newton:armature = {_number(model.dof_armature[dof])}",
    ]
    schemas = ["PhysicsDriveAPI:angular", "NewtonJointAPI"]
    return _prim("PhysicsRevoluteJoint", model.joint(joint).name, schemas, lines)


def _prim(kind: str, name: str, schemas: list[str], body: list[str]) -> str:
    head = f'def {kind} "{name}"'
    if schemas:
        head += f" (\n    prepend apiSchemas = [{', '.join(map(_quoted, schemas))}]\n)"
    spaced = [f"\n{part}" if part.startswith("def ") and at else part for at, part in enumerate(body)]
    inside = "\n".join(f"    {line}" if line else "" for part in spaced for line in part.split("\n"))
    return f"{head}\n{{\n{inside}\n}}"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _number(value: float) -> str:
    """In the nine digits that float32 can tell apart; no -0."""
    return f"{value + 0.0:.9g}"


def _vector(values: Iterable[float]) -> str:
    return f"({', '.join(map(_number, values))})"


if __name__ == "__main__":
    sys.stdout.write(to_usda(Path(sys.argv[1])))
