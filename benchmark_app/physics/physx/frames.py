"""Poses and velocities of some links of every robot, between PhysX's convention and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import warp as wp

from . import kernels
from .view import ArticulationView, Field


@dataclass(frozen=True)
class Frames:
    """Some links: what PhysX says of them (world poses, velocities of centres of mass), and what our contract says.

    Attributes:
        fields: Where PhysX has their poses and velocities.
        world_pose: Its poses, float32 as `fields[0]`, as last read or written.
        world_vel: Its velocities, likewise.
        pose: Poses local to each environment `[N, F, 7]`.
        vel: Velocities of the frames' origins `[N, F, 6]`.
        bodies: Which of PhysX's links each is.
        coms: Their centres of mass in their own frames.
        origins: Where the environments stand.
    """

    fields: tuple[Field, Field]
    world_pose: torch.Tensor
    world_vel: torch.Tensor
    pose: torch.Tensor
    vel: torch.Tensor
    bodies: Any
    coms: Any
    origins: Any

    def read(self, view: ArticulationView) -> None:
        """Copy from PhysX. A native call."""
        view.read(self.fields[0], self.world_pose)
        view.read(self.fields[1], self.world_vel)

    def launch_read(self, row_faults: torch.Tensor, fault: torch.Tensor) -> None:
        """Convert what was read. One launch."""
        rows, links = self.pose.shape[:2]
        wp.launch(
            kernels.read_frames,
            dim=(rows, links),
            inputs=[*self._world(), self.bodies, self.coms, self.origins],
            outputs=[_transforms(self.pose), _spatial(self.vel), wp.from_torch(row_faults), wp.from_torch(fault)],
            device=self.coms.device,
        )

    def launch_write(self, mask: torch.Tensor, pose: torch.Tensor, vel: torch.Tensor) -> None:
        """Convert a state `[N, 7]`, `[N, 6]` of the one frame to what PhysX is to be told, in the masked rows."""
        wp.launch(
            kernels.write_roots,
            dim=len(mask),
            inputs=[wp.from_torch(mask), _transforms(pose), _spatial(vel), self.coms, self.origins],
            outputs=list(self._world()),
            device=self.coms.device,
        )

    def write(self, view: ArticulationView, rows: torch.Tensor) -> None:
        """Copy the chosen rows, bool `[N]`, to PhysX. A native call."""
        view.write(self.fields[0], self.world_pose, rows)
        view.write(self.fields[1], self.world_vel, rows)

    def _world(self) -> tuple[Any, Any]:
        rows = len(self.world_pose)
        return _transforms(self.world_pose.view(rows, -1, 7)), _spatial(self.world_vel.view(rows, -1, 6))


def make_frames(
    view: ArticulationView,
    fields: tuple[Field, Field],
    links: tuple[str, ...],
    coms: torch.Tensor,
    origins: torch.Tensor,
) -> Frames:
    """Frames of the links named; with `ROOT_POSE`, of the root.

    Args:
        view: The robots.
        fields: Where PhysX has their poses and velocities.
        links: Their names.
        coms: Centres of mass of all links `[B, 3]`.
        origins: Where the environments stand `[N, 3]`.
    """
    device = origins.device
    bodies = [view.link_names.index(name) for name in links]
    columns = bodies if fields[0] is Field.LINK_POSE else [0]
    world_pose, world_vel = (torch.zeros(view.shape(field), device=device) for field in fields)
    rows = len(origins)
    return Frames(
        fields=fields,
        world_pose=world_pose,
        world_vel=world_vel,
        pose=torch.zeros(rows, len(links), 7, device=device),
        vel=torch.zeros(rows, len(links), 6, device=device),
        bodies=wp.array(columns, dtype=wp.int32, device=str(device)),
        coms=wp.array(coms[bodies].numpy(), dtype=wp.vec3f, device=str(device)),
        origins=wp.from_torch(origins, dtype=wp.vec3f),
    )


def _transforms(poses: torch.Tensor) -> Any:
    return wp.from_torch(poses, dtype=wp.transformf)


def _spatial(velocities: torch.Tensor) -> Any:
    return wp.from_torch(velocities, dtype=wp.spatial_vectorf)
