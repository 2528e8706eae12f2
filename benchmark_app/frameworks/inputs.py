"""What actor and critic see of an environment, the same for every library, and how images enter a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from benchmark_app.envs.image_spec import ImageSpec
    from benchmark_app.envs.torch_env import TorchEnv


@dataclass(frozen=True)
class Sees:
    """What one network sees: a group of numbers, an image group, or both.

    Attributes:
        vector: The group of numbers; None: none.
        width: How many numbers these are.
        image: The image group; None: none.
        spec: What its images are.
    """

    vector: str | None
    width: int
    image: str | None = None
    spec: ImageSpec | None = None

    @property
    def groups(self) -> list[str]:
        """Its groups, the numbers first."""
        return [name for name in (self.vector, self.image) if name is not None]

    @property
    def flat_width(self) -> int:
        """Numbers of a row in which the image lies flat behind the vector."""
        height, width, channels = (0, 0, 0) if self.spec is None else self.spec.shape
        return self.width + height * width * channels

    def flat(self, obs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Observation groups as one tensor `[B, flat_width]`, for a library that knows no others.

        Images are float32 in it, their numbers as they were. A vector alone is handed on as it is.
        """
        if self.image is None:
            assert self.vector is not None, "a network sees something"
            return obs[self.vector]
        parts = [obs[name].flatten(1).float() for name in self.groups]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def parts(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Vector `[B, width]` and images `[B, height, width, channels]` of what `flat` made."""
        assert self.spec is not None, "without an image there is nothing to take apart"
        return flat[:, : self.width], flat[:, self.width :].reshape(-1, *self.spec.shape)

    def by_name(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """A rollout of what `flat` made, `[T, N, flat_width]`, as `base.Learner.rollout` gives it: `obs`, `images`."""
        if self.image is None:
            return {"obs": flat}
        first = flat.shape[:2]
        vector, images = (part.reshape(*first, *part.shape[1:]) for part in self.parts(flat.flatten(0, 1)))
        return {"images": images} | ({} if self.vector is None else {"obs": vector})


class Inputs:
    """What each network sees. The actor: `policy` and the image group. The critic: `critic` alone where there is one,
    otherwise what the actor sees.

    Args:
        env: The environment, or its shape.

    Raises:
        ValueError: There are several image groups, or nothing at all for an actor.
    """

    def __init__(self, env: TorchEnv) -> None:
        spec, images = env.obs_groups_spec, env.image_groups
        if len(images) > 1:
            raise ValueError(f"images {', '.join(images)}: the adapters read one image group")
        if not images and "policy" not in spec:
            raise ValueError("observations: there is neither a group 'policy' nor an image")
        image = next(iter(images), None)
        vector = "policy" if "policy" in spec else None
        of_image = None if image is None else images[image]
        self.actor = Sees(vector, spec["policy"] if vector else 0, image, of_image)
        self.critic = Sees("critic", spec["critic"]) if "critic" in spec else self.actor

    @property
    def groups(self) -> list[str]:
        """Every group that a network sees, the actor's first."""
        return list(dict.fromkeys([*self.actor.groups, *self.critic.groups]))

    @property
    def flat_groups(self) -> dict[str, int]:
        """Groups and widths once images lie flat behind their vectors: `policy`, and `critic` where it has its own."""
        own = {} if self.critic is self.actor else {"critic": self.critic.flat_width}
        return {"policy": self.actor.flat_width, **own}

    def flat(self, obs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Observation groups as those of `flat_groups`."""
        own = {} if self.critic is self.actor else {"critic": self.critic.flat(obs)}
        return {"policy": self.actor.flat(obs), **own}


class Pixels(nn.Module):
    """Images as a convolution takes them: the one place where colours are scaled and channels are put first.

    Args:
        spec: What the images are.
    """

    def __init__(self, spec: ImageSpec) -> None:
        super().__init__()
        self._highest = 255.0 if spec.dtype == "uint8" else 1.0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """`[B, height, width, channels]`, of any type, to float32 `[B, channels, height, width]`.

        Colours then lie between 0 and 1; depths stay metres.
        """
        return images.permute(0, 3, 1, 2).float() / self._highest


class FlatEncoder(nn.Module):
    """Takes a row of `Sees.flat` apart, encodes its image, and puts what comes of it behind the vector.

    Args:
        sees: What the row holds; an image among it.
        convolutions: `[B, channels, height, width]` to `[B, features]`.

    Attributes:
        width: Numbers of a row that leaves it.
    """

    def __init__(self, sees: Sees, convolutions: nn.Module) -> None:
        super().__init__()
        assert sees.spec is not None, "without an image nothing is encoded"
        self._sees = sees
        self.pixels, self.convolutions = Pixels(sees.spec), convolutions
        self.width = sees.width + features_of(convolutions, sees.spec)

    def forward(self, flat: torch.Tensor) -> torch.Tensor:
        """`[B, flat_width]` to `[B, width]`."""
        vector, images = self._sees.parts(flat)
        features = self.convolutions(self.pixels(images))
        return torch.cat((vector, features), 1) if self._sees.width else features


def features_of(convolutions: nn.Module, spec: ImageSpec) -> int:
    """Numbers that convolutions make of an image; layers that only now learn their sizes do so."""
    with torch.no_grad():
        height, width, channels = spec.shape
        return int(convolutions(torch.zeros(1, channels, height, width)).flatten(1).shape[1])
