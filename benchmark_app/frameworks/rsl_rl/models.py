"""rsl_rl's networks on this project's observation groups."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from rsl_rl.models import CNNModel, MLPModel
from tensordict import TensorDict

from benchmark_app.frameworks.inputs import Pixels, Sees
from benchmark_app.frameworks.mapping import Config


class PixelModel(CNNModel):  # type: ignore[misc]
    """The library's convolutional model, which is given images as the environment has them.

    So the rollout holds them as bytes, and they are made numbers where they enter the network.

    Args:
        pixels: Image group to what makes its images a network's input.
    """

    def __init__(self, *args: Any, pixels: Mapping[str, Pixels], **kwargs: Any) -> None:
        self._pixels = pixels
        super().__init__(*args, **kwargs)

    def get_latent(self, obs: TensorDict, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Vectors and the images' features side by side, `[B, latent]`."""
        latent: torch.Tensor = super().get_latent(self._entering(obs), *args, **kwargs)
        return latent

    def _get_obs_dim(self, obs: TensorDict, *args: Any) -> Any:
        return super()._get_obs_dim(self._entering(obs), *args)

    def _entering(self, obs: Any) -> dict[str, torch.Tensor]:
        return {name: self._pixels[name](obs[name]) if name in self._pixels else obs[name] for name in obs.keys()}  # noqa: SIM118


def model_settings(settings: Config, sees: Sees) -> Config:
    """A copy of a network's configuration with its class, for what it sees: a critic of vectors has no encoder."""
    settings = deepcopy(settings)
    if sees.image is None or sees.spec is None:
        settings.pop("cnn_cfg", None)
        return {**settings, "class_name": MLPModel}
    return {**settings, "class_name": PixelModel, "pixels": {sees.image: Pixels(sees.spec)}}


def example_of(sees: Sees) -> dict[str, torch.Tensor]:
    """One row of observations, of which a model learns its sizes."""
    row = {} if sees.vector is None else {sees.vector: torch.zeros(1, sees.width)}
    if sees.image is not None and sees.spec is not None:
        row[sees.image] = torch.zeros(1, *sees.spec.shape, dtype=getattr(torch, sees.spec.dtype))
    return row
