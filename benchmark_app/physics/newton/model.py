"""From the scene an engine is asked for to a `newton.Model`, and where in it the task's joints and links are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import newton

from ..scene import GROUND_COLOR, SceneSpec

ONE_DOF = (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)


@dataclass(frozen=True)
class NewtonScene:
    """A model of `num_envs` worlds, and what of a world is where.

    Attributes:
        model: The model.
        coords: Column in a world's `joint_q` of each joint, in the task's order.
        dofs: Column in a world's `joint_qd`, likewise.
        dof_names: Name of each column of `joint_qd`, those of a free joint aside.
        links: Body in a world of each of the task's links.
        body_names: Name of each body of a world.
        fixed: Names of the bodies that no joint lets move.
        floor: Shape of the ground, or of the floor that is only seen; None: there is neither.
    """

    model: Any
    coords: list[int]
    dofs: list[int]
    dof_names: dict[int, str]
    links: list[int]
    body_names: list[str]
    fixed: frozenset[str]
    floor: int | None


def build_scene(spec: SceneSpec, device: str, register: Callable[[Any], None]) -> NewtonScene:
    """Build the worlds.

    Args:
        spec: The scene.
        device: Warp device.
        register: Tells a builder of the solver's own attributes.

    Raises:
        ValueError: The robot's file is not as `spec` says, or has parts that are not simulated; the message names them.
    """
    file = mujoco.MjSpec.from_file(spec.mjcf)
    dofs = _dofs_by_joint_label(spec, file)
    mjcf_names = {_engine_name(body.name): body.name for body in file.bodies}
    robot = newton.ModelBuilder()
    register(robot)
    # All shapes are seen; by default those that touch hide behind those of the same body that do not.
    robot.add_mjcf(spec.mjcf, force_show_colliders=True)
    coord_of, dof_of = {}, {}
    for joint, label in enumerate(robot.joint_label):
        for place, name in enumerate(dofs.get(_last(label), ())):
            coord_of[name] = robot.joint_q_start[joint] + place
            dof_of[name] = robot.joint_qd_start[joint] + place
    if not spec.max_contacts:
        robot.shape_flags = [flags & ~newton.ShapeFlags.COLLIDE_SHAPES for flags in robot.shape_flags]
    robot.shape_material_mu = [spec.friction] * robot.shape_count
    bodies = [mjcf_names.get(_last(label), _last(label)) for label in robot.body_label]
    if unknown := [name for name in spec.links if name not in bodies]:
        raise ValueError(f"{spec.mjcf}: the task names links {unknown}, the model has {bodies}")
    scene = newton.ModelBuilder()
    scene.replicate(robot, spec.num_envs)
    floor = None
    if spec.ground:
        touched = newton.ModelBuilder.ShapeConfig(mu=spec.friction)
        floor = scene.add_ground_plane(cfg=touched, color=GROUND_COLOR)
    elif spec.floor is not None:
        seen = newton.ModelBuilder.ShapeConfig(has_shape_collision=False, has_particle_collision=False)
        floor = scene.add_ground_plane(height=spec.floor, cfg=seen, color=GROUND_COLOR)
    model = scene.finalize(device=device)
    model.set_gravity(spec.gravity)
    return NewtonScene(
        model=model,
        coords=[coord_of[name] for name in spec.joints],
        dofs=[dof_of[name] for name in spec.joints],
        dof_names={dof: name for name, dof in dof_of.items()},
        links=[bodies.index(name) for name in spec.links],
        body_names=bodies,
        fixed=_fixed(file),
        floor=floor,
    )


def _fixed(robot: Any) -> frozenset[str]:
    fixed = {robot.worldbody.name}
    for body in robot.bodies:  # parents come first
        if not body.joints and (body.parent is None or body.parent.name in fixed):
            fixed.add(body.name)
    return frozenset(fixed)


def _dofs_by_joint_label(spec: SceneSpec, robot: Any) -> dict[str, list[str]]:
    """For each joint that Newton makes of an MJCF body, the MJCF joints that are its degrees of freedom, in order.

    Newton merges the joints of a body to one, named by all of them, with the sliding ones first.
    """
    if robot.actuators:
        named = [actuator.name for actuator in robot.actuators]
        raise ValueError(f"{spec.mjcf}: take out the actuators {named}; SceneSpec.actuator says how joints are driven")
    names: list[str] = []
    free: list[str] = []
    found: dict[str, list[str]] = {}
    for body in robot.bodies:
        if any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints):
            free.append(body.name)
            continue
        if several := [joint.name for joint in body.joints if joint.type not in ONE_DOF]:
            raise ValueError(f"{spec.mjcf}: every joint must have one degree of freedom; {several} have more")
        slides_first = sorted(body.joints, key=lambda joint: joint.type != mujoco.mjtJoint.mjJNT_SLIDE)
        names += [joint.name for joint in body.joints]
        found["_".join(_engine_name(joint.name) for joint in body.joints)] = [joint.name for joint in slides_first]
        if any((joint.pos != body.joints[0].pos).any() for joint in body.joints):
            raise ValueError(f"{spec.mjcf}: the joints of the body {body.name} must have the same pos")
    if len(free) != spec.floating or free != [body.name for body in robot.worldbody.bodies][: len(free)]:
        needed = "one free joint, of the first body" if spec.floating else "no free joint"
        raise ValueError(f"{spec.mjcf}: floating={spec.floating} needs {needed}; the bodies with one are {free}")
    if sorted(names) != sorted(spec.joints):
        raise ValueError(f"{spec.mjcf}: the task names joints {list(spec.joints)}, the model has {names}")
    return found


def _last(label: str) -> str:
    """Newton labels things by their path (`cartpole/worldbody/cart/slider`); the last part is the MJCF name."""
    return label.rsplit("/", 1)[-1]


def _engine_name(name: str) -> str:
    """An MJCF name as Newton writes it: it takes out what no USD path may hold."""
    return name.replace("-", "_")
