"""Image observations: what a renderer draws, stacked over the last control steps of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from .image_spec import ImageSpec
from .kernels import judge_images

if TYPE_CHECKING:
    from benchmark_app.rendering.base import Renderer

    from .device_side import DeviceSide


class Images:
    """The image groups of an environment. They are drawn outside of what is recorded, after the engine's part.

    Args:
        env: The environment, its tensors made.
        renderer: What draws; its cameras are those of the groups. Closed with this.
        groups: The image groups.

    Attributes:
        renderer: What draws.
        stacks: Each group's observation, `[N, height, width, channels]`; always the same tensor, updated in place.
    """

    def __init__(self, env: DeviceSide, renderer: Renderer, groups: Mapping[str, ImageSpec]) -> None:
        self.renderer = renderer
        self._env = env
        self._groups = groups
        with torch.inference_mode(False):
            self.stacks = {
                name: torch.zeros(env.num_envs, *spec.shape, dtype=getattr(torch, spec.dtype), device=env.device)
                for name, spec in groups.items()
            }

    def look(self, moving: torch.Tensor | None, count: int) -> None:
        """Draw what the step led to, and put it on top of the stacks.

        Args:
            moving: bool `[N]`, the rows that took the step; the others keep what they saw last. None: all.
            count: How many they are.
        """
        self._draw(moving, count)
        for name, spec in self._groups.items():
            stack, picture = self.stacks[name], self._picture(spec)
            if spec.frames > 1:
                picture = torch.cat((stack[..., picture.shape[-1] :], picture), -1)
            if moving is None:
                stack.copy_(picture)
            else:
                torch.where(moving.view(-1, 1, 1, 1), picture, stack, out=stack)
            self._judge(stack, at_restart=False)

    def begin(self, rows: torch.Tensor, count: int) -> None:
        """Draw where the episodes of some rows begin, and fill their stacks with it.

        Args:
            rows: bool `[N]`.
            count: How many they are.
        """
        self._draw(rows, count)
        for name, spec in self._groups.items():
            stack, picture = self.stacks[name], self._picture(spec)
            torch.where(rows.view(-1, 1, 1, 1), picture.repeat(1, 1, 1, spec.frames), stack, out=stack)
            self._judge(stack, at_restart=True)

    def close(self) -> None:
        """Release the renderer."""
        self.renderer.close()

    def _draw(self, rows: torch.Tensor | None, count: int) -> None:
        self.renderer.update()
        self.renderer.render(rows, count)

    def _picture(self, spec: ImageSpec) -> torch.Tensor:
        """What the camera shows now, `[N, height, width, channels of one picture]`; not to be written."""
        if spec.data_type == "rgb":
            return self.renderer.color[spec.camera.name]
        depth = self.renderer.depth[spec.camera.name].unsqueeze(-1)
        return depth if spec.farthest is None else depth.masked_fill(depth > spec.farthest, 0.0)

    def _judge(self, stack: torch.Tensor, *, at_restart: bool) -> None:
        """Have the host learn with its next read of a number that is not finite; bytes always are."""
        if stack.is_floating_point():
            env = self._env
            env.launch(judge_images, env.num_envs, stack.view(env.num_envs, -1), at_restart, env._report)
