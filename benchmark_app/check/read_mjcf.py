"""A robot's MJCF file, as MuJoCo compiles it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from .robot import Joint, Link, Robot, Shape

_KINDS = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): "plane",
    int(mujoco.mjtGeom.mjGEOM_HFIELD): "height field",
    int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
    int(mujoco.mjtGeom.mjGEOM_BOX): "box",
}


def read_mjcf(path: Path) -> Robot:
    """Read a robot.

    Raises:
        ValueError: MuJoCo cannot compile it.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    free = model.njnt > 0 and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    to_root = np.linalg.inv(_pose(data.xpos[1], data.xmat[1])) if free else np.eye(4)
    links = {}
    for body in filter(lambda body: model.body_weldid[body], range(1, model.nbody)):  # 0: fixed to the world
        turn = _matrix(model.body_iquat[body])
        links[model.body(body).name] = Link(
            mass=float(model.body_mass[body]),
            com=model.body_ipos[body].copy(),
            inertia=turn @ np.diag(model.body_inertia[body]) @ turn.T,
            pose=to_root @ _pose(data.xpos[body], data.xmat[body]),
        )
    joints = {}
    for number in range(int(free), model.njnt):
        joints[model.joint(number).name] = _joint(model, data, number, to_root)
    geoms = [geom for geom in range(model.ngeom) if model.geom_contype[geom] or model.geom_conaffinity[geom]]
    shapes = tuple(_shape(model, data, geom) for geom in geoms)
    extras = [f"{model.nu} actuators"] if model.nu else []
    extras += [f"a {shape.kind}" for shape in shapes if shape.kind in ("plane", "height field")]
    return Robot(file=path.name, links=links, joints=joints, shapes=shapes, extras=tuple(extras))


def _joint(model: Any, data: Any, number: int, to_root: np.ndarray) -> Joint:
    kinds = {int(mujoco.mjtJoint.mjJNT_HINGE): "hinge", int(mujoco.mjtJoint.mjJNT_SLIDE): "slide"}
    dof = model.jnt_dofadr[number]
    lower, upper = model.jnt_range[number].tolist() if model.jnt_limited[number] else (None, None)
    others = {"friction": model.dof_frictionloss[dof], "stiffness": model.jnt_stiffness[number]}
    return Joint(
        kind=kinds.get(int(model.jnt_type[number]), "ball"),
        child=model.body(model.jnt_bodyid[number]).name,
        axis=to_root[:3, :3] @ data.xaxis[number],
        anchor=to_root[:3, :3] @ data.xanchor[number] + to_root[:3, 3],
        lower=lower,
        upper=upper,
        damping=float(model.dof_damping[dof]),
        armature=float(model.dof_armature[dof]),
        other=tuple(f"{name} {float(value):g}" for name, value in others.items() if value),
    )


def _shape(model: Any, data: Any, geom: int) -> Shape:
    kind = _KINDS.get(int(model.geom_type[geom]), "mesh")
    size, body = model.geom_size[geom], model.geom_bodyid[geom]
    if model.body_weldid[body]:
        link, turn, centre = model.body(body).name, _matrix(model.geom_quat[geom]), model.geom_pos[geom].copy()
    else:
        link, turn, centre = "", data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom].copy()
    extent = half_sides(kind, turn, radius=size[0], half_height=size[1], half_extents=size)
    return Shape(link=link, kind=kind, centre=centre, extent=extent)


def half_sides(
    kind: str, turn: np.ndarray, *, radius: float = 0.0, half_height: float = 0.0, half_extents: Any = (0.0, 0.0, 0.0)
) -> np.ndarray:
    """Half the sides of the box around a shape, parallel to the axes it was turned from.

    Args:
        kind: The shape.
        turn: `[3, 3]`; what is long is long along its z axis.
        radius: Of what is round [m].
        half_height: Of what is long, without round ends [m].
        half_extents: Of a box [m].
    """
    along = np.abs(turn[:, 2])
    around: np.ndarray = np.abs(turn) @ np.asarray(half_extents, dtype=float)
    if kind == "sphere":
        return np.full(3, radius)
    if kind == "capsule":
        around = along * half_height + radius
    if kind == "cylinder":
        around = along * half_height + radius * np.sqrt(np.clip(1.0 - along**2, 0.0, 1.0))
    return around


def _matrix(quat: Any) -> np.ndarray:
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.asarray(quat, dtype=float))
    return out.reshape(3, 3)


def _pose(position: Any, matrix: Any) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.asarray(matrix).reshape(3, 3), position
    return pose
