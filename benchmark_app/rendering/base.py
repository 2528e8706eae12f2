"""The contract every renderer satisfies.

Colours are sRGB, depths are metres along the optical axis (not along the ray). Where a ray meets nothing within
`FAR`, the colour is `BACKGROUND` and the depth 0. There is one directional light, from above and from behind the right
shoulder of whoever looks along +y, and ambient light. `camera.py` says what frames and pixels mean.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from .camera import CameraSpec, check_cameras

BACKGROUND = (209, 222, 235)
"""Colour where nothing is, sRGB from 0 to 255."""
FAR = 1000.0
"""Farther away nothing is seen [m]."""
LIGHT_DIRECTION = (-0.577350269, 0.577350269, -0.577350269)
"""Where the light goes, world frame."""


class Renderer(ABC):
    """Pictures of the N environments of an engine, from one or several cameras.

    `update()` takes over where the engine's bodies are, `render()` draws. Both launch on torch's current stream and
    may return before the work is done. The pictures are always the same tensors: they are overwritten by the next
    `render()`, so that whoever wants to keep one copies it. They need not be contiguous.

    A subclass implements `_update`, `_render` and `close`, and fills `color` and `depth`.

    Args:
        backend: The engine, built; the caller closes it, after the renderer.
        scene: The scene it was built from.
        cameras: What to draw with.

    Attributes:
        num_envs: Environments N.
        device: Torch device of the pictures; the engine's.
        cameras: The cameras.
        color: Camera name to uint8 `[N, height, width, 3]`, RGB, top row first; of cameras that give `rgb`.
        depth: Camera name to float32 `[N, height, width]` [m]; of cameras that give `depth`.
        frames: Pictures drawn so far: one per environment and camera, whatever it gives.
        seconds: Wall time spent in `update` and `render` so far [s]; on CUDA until they returned, unless `drain` waits.
        drain: Waits for the device; called before and after what is timed. None: nothing waits.

    Raises:
        ValueError: There is no camera, or two of one name.
    """

    color: dict[str, torch.Tensor]
    depth: dict[str, torch.Tensor]

    def __init__(self, backend: SimBackend, scene: SceneSpec, cameras: tuple[CameraSpec, ...]) -> None:
        check_cameras(cameras)
        self.backend, self.scene, self.cameras = backend, scene, cameras
        self.num_envs, self.device = backend.num_envs, backend.device
        self.color, self.depth = {}, {}
        self.frames, self.seconds = 0, 0.0
        self.drain: Callable[[], None] | None = None

    def update(self) -> None:
        """Take over the engine's present state. Without it `render` draws the state of the last `update`."""
        self._timed(self._update)

    def render(self, rows: torch.Tensor | None = None, count: int | None = None) -> None:
        """Draw every camera's picture.

        Args:
            rows: bool `[N]`, the environments to draw; the pictures of all others stay as they are. None: all.
            count: How many `rows` chooses, where the caller knows, and then it must be right; None: it is read from
                the device.

        Raises:
            ValueError: `rows` is not bool `[N]` on `device`.
        """
        if rows is None:
            count = self.num_envs
        elif rows.dtype is not torch.bool or rows.shape != (self.num_envs,) or rows.device != self.device:
            raise ValueError(
                f"rows: expected bool [{self.num_envs}] on {self.device}, "
                f"got {rows.dtype} {list(rows.shape)} on {rows.device}"
            )
        elif count is None:
            count = int(rows.sum())
        if count:
            self._timed(lambda: self._render(rows, count))
        self.frames += count * len(self.cameras)

    def _timed(self, work: Callable[[], None]) -> None:
        if self.drain is not None:
            self.drain()
        began = time.perf_counter()
        work()
        if self.drain is not None:
            self.drain()
        self.seconds += time.perf_counter() - began

    @abstractmethod
    def _update(self) -> None:
        """See `update`."""

    @abstractmethod
    def _render(self, rows: torch.Tensor | None, count: int) -> None:
        """See `render`; `rows` is checked and chooses `count`, at least one."""

    @abstractmethod
    def close(self) -> None:
        """Release the renderer. Calling it twice is harmless."""
