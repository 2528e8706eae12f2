"""What Newton's backends give to playback: the physics state as numbers, and a model to replay it on."""

from __future__ import annotations

from typing import Any

import newton
import numpy as np
import torch

from .base import SceneSpec
from .playback import PhysicsStateLayout


def state_layout(joint_names: tuple[str, ...]) -> PhysicsStateLayout:
    """Columns of `state_snapshot`; every joint has one degree of freedom, and there are no mocap bodies."""
    return PhysicsStateLayout(joint_names=joint_names, nq=len(joint_names), nv=len(joint_names))


def state_snapshot(time: np.ndarray, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> np.ndarray:
    """A float64 copy `[N, 1 + 2D]` of time `[N]` [s] and joint state `[N, D]`, on the host."""
    parts = (torch.from_numpy(time).unsqueeze(1), joint_pos.detach().cpu(), joint_vel.detach().cpu())
    return torch.cat([part.double() for part in parts], 1).numpy()


def playback_model(spec: SceneSpec, device: str) -> Any:
    """One environment as a `newton.Model`, everything visible included.

    The solver's compiled MuJoCo model is of no use here: it leaves out every shape that cannot collide.
    """
    robot = newton.ModelBuilder()
    robot.add_mjcf(spec.mjcf)
    return robot.finalize(device=device)
