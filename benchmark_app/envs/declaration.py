"""What a task claims to be, as plain data a light process can read. `check` verifies every claim of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmark_app.rendering.camera import CameraSpec, Vector


def looked_at(position: Vector, target: Vector, follow: str | None = None) -> CameraSpec:
    """How people look at a task: with shadows, smooth edges and squares on the floor.

    Args:
        position: Where they stand [m].
        target: What is in the middle of the picture [m].
        follow: The link that they go along with; both points then count from its origin.
    """
    return CameraSpec(
        name="view",
        width=640,
        height=400,
        position=position,
        target=target,
        link=follow,
        turns=False,
        shadows=True,
        checkered=True,
        samples=4,
    )


DEFAULT_VIEW = looked_at((3.0, -3.0, 2.0), (0.0, 0.0, 0.5))
"""A task that says nothing else is looked at from in front, to the right and above."""


@dataclass(frozen=True, kw_only=True)
class JointRow:
    """One joint of a robot, as every file of it must have it.

    Attributes:
        name: Its name.
        lower: Lower limit [rad or m]; None: unlimited.
        upper: Upper limit, likewise.
        damping: Passive damping [N·m·s/rad or N·s/m].
        armature: Inertia added to the joint [kg·m² or kg].
    """

    name: str
    lower: float | None = None
    upper: float | None = None
    damping: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where something that a task uses comes from.

    Attributes:
        what: The file or folder (relative to the task's folder), or the idea, it is about.
        origin: Who made it: "this project", or a repository's address.
        revision: Commit or version it was taken from; "" for what is our own.
        licence: SPDX identifier.
        licence_file: File with the licence's text, relative to the task's folder; "" for a mere idea.
    """

    what: str
    origin: str
    revision: str = ""
    licence: str = ""
    licence_file: str = ""


@dataclass(frozen=True, kw_only=True)
class TaskDeclaration:
    """What a task is, for listing, for its page and for `check`.

    Attributes:
        suite: classic, locomotion or manipulation; a task of your own: whatever it belongs to.
        title: Its name for a person.
        summary: What it tests and why that matters, one or two paragraphs.
        robot_type: Short name of the body: `ant`, `arm`.
        control: How actions act: `effort`, `joint_position`; the name of the task's semantics ends with it.
        success: What counts as success, in one sentence; "" where the task knows none.
        solved_at: Share of successful episodes from which on the task counts as solved; None: it is judged by return.
        reward_terms: Every term of the reward, by name, with its meaning and unit, in the environment's order.
        metrics: Everything measured of an episode, by name, with its meaning and unit, in the environment's order.
        joints: The robot's joints, in the task's canonical order.
        engines: Names of the engines the task is made for and checked on.
        differs: What is deliberately unlike the task it is modelled on, one sentence each.
        links: Name to address: papers, code, sites.
        sources: Where its assets and its ideas come from, with licences.
        assets_of: Module of another task whose robot's files it uses, whose sources tell of them; "": its own.
        contacts: It has contacts, so that engines may differ in more than rounding.
        view: How people look at it, in pictures and videos; its size does not matter.
    """

    suite: str
    title: str
    summary: str
    robot_type: str
    control: str
    success: str
    solved_at: float | None
    reward_terms: Mapping[str, str]
    joints: tuple[JointRow, ...]
    engines: tuple[str, ...]
    sources: tuple[Source, ...]
    metrics: Mapping[str, str] = field(default_factory=dict)
    differs: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    contacts: bool = False
    view: CameraSpec = DEFAULT_VIEW
    assets_of: str = ""
