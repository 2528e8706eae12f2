"""The part of a `TorchEnv` that knows what is observed: vectors from the task's hooks, images from a renderer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmark_app.physics.base import SimBackend

from .cfg import EnvCfg
from .device_side import DeviceSide
from .images import Images

if TYPE_CHECKING:
    from gymnasium import Space

    from benchmark_app.rendering.base import Renderer

    from .image_spec import ImageSpec


class Observing(DeviceSide):
    """Observation groups of both kinds.

    Args:
        cfg: Task settings.
        backend: The engine.
    """

    def __init__(self, cfg: EnvCfg, backend: SimBackend) -> None:
        self._images: Images | None = None
        super().__init__(cfg, backend)
        self._image_groups = cfg.image_groups()

    @property
    def image_groups(self) -> dict[str, ImageSpec]:
        """Map from the name of an observation group that is images to what they are; see `EnvCfg.image_groups`."""
        return self._image_groups

    @property
    def renderer(self) -> Renderer | None:
        """What draws the images; None for a task without."""
        return None if self._images is None else self._images.renderer

    @property
    def group_spaces(self) -> dict[str, Space[Any]]:
        """Space of one row of each observation group."""
        return spaces_of(self.obs_groups_spec, self._image_groups)

    @property
    def observation_space(self) -> Space[Any]:
        """Space of one row of what a policy sees: `obs["policy"]`, or with images a dictionary of it and them."""
        return seen_by_policy(self.group_spaces, self._image_groups)

    def set_renderer(self, renderer: Renderer) -> None:
        """Take what draws the task's images, before the first episode; it is closed with the environment.

        Raises:
            ValueError: The task has no images, or the renderer not the cameras they come from.
            RuntimeError: There is a renderer already.
        """
        if not self._image_groups:
            raise ValueError("set_renderer: the task has no image groups (`EnvCfg.image_groups`)")
        if self._images is not None:
            raise RuntimeError("set_renderer: there is a renderer already")
        if lacking := [camera.name for camera in self._cfg.cameras() if camera not in renderer.cameras]:
            raise ValueError(f"set_renderer: the renderer lacks the camera {lacking[0]} of the task")
        self._images = Images(self, renderer, self._image_groups)

    def _require_renderer(self) -> None:
        if self._image_groups and self._images is None:
            raise RuntimeError(
                f"observations {', '.join(self._image_groups)} are images, and nothing draws them; call set_renderer "
                "first, or build the environment with make_env"
            )

    def _look(self, frozen: int) -> None:
        """See what the step led to. Rows that were frozen before it, so many, are not looked at."""
        if self._images is None:
            return
        if not self._freezing:
            self._images.look(None, self._num_envs)
            return
        ended = self._work.terminated | self._work.truncated  # which froze them only now
        self._images.look(~self._frozen.mask | ended, self._num_envs - frozen)

    def _restart(self, count: int) -> None:
        """Begin the next episodes of the rows of the mask, so many, and see where they begin."""
        self._run_restart()
        if self._images is not None and count:
            self._images.begin(self._rows, count)

    def _all_observed(self) -> dict[str, torch.Tensor]:
        """The live tensors of all groups, vectors first."""
        return self._work.obs if self._images is None else {**self._work.obs, **self._images.stacks}

    def _copy_obs(self, part: str = "obs") -> dict[str, torch.Tensor]:
        return {name: self._copy(f"{part}.{name}", group) for name, group in self._all_observed().items()}

    def _carried(self) -> dict[str, torch.Tensor]:
        carried = super()._carried()
        if self._images is not None:
            carried |= {f"image.{name}": stack for name, stack in self._images.stacks.items()}
        return carried


def judged(observations: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The groups whose numbers may be not finite, by the names messages have for them."""
    return {f"observation '{name}'": group for name, group in observations.items() if group.is_floating_point()}


def spaces_of(vectors: Mapping[str, int], images: Mapping[str, ImageSpec]) -> dict[str, Space[Any]]:
    """Space of one row of each observation group, those of numbers first."""
    from gymnasium.spaces import Box

    found: dict[str, Space[Any]] = {name: Box(-np.inf, np.inf, (dim,), np.float32) for name, dim in vectors.items()}
    for name, spec in images.items():
        most, dtype = (255, np.uint8) if spec.dtype == "uint8" else (np.inf, np.float32)
        found[name] = Box(0, most, spec.shape, dtype)  # type: ignore[arg-type]
    return found


def seen_by_policy(spaces: Mapping[str, Space[Any]], images: Mapping[str, ImageSpec]) -> Space[Any]:
    """Space of one row of what a policy sees: `policy` alone, or with images a dictionary of it and them."""
    from gymnasium.spaces import Dict

    if not images:
        return spaces["policy"]
    return Dict({name: space for name, space in spaces.items() if name == "policy" or name in images})
