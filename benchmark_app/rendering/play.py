"""An environment shown to people: frames for a video, in which each row has a picture of its own, and a window.

This is apart from what a task sees: other cameras, other sizes, and nothing of it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from . import make_renderer
from .camera import CameraSpec
from .grid import Grid, arrange
from .play_cfg import CameraCfg, DebugOverlay, PlayRendererCfg, seen_from
from .puppet import Drawable, OneRow, Replayed

if TYPE_CHECKING:
    from .base import Renderer
    from .drawing import Pose

DEFAULT = "newton"
"""The renderer that draws every engine's state, on every device."""


GAP = (255, 255, 255)
"""Colour of the lines between pictures, and of what no picture covers."""


class PlayRenderer:
    """Draws the rows of an environment for people.

    Args:
        backend: The engine.
        scene: The scene it was built from.
        view: How the task is looked at; its size does not matter here.
        cfg: What is wanted.
        period_s: Seconds from one frame shown in a window to the next; less than that it waits.
        name: The renderer that draws the frames.

    Raises:
        ValueError: The renderer cannot draw the scene, or so many pictures do not fit into the frame.
        RuntimeError: The window cannot be opened.
    """

    def __init__(
        self,
        backend: SimBackend,
        scene: SceneSpec,
        view: CameraSpec,
        cfg: PlayRendererCfg,
        *,
        period_s: float = 0.0,
        name: str = DEFAULT,
    ) -> None:
        self._backend, self._cfg, self._name = backend, cfg, name
        self._alone = None if cfg.camera is None else cfg.camera.env_index
        self._scene = scene if self._alone is None else replace(scene, num_envs=1)
        self._replayed: Replayed | None = None
        self._renderers: dict[bool, Renderer] = {}
        self._window: Any = None
        self._period_s = period_s
        view = _seen_through(view, cfg.camera)
        if cfg.capture:
            self._grid = arrange(self._scene.num_envs, cfg.width, cfg.height)
            width, height = self._grid.tile
            self._view = replace(view, width=width, height=height, data_types=("rgb",))
            self._renderer(replayed=False)  # what cannot be drawn is said at once
        if not cfg.headless:
            from .newton.window import Window

            self._window = Window(backend, scene, cfg, view)

    def capture(
        self,
        physics_state: np.ndarray | None = None,
        overlay: DebugOverlay | None = None,
        captions: Sequence[str] | None = None,
    ) -> np.ndarray:
        """Draw a frame off screen.

        Args:
            physics_state: Snapshots `[N, state_width]` to draw; None: the engine's present state.
            overlay: Shapes to draw over it, by environment.
            captions: A line of text for each environment's picture.

        Returns:
            uint8 `[height, width, 3]`, RGB, the top row first; the caller's.
        """
        source: Drawable = self._backend if physics_state is None else self._put(physics_state)
        renderer = self._renderer(replayed=physics_state is not None)
        renderer.update()
        renderer.render()
        pictures = list(renderer.color[self._view.name].cpu().numpy())
        shapes = _chosen(overlay, self._alone, len(pictures))
        texts = captions if captions is not None else [""] * len(pictures)
        if any(shapes) or any(texts):
            from .drawing import draw_over

            places = self._places(source, any(shapes))
            pictures = [
                draw_over(picture, self._view, shape, text, place)
                for picture, shape, text, place in zip(pictures, shapes, texts, places, strict=True)
            ]
        return _composed(self._grid, pictures)

    def show(self, physics_state: np.ndarray | None = None, overlay: DebugOverlay | None = None) -> bool:
        """Show a frame in the window, at the pace of the clock.

        Args:
            physics_state: As in `capture`.
            overlay: As in `capture`.

        Returns:
            Whether the window is still open.
        """
        poses = None
        if physics_state is not None:
            self._put(physics_state)
            poses = self._replayed
        shown: bool = self._window.show(poses, overlay, self._period_s)
        return shown

    def close(self) -> None:
        """Release the renderers and close the window. Calling it twice is harmless."""
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()
        if self._window is not None:
            self._window.close()
            self._window = None

    def _put(self, physics_state: np.ndarray) -> Replayed:
        if self._replayed is None:
            # All rows, whichever are shown: snapshots are those of the environment.
            scene = replace(self._scene, num_envs=self._backend.num_envs)
            self._replayed = Replayed(scene, self._backend.get_physics_state_layout(), self._backend.device)
        self._replayed.put(physics_state)
        return self._replayed

    def _renderer(self, *, replayed: bool) -> Renderer:
        if replayed not in self._renderers:
            source: Any = self._replayed if replayed else self._backend
            if self._alone is not None:
                source = OneRow(source, self._alone)
            self._renderers[replayed] = make_renderer(self._name, source, self._scene, (self._view,))
        return self._renderers[replayed]

    def _places(self, source: Drawable, wanted: bool) -> list[Pose | None]:
        """Where the link is in each row that the camera moves with; None where it stands still, as it does alone."""
        if self._view.link is None or not wanted:
            return [None] * self._scene.num_envs
        poses = source.body_poses((self._view.link,))[:, 0].cpu().numpy().astype(float)
        return [(pose[:3], pose[3:]) for pose in poses]


def _composed(grid: Grid, pictures: Sequence[np.ndarray]) -> np.ndarray:
    """One frame of several pictures."""
    width, height = grid.frame
    frame = np.empty((height, width, 3), np.uint8)
    frame[:] = GAP
    across, down = grid.tile
    for index, picture in enumerate(pictures):
        x, y = grid.corner(index)
        frame[y : y + down, x : x + across] = picture
    return frame


def _seen_through(view: CameraSpec, camera: CameraCfg | None) -> CameraSpec:
    """The task's camera, or the one that was asked for in its place, which stands still."""
    if camera is None:
        return view
    return replace(seen_from(view, camera.position, camera.target), fov=camera.fov)


def _chosen(overlay: DebugOverlay | None, alone: int | None, count: int) -> list[Sequence[Any]]:
    """The shapes of each picture."""
    if overlay is None:
        return [()] * count
    rows = overlay if alone is None else [overlay[alone]]
    return [row or () for row in rows]
