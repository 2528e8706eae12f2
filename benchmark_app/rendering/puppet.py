"""Bodies that stand where they are put: what a renderer draws where that is not the present state of a whole engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    import numpy as np

    from benchmark_app.physics.playback import PhysicsStateLayout
    from benchmark_app.physics.scene import SceneSpec


class Drawable(Protocol):
    """What a renderer asks of an engine; `physics.base.SimBackend` says what each means."""

    num_envs: int
    device: torch.device
    body_names: tuple[str, ...]

    def body_poses(self, names: tuple[str, ...]) -> torch.Tensor:
        """Poses local to each environment `[N, len(names), 7]`: position [m], quaternion xyzw."""
        ...


class OneRow:
    """One environment of an engine, as if the engine had no other.

    Args:
        engine: The engine.
        row: The environment.
    """

    num_envs = 1

    def __init__(self, engine: Drawable, row: int) -> None:
        self.device, self.body_names = engine.device, engine.body_names
        self._engine, self._row = engine, row

    def body_poses(self, names: tuple[str, ...]) -> torch.Tensor:
        """See `Drawable`."""
        return self._engine.body_poses(names)[self._row : self._row + 1]


class Replayed:
    """The bodies of a scene as a snapshot of its physics state has them.

    Args:
        scene: The scene.
        layout: The columns of a snapshot.
        device: Torch device of the poses.
    """

    def __init__(self, scene: SceneSpec, layout: PhysicsStateLayout, device: torch.device) -> None:
        from .newton.replay import Posing

        self.num_envs, self.device = scene.num_envs, device
        self._layout = layout
        self._posing: Any = Posing(scene, layout, str(device))
        self.body_names: tuple[str, ...] = self._posing.body_names

    def put(self, snapshot: np.ndarray) -> None:
        """Take the poses of a snapshot.

        Args:
            snapshot: `[N, state_width]`.

        Raises:
            ValueError: It is not of this scene.
        """
        if snapshot.shape != (self.num_envs, self._layout.state_width):
            raise ValueError(
                f"physics state: expected shape [{self.num_envs}, {self._layout.state_width}], "
                f"got {list(snapshot.shape)}"
            )
        self._posing.pose(self._layout.split_state(snapshot).qpos)

    def body_poses(self, names: tuple[str, ...]) -> torch.Tensor:
        """See `Drawable`."""
        poses: torch.Tensor = self._posing.poses()
        return poses[:, [self.body_names.index(name) for name in names]]
