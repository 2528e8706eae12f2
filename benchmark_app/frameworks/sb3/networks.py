"""What PPO and SAC share: observations in one array, each network's columns of it, and views of one network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from benchmark_app.frameworks.inputs import FlatEncoder, Inputs, Sees

ACTIVATIONS = {"elu": torch.nn.ELU, "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def observation_space(inputs: Inputs) -> gymnasium.spaces.Box:
    """All that is seen side by side, images flat: SB3 knows one observation, for actor and critic alike."""
    return gymnasium.spaces.Box(-np.inf, np.inf, (sum(inputs.flat_groups.values()),), np.float32)


def side_by_side(obs: Mapping[str, torch.Tensor], inputs: Inputs) -> torch.Tensor:
    """Observation groups as one observation `[B, all]`: what the actor sees, then what only the critic does."""
    parts = list(inputs.flat(obs).values())
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def columns(inputs: Inputs, sees: Sees) -> dict[str, Any]:
    """First (`start`) and last-plus-one (`stop`) column of what a network sees, and what it is (`sees`)."""
    start = 0 if sees is inputs.actor else inputs.actor.flat_width
    return {"start": start, "stop": start + sees.flat_width, "sees": sees}


def network_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """SB3's `policy_kwargs` out of their plain form, where classes are names."""
    settings = dict(config["policy_kwargs"])
    settings["activation_fn"] = ACTIVATIONS[settings["activation_fn"]]
    settings["optimizer_class"] = getattr(torch.optim, settings["optimizer_class"])
    return settings


def convolutions(sees: Sees, layers: Mapping[str, Sequence[int]], activation: type[torch.nn.Module]) -> FlatEncoder:
    """What takes in the images a network sees: layers like those of SB3's `NatureCNN`, whose own are fixed.

    Args:
        sees: What the network sees.
        layers: `channels`, `kernels` and `strides`, of one convolution each.
        activation: Follows each.
    """
    assert sees.spec is not None, "without an image nothing is encoded"
    stack: list[torch.nn.Module] = []
    before = sees.spec.channels
    for channels, kernel, stride in zip(layers["channels"], layers["kernels"], layers["strides"], strict=True):
        stack += [torch.nn.Conv2d(before, channels, kernel_size=kernel, stride=stride, padding=0), activation()]
        before = channels
    return FlatEncoder(sees, torch.nn.Sequential(*stack, torch.nn.Flatten()))


class Columns(BaseFeaturesExtractor):  # type: ignore[misc]
    """One network's columns of the observation: its vector, normalised by running statistics if wanted, and its images.

    The statistics are those of rsl_rl: of all samples so far, learned after an update from the rollout it used, and
    with 0.01 added to the scale. They are buffers, so that they are saved with the policy.

    Args:
        space: The observation's.
        start: First column.
        stop: Last column, plus one.
        normalize: Normalise the vector.
        sees: What the columns hold.
        encoder: What makes the encoder of images, from `sees`; None: there are none.
    """

    mean: torch.Tensor
    var: torch.Tensor
    count: torch.Tensor

    def __init__(
        self,
        space: gymnasium.spaces.Box,
        start: int,
        stop: int,
        *,
        normalize: bool = False,
        sees: Sees,
        encoder: Callable[[Sees], FlatEncoder] | None = None,
    ) -> None:
        encode = encoder(sees) if encoder is not None and sees.image is not None else None
        super().__init__(space, stop - start if encode is None else encode.width)
        self.sees, self.encode = sees, encode
        self._columns, self._vector = slice(start, stop), slice(start, start + sees.width)
        self._normalize = normalize
        if normalize:
            self.register_buffer("mean", torch.zeros(sees.width))
            self.register_buffer("var", torch.ones(sees.width))
            self.register_buffer("count", torch.tensor(0))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations `[B, all]` to features `[B, features]`."""
        own = observations[:, self._columns]
        if self._normalize:
            vector = (observations[:, self._vector] - self.mean) / (self.var.sqrt() + 1e-2)
            own = vector if self.encode is None else torch.cat((vector, own[:, len(self.mean) :]), 1)
        return own if self.encode is None else self.encode(own)

    def learn(self, observations: torch.Tensor) -> None:
        """Take observations `[B, all]` into the statistics."""
        if not self._normalize:
            return
        own = observations[:, self._vector]
        self.count += len(own)
        rate, mean = len(own) / self.count, own.mean(dim=0)
        away = mean - self.mean
        self.mean += rate * away
        self.var += rate * (own.var(dim=0, unbiased=False) - self.var + away * (mean - self.mean))


class Network(torch.nn.Module):
    """Parts of an SB3 policy as a module of its own, in which they bear the names they have in the policy."""

    def __init__(self, policy: torch.nn.Module, *names: str) -> None:
        super().__init__()
        self._prefixes = names
        for name in names:
            *parents, last = name.split(".")
            here: torch.nn.Module = self
            there: Any = policy
            for parent in parents:
                here.add_module(parent, torch.nn.Module())
                here, there = getattr(here, parent), getattr(there, parent)
            setattr(here, last, getattr(there, last))

    def own(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """The entries of the policy's state dict that belong here, and any that would in a larger network."""
        return {
            name: value
            for name, value in weights.items()
            if any(name == prefix or name.startswith(f"{prefix}.") for prefix in self._prefixes)
        }


class Rate:
    """A learning rate as SB3 takes one, a function of the progress made; it stays at `value` until that is changed.

    SB3 asks for it at the start of every update, which would otherwise undo what an adaptive schedule did.
    """

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, progress_remaining: float) -> float:
        """The rate."""
        return self.value
