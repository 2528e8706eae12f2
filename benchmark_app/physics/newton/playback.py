"""What Newton's backends give to playback: the physics state as numbers, and a model to replay it on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import newton
import numpy as np
import torch

from ..playback import PhysicsStateLayout
from ..scene import SceneSpec


def state_layout(spec: SceneSpec) -> PhysicsStateLayout:
    """Columns of `state_snapshot`; there are no mocap bodies."""
    joints = len(spec.joints)
    return PhysicsStateLayout(
        joint_names=spec.joints, nq=7 * spec.floating + joints, nv=6 * spec.floating + joints, floating=spec.floating
    )


def state_snapshot(time: np.ndarray, robot_state: Mapping[str, torch.Tensor]) -> np.ndarray:
    """A float64 copy of time `[N]` [s] and robot state on the host, in the columns of `state_layout`."""
    names = [name for name in ("root_pose", "joint_pos", "root_vel", "joint_vel") if name in robot_state]
    parts = (torch.from_numpy(time).unsqueeze(1), *(robot_state[name].detach().cpu() for name in names))
    return torch.cat([part.double() for part in parts], 1).numpy()


def playback_model(spec: SceneSpec, device: str) -> Any:
    """One environment as a `newton.Model`, everything visible included.

    The solver's compiled model is of no use here: it leaves out every shape that cannot collide.
    """
    robot = newton.ModelBuilder()
    robot.add_mjcf(spec.mjcf)
    if spec.ground:
        robot.add_ground_plane()
    return robot.finalize(device=device)
