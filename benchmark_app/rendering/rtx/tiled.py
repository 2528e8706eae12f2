"""What both ways to the RTX renderer have in common: it draws all environments into one picture, a tile each.

It draws every environment, whatever rows are asked for; the pictures of the others are left as they were. Its colours
are path traced or shaded by materials, so that they are alike between two pictures of one state, and not the same.
"""

from __future__ import annotations

import math

import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from ..base import BACKGROUND, FAR, Renderer
from ..camera import CameraSpec


def grid(count: int) -> tuple[int, int]:
    """Tiles side by side, and one above the other, of so many; the way RTX arranges the cameras of one picture."""
    columns = math.ceil(math.sqrt(count))
    return columns, math.ceil(count / columns)


def cut(tiled: torch.Tensor, count: int, width: int, height: int) -> torch.Tensor:
    """The pictures `[count, height, width, C]` that one `[rows · height, columns · width, C]` is tiled with."""
    columns, rows = grid(count)
    tiles = tiled.view(rows, height, columns, width, -1).transpose(1, 2)
    return tiles.reshape(rows * columns, height, width, tiles.shape[-1])[:count]


class TiledRenderer(Renderer):
    """A renderer whose pictures come as tiles; a subclass gives them to `_keep`."""

    def __init__(self, backend: SimBackend, scene: SceneSpec, cameras: tuple[CameraSpec, ...]) -> None:
        super().__init__(backend, scene, cameras)
        with torch.inference_mode(False):
            self._background = torch.tensor(BACKGROUND, dtype=torch.uint8, device=self.device)
            for camera in cameras:
                shape = (self.num_envs, camera.height, camera.width)
                if camera.gives_color:
                    self.color[camera.name] = torch.zeros(*shape, 3, dtype=torch.uint8, device=self.device)
                if camera.gives_depth:
                    self.depth[camera.name] = torch.zeros(shape, device=self.device)

    def _keep(
        self, camera: CameraSpec, color: torch.Tensor | None, depth: torch.Tensor, rows: torch.Tensor | None
    ) -> None:
        """Cut the tiles of one camera apart, and keep those of the rows asked for.

        Args:
            camera: The camera.
            color: uint8 `[rows · height, columns · width, 4]`, where the camera gives colours.
            depth: float32 `[rows · height, columns · width]`, or with a last dimension of 1 [m]: from it is known
                where nothing was met, which RTX says by infinity.
            rows: See `render`.
        """
        size = (self.num_envs, camera.width, camera.height)
        depths = cut(depth, *size).squeeze(-1)
        missed = ~((depths > 0.0) & (depths < FAR))
        if color is not None:
            colors = torch.where(missed.unsqueeze(-1), self._background, cut(color, *size)[..., :3])
            _replace(self.color[camera.name], colors, rows)
        if camera.gives_depth:
            _replace(self.depth[camera.name], depths.masked_fill(missed, 0.0), rows)

    def close(self) -> None:
        """Let go of the pictures; see `Renderer.close`."""
        self.color, self.depth = {}, {}


def _replace(kept: torch.Tensor, new: torch.Tensor, rows: torch.Tensor | None) -> None:
    if rows is None:
        kept.copy_(new)
    else:
        torch.where(rows.view(-1, *[1] * (kept.ndim - 1)), new, kept, out=kept)
