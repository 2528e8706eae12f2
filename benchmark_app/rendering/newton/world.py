"""What Newton's renderer draws: the engine's own model where that is Newton's, otherwise one of the same robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import newton
import torch
import warp as wp

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.newton.backend import NewtonBackend
from benchmark_app.physics.newton.model import NewtonScene, build_scene
from benchmark_app.physics.scene import SceneSpec


@dataclass(frozen=True)
class DrawnWorld:
    """N worlds to draw.

    Attributes:
        scene: The model, and what of a world is where.
        state: The state that is drawn.
        refresh: Brings the poses of its bodies up to date. It launches, and is to run on torch's current stream.
    """

    scene: NewtonScene
    state: Any
    refresh: Callable[[], None]


def drawn_world(backend: SimBackend, spec: SceneSpec) -> DrawnWorld:
    """The worlds that an engine simulates.

    Args:
        backend: The engine.
        spec: The scene it was built from.

    Raises:
        ValueError: The engine cannot tell where a body is that moves.
    """
    if isinstance(backend, NewtonBackend):
        scene, state = backend.drawn
        return DrawnWorld(scene, state, backend.refresh_bodies)
    return _fed_world(backend, spec)


def _fed_world(backend: SimBackend, spec: SceneSpec) -> DrawnWorld:
    """A model of the same robot, whose bodies are put where the engine says that they are."""
    with torch.inference_mode(False):
        scene = build_scene(spec, str(backend.device), lambda builder: None)
        model = scene.model
        state = model.state()
        newton.eval_fk(model, model.joint_q, model.joint_qd, state)
        wp.synchronize_device(model.device)
        told = [index for index, name in enumerate(scene.body_names) if name in backend.body_names]
        moving = {name for name in scene.body_names if name not in scene.fixed}
        if silent := sorted(moving - set(backend.body_names)):
            raise ValueError(
                f"{spec.mjcf}: the bodies {silent} are not in the robot the engine has, which knows "
                f"{list(backend.body_names)}; the names in both files must be the same"
            )
        names = tuple(scene.body_names[index] for index in told)
        columns = torch.tensor(told, device=backend.device)
        poses = wp.to_torch(state.body_q).view(spec.num_envs, len(scene.body_names), 7)

    def refresh() -> None:
        poses.index_copy_(1, columns, backend.body_poses(names))

    return DrawnWorld(scene, state, refresh)
