"""From the joint positions of a snapshot to the poses of bodies, by Newton's forward kinematics."""

from __future__ import annotations

import newton
import numpy as np
import torch
import warp as wp

from benchmark_app.physics.newton.model import build_scene
from benchmark_app.physics.playback import PhysicsStateLayout
from benchmark_app.physics.scene import SceneSpec


class Posing:
    """A model without a solver, whose bodies stand where its joints put them.

    Args:
        scene: The scene.
        layout: The columns of its snapshots.
        device: Torch device.

    Attributes:
        body_names: Name of each body of an environment.
    """

    def __init__(self, scene: SceneSpec, layout: PhysicsStateLayout, device: str) -> None:
        with torch.inference_mode(False):
            built = build_scene(scene, device, lambda builder: None)
        self.body_names = tuple(built.body_names)
        self._model, self._state = built.model, built.model.state()
        self._rows = scene.num_envs
        # The root's pose comes first in Newton's coordinates as in a snapshot's.
        joints = [built.coords[scene.joints.index(name)] for name in layout.joint_names]
        self._columns = [*range(7 * layout.floating), *joints]

    def pose(self, qpos: np.ndarray) -> None:
        """Put every environment into positions `[N, nq]`, in the order of the layout."""
        joint_q = self._state.joint_q.numpy().reshape(self._rows, -1)
        joint_q[:, self._columns] = qpos
        self._state.joint_q.assign(joint_q.reshape(-1).astype(np.float32))
        newton.eval_fk(self._model, self._state.joint_q, self._state.joint_qd, self._state)
        wp.synchronize_device(self._model.device)

    def poses(self) -> torch.Tensor:
        """Where the bodies are `[N, bodies, 7]`."""
        poses: torch.Tensor = wp.to_torch(self._state.body_q).view(self._rows, -1, 7).clone()
        return poses
