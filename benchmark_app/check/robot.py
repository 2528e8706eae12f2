"""Checks of a robot's files: the declared joints in each, and the same robot in both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from unittest import SkipTest

import numpy as np

from benchmark_app.envs.declaration import TaskDeclaration

from .findings import require

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""Both files give their numbers in decimals, USD in float32."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A body with a mass.

    Attributes:
        mass: [kg].
        com: Centre of mass [m], link frame.
        inertia: `[3, 3]` about the centre of mass, axes of the link frame [kg·m²].
        pose: `[4, 4]` in the frame of the robot's root where every joint is at 0.
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray
    pose: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A joint of one degree of freedom.

    Attributes:
        kind: `hinge` or `slide`.
        child: The link it moves.
        axis: Unit vector, frame of the robot's root.
        anchor: A point it turns about [m], likewise.
        lower: Lower limit [rad or m]; None: unlimited.
        upper: Upper limit, likewise.
        damping: [N·m·s/rad or N·s/m].
        armature: [kg·m² or kg].
        other: What the file gives it besides and the declaration has no word for: `friction`, `stiffness`.
    """

    kind: str
    child: str
    axis: np.ndarray
    anchor: np.ndarray
    lower: float | None
    upper: float | None
    damping: float
    armature: float
    other: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Something that collides.

    Attributes:
        link: The link it belongs to; "": what is fixed to the world.
        kind: `sphere`, `capsule`, `box`, `cylinder`, `plane` or another of the format's own.
        centre: [m], link frame.
        extent: Half the sides of the box around it, parallel to the link's axes [m].
    """

    link: str
    kind: str
    centre: np.ndarray
    extent: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Robot:
    """What a file says of a robot.

    Attributes:
        file: The file's name.
        links: By name, without what is fixed to the world.
        joints: By name, without the free joint of a floating robot.
        shapes: Everything that collides.
        extras: What does not belong into a robot's file: actuators, the ground.
    """

    file: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    shapes: tuple[Shape, ...]
    extras: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RobotFiles:
    """A task's robot in its two formats.

    Attributes:
        declaration: What the task claims.
        mjcf: What the MJCF says; a text: why it could not be read here.
        usd: What the USD says, likewise; None: the task has none.
    """

    declaration: TaskDeclaration
    mjcf: Robot | str
    usd: Robot | str | None


def the_mjcf_has_the_declared_joints(files: RobotFiles) -> str:
    """The MJCF has exactly the declared joints, with their limits, damping and armature."""
    return _declared_joints(files.declaration, _read(files.mjcf))


def the_usd_has_the_declared_joints(files: RobotFiles) -> str:
    """The USD has exactly the declared joints, with their limits, damping and armature."""
    return _declared_joints(files.declaration, _read(files.usd))


def the_files_hold_a_robot_and_nothing_else(files: RobotFiles) -> str:
    """Ground, actuators and friction come from the scene, so that every engine is told the same."""
    robots = [robot for robot in (files.mjcf, files.usd) if isinstance(robot, Robot)]
    if not robots:
        _read(files.mjcf)
    for robot in robots:
        require(not robot.extras, f"{robot.file} holds {', '.join(robot.extras)}; remove it, SceneSpec tells of it")
        for name, joint in robot.joints.items():
            require(not joint.other, f"{robot.file}: the joint {name} has {', '.join(joint.other)}; remove it")
    return ", ".join(robot.file for robot in robots)


def mjcf_and_usd_are_the_same_robot(files: RobotFiles) -> str:
    """Both files have the same links, masses, inertias, frames, joint axes and colliding shapes."""
    one, other = _read(files.mjcf), _read(files.usd)
    both = f"{one.file} and {other.file}"
    _same_names(both, "links", one.links, other.links)
    _same_names(both, "joints", one.joints, other.joints)
    for name, link in one.links.items():
        its_link = other.links[name]
        for key in ("com", "pose"):
            _same(both, f"{key} of the link {name}", getattr(link, key), getattr(its_link, key))
        _same(both, f"mass of the link {name}", link.mass, its_link.mass, link.mass)
        _same(both, f"inertia of the link {name}", link.inertia, its_link.inertia, np.trace(link.inertia))
    for name, joint in one.joints.items():
        its = other.joints[name]
        for key in ("kind", "child"):
            same = getattr(joint, key) == getattr(its, key)
            require(same, f"{both} differ: the joint {name} has {key} {getattr(joint, key)} and {getattr(its, key)}")
        _same(both, f"axis of the joint {name}", joint.axis, its.axis)
        if joint.kind == "hinge":  # along a slide's axis every point is as good
            off = joint.anchor - its.anchor
            _same(both, f"place of the joint {name}", off - joint.axis * (off @ joint.axis), np.zeros(3))
    _same_shapes(both, one.shapes, other.shapes)
    return f"{len(one.links)} links, {len(one.joints)} joints, {len(one.shapes)} colliding shapes"


def the_view_goes_along_with_a_link_there_is(files: RobotFiles) -> str:
    """The link that people go along with to look at the robot is one of its links."""
    view, robot = files.declaration.view, _read(files.mjcf)
    if view.link is None:
        return "it stands still"
    known = ", ".join(robot.links)
    require(
        view.link in robot.links, f"DECLARATION.view follows {view.link}, {robot.file} has {known}; name one of them"
    )
    return f"along with {view.link}"


ROBOT: tuple[Callable[[RobotFiles], str], ...] = (
    the_mjcf_has_the_declared_joints,
    the_usd_has_the_declared_joints,
    the_files_hold_a_robot_and_nothing_else,
    mjcf_and_usd_are_the_same_robot,
    the_view_goes_along_with_a_link_there_is,
)
"""Every check of a robot's files."""


def _read(robot: Robot | str | None) -> Robot:
    if isinstance(robot, Robot):
        return robot
    raise SkipTest(robot or "the task has no USD file; only engines that read MJCF can run it")


def _declared_joints(declaration: TaskDeclaration, robot: Robot) -> str:
    rows = {row.name: row for row in declaration.joints}
    _same_names(f"DECLARATION.joints and {robot.file}", "joints", rows, robot.joints)
    for name, row in rows.items():
        joint = robot.joints[name]
        for key in ("lower", "upper", "damping", "armature"):
            wanted, got = getattr(row, key), getattr(joint, key)
            close = wanted is got if wanted is None or got is None else _close(wanted, got, abs(wanted))
            require(close, f"{name}: DECLARATION.joints says {key}={wanted}, {robot.file} {got}; make them the same")
    return f"{len(rows)} joints"


def _same_names(both: str, what: str, one: Iterable[str], other: Iterable[str]) -> None:
    odd = sorted(set(one) ^ set(other))
    require(not odd, f"{both} have different {what}: only one of them has {', '.join(odd)}")


def _same_shapes(both: str, one: tuple[Shape, ...], other: tuple[Shape, ...]) -> None:
    """Every shape has its like in the other file."""
    left = list(other)
    for shape in one:
        alike = [its for its in left if (its.link, its.kind) == (shape.link, shape.kind)]
        alike = [its for its in alike if _close(shape.centre, its.centre) and _close(shape.extent, its.extent)]
        where = f"on {shape.link or 'the world'} at {_numbers(shape.centre)}, half sides {_numbers(shape.extent)}"
        require(bool(alike), f"{both} differ: only the first has a colliding {shape.kind} {where}")
        left = [its for its in left if its is not alike[0]]
    for shape in left:
        where = f"on {shape.link or 'the world'} at {_numbers(shape.centre)}, half sides {_numbers(shape.extent)}"
        raise AssertionError(f"{both} differ: only the second has a colliding {shape.kind} {where}")


def _same(both: str, what: str, one: float | np.ndarray, other: float | np.ndarray, scale: float = 1.0) -> None:
    require(_close(one, other, scale), f"{both} differ: {what} is {_numbers(one)} and {_numbers(other)}")


def _close(one: float | np.ndarray, other: float | np.ndarray, scale: float = 1.0) -> bool:
    """Whether numbers are the same but for rounding; `scale`: of what size a number is that counts."""
    return bool(np.allclose(one, other, rtol=RELATIVE, atol=ABSOLUTE * scale))


def _numbers(value: float | np.ndarray) -> str:
    return np.array2string(np.asarray(value, dtype=float), precision=6, suppress_small=True).replace("\n", "")
