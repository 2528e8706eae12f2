"""What PhysX offers of N equal articulations, standing alone and inside Isaac Sim alike: tensors with a row each."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import torch


class Field(StrEnum):
    """Tensors of a view, float32: N rows, D degrees of freedom, B links, S shapes; SI, radians, quaternions xyzw."""

    DOF_POSITION = "dof_position"
    """`[N, D]`."""
    DOF_VELOCITY = "dof_velocity"
    """`[N, D]`."""
    DOF_EFFORT = "dof_effort"
    """`[N, D]`, kept from one physics step to the next."""
    ROOT_POSE = "root_pose"
    """`[N, 7]`, world frame."""
    ROOT_VELOCITY = "root_velocity"
    """`[N, 6]`, of the centre of mass, world axes."""
    LINK_POSE = "link_pose"
    """`[N, B, 7]`, world frame."""
    LINK_VELOCITY = "link_velocity"
    """`[N, B, 6]`, of the centres of mass, world axes."""
    # Properties, always on the host.
    DOF_LIMIT = "dof_limit"
    """`[N, D, 2]`, lower and upper."""
    DOF_DAMPING = "dof_damping"
    """`[N, D]`, of the drive."""
    DOF_ARMATURE = "dof_armature"
    """`[N, D]`."""
    DOF_FRICTION = "dof_friction"
    """`[N, D, 3]`, static, dynamic, viscous."""
    LINK_MASS = "link_mass"
    """`[N, B]`."""
    LINK_COM = "link_com"
    """`[N, B, 7]`, pose of the mass frame in the link's."""
    LINK_INERTIA = "link_inertia"
    """`[N, B, 9]`, row by row, about the centre of mass."""
    SHAPE_MATERIAL = "shape_material"
    """`[N, S, 3]`, static friction, dynamic friction, restitution."""


class ArticulationView(Protocol):
    """N equal articulations, one per environment, row r in environment r.

    Attributes:
        joint_names: Names of the degrees of freedom, in the engine's order.
        link_names: Names of the links, in the engine's order; the root comes first.
        fixed_base: The root is fixed to the world.
    """

    joint_names: tuple[str, ...]
    link_names: tuple[str, ...]
    fixed_base: bool

    def shape(self, field: Field) -> tuple[int, ...]:
        """Shape of a tensor."""

    def read(self, field: Field, out: torch.Tensor) -> None:
        """Copy a tensor from the engine."""

    def write(self, field: Field, values: torch.Tensor, rows: torch.Tensor | None = None) -> None:
        """Copy a whole tensor to the engine, or the rows of it where `rows`, bool `[N]`, is set."""

    def step(self, dt: float) -> None:
        """Take a physics step [s]."""

    def settle(self) -> None:
        """Make the link poses follow joint and root states just written."""

    def close(self) -> None:
        """Release the view, its scene and the engine. Called once."""
