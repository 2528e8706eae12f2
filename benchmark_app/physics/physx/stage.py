"""The scene PhysX is given, as USD text: a physics scene, a floor, and the robot's file by reference.

Nothing is imported. Where a robot's file leaves something open PhysX has opinions of its own, and some are physics that
no other engine would share: it damps every turning link (0.05 per second), stops links at 100 rad/s and puts robots at
rest to sleep. The scene overrides them, so it must name the robot's links: it is written twice, first to ask PhysX for
the paths of links and shapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..scene import SceneSpec, Vector
from .cfg import PhysxCfg
from .usda import prim, schemas, vector

ENVS = "/World/envs"
"""Environment i is `ENVS/env<i>`, its robot `ENVS/env<i>/robot`."""

CONTACTS_AT_LEAST = 524288
"""Room for contacts on a GPU that PhysX takes by default; a scene that needs more says so."""


def robot_path(path: str) -> str:
    """Where a prim of the first environment's robot lies in the robot (`"torso/leg"`), "" for the robot's own prim."""
    return path.removeprefix(f"{ENVS}/env0/robot").removeprefix("/")


def environment_origins(spec: SceneSpec) -> list[Vector]:
    """Where each environment stands [m].

    Without contacts they all share the world's origin. With contacts each has a cell of twice `extent` in a grid about
    it, as square as can be: the farther out, the coarser float32 becomes.
    """
    count = spec.num_envs
    if spec.max_contacts == 0:
        return [(0.0, 0.0, 0.0)] * count
    width, depth = (2.0 * size for size in spec.extent)
    columns = min(count, math.ceil(math.sqrt(count * depth / width)))
    rows = math.ceil(count / columns)
    return [
        (width * (index % columns - (columns - 1) / 2), depth * (index // columns - (rows - 1) / 2), 0.0)
        for index in range(count)
    ]


def stage_text(
    spec: SceneSpec,
    cfg: PhysxCfg,
    origins: Sequence[Vector],
    *,
    gpu: bool,
    links: Iterable[str] = (),
    shapes: Iterable[str] = (),
) -> str:
    """The scene with one environment for each of `origins`.

    Args:
        spec: What to build.
        cfg: How to solve.
        origins: Where the environments stand [m].
        gpu: PhysX runs on a GPU.
        links: Paths of the robot's links below its own prim (`"torso/leg"`).
        shapes: Paths of its colliders, likewise.
    """
    robot = _Node()
    for path in links:
        robot.below(path).link = True
    for path in shapes:
        robot.below(path).mute = spec.max_contacts == 0
    environments = [line for index, origin in enumerate(origins) for line in _environment(index, spec, origin, robot)]
    scene = [
        *_physics_scene(spec, cfg, gpu),
        *(_ground(spec) if spec.ground else []),
        *prim('def Scope "envs"', [], environments),
    ]
    return "\n".join([_HEAD, *prim('def Xform "World"', [], scene), ""])


_HEAD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
"""


def _physics_scene(spec: SceneSpec, cfg: PhysxCfg, gpu: bool) -> list[str]:
    strength = math.sqrt(sum(part * part for part in spec.gravity))
    down = tuple(part / strength for part in spec.gravity) if strength else (0.0, 0.0, -1.0)
    contacts = max(CONTACTS_AT_LEAST, spec.num_envs * spec.max_contacts)
    attributes = [
        f"vector3f physics:gravityDirection = {vector(down)}",
        f"float physics:gravityMagnitude = {strength!r}",
        f'uniform token physxScene:solverType = "{cfg.solver_type.upper()}"',
        *(
            f"uniform uint physxScene:{bound}{kind}IterationCount = {count}"
            for kind, count in (("Position", cfg.position_iterations), ("Velocity", cfg.velocity_iterations))
            for bound in ("min", "max")
        ),
        f"bool physxScene:enableGPUDynamics = {int(gpu)}",
        # Solve contacts in the order of the shapes, not of their finding, which outlives the reset of a row.
        "bool physxScene:enableEnhancedDeterminism = 1",
        "bool physxScene:disableSleeping = 1",
        "bool physxScene:enableSceneQuerySupport = 0",
        f"uint physxScene:gpuMaxRigidContactCount = {contacts}",
        f"uint physxScene:gpuMaxRigidPatchCount = {contacts // 4}",
    ]
    return prim('def PhysicsScene "scene"', schemas(["PhysxSceneAPI"]), attributes)


def _ground(spec: SceneSpec) -> list[str]:
    material = prim(
        'def Material "ground_material"',
        schemas(["PhysicsMaterialAPI"]),
        [
            f"float physics:staticFriction = {spec.friction!r}",
            f"float physics:dynamicFriction = {spec.friction!r}",
            "float physics:restitution = 0",
        ],
    )
    plane = prim(
        'def Plane "ground"',
        schemas(["PhysicsCollisionAPI", "MaterialBindingAPI"]),
        ['uniform token axis = "Z"', "rel material:binding:physics = </World/ground_material>"],
    )
    return material + plane


def _environment(index: int, spec: SceneSpec, origin: Vector, robot: _Node) -> list[str]:
    place = [
        f"double3 xformOp:translate = {vector(origin)}",
        'uniform token[] xformOpOrder = ["xformOp:translate"]',
    ]
    reference = [f"prepend references = @{spec.usd}@", *schemas(robot.schemas)]
    return prim(f'def Xform "env{index}"', [], place + prim('def Xform "robot"', reference, robot.overrides()))


@dataclass
class _Node:
    """A prim of the robot, and what is overridden in it and below it."""

    link: bool = False
    mute: bool = False
    children: dict[str, _Node] = field(default_factory=dict)

    def below(self, path: str) -> _Node:
        """The node of a path below this one; "" is this one."""
        node = self
        for name in path.split("/") if path else ():
            node = node.children.setdefault(name, _Node())
        return node

    @property
    def schemas(self) -> list[str]:
        return ["PhysxRigidBodyAPI"] if self.link else []

    def overrides(self) -> list[str]:
        lines = []
        if self.link:
            lines += [
                "float physxRigidBody:linearDamping = 0",
                "float physxRigidBody:angularDamping = 0",
                "float physxRigidBody:maxAngularVelocity = inf",
            ]
        if self.mute:
            lines.append("bool physics:collisionEnabled = 0")
        for name, child in self.children.items():
            lines += prim(f'over "{name}"', schemas(child.schemas), child.overrides())
        return lines
