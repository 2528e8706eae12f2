"""What PPO and SAC share: observations in one array, each network's columns of it, and views of one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

ACTIVATIONS = {"elu": torch.nn.ELU, "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def observation_space(groups: Mapping[str, int]) -> gymnasium.spaces.Box:
    """All observation groups side by side: SB3 knows one observation, for actor and critic alike."""
    return gymnasium.spaces.Box(-np.inf, np.inf, (sum(groups[name] for name in present(groups)),), np.float32)


def side_by_side(obs: Mapping[str, torch.Tensor], names: Sequence[str]) -> torch.Tensor:
    """Observation groups, each `[B, dim]`, as one observation `[B, all]`, in the order of `names`."""
    return obs[names[0]] if len(names) == 1 else torch.cat([obs[name] for name in names], dim=1)


def columns(groups: Mapping[str, int], group: str) -> dict[str, int]:
    """First (`start`) and last-plus-one (`stop`) column of a group; of the policy's where a task has no such group."""
    start = groups["policy"] if group in groups and group != "policy" else 0
    return {"start": start, "stop": start + groups.get(group, groups["policy"])}


def present(groups: Mapping[str, int]) -> list[str]:
    """The groups a task has, in the order of their columns: the policy's first."""
    return [name for name in ("policy", "critic") if name in groups]


def network_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """SB3's `policy_kwargs` out of their plain form, where classes are names."""
    settings = dict(config["policy_kwargs"])
    settings["activation_fn"] = ACTIVATIONS[settings["activation_fn"]]
    settings["optimizer_class"] = getattr(torch.optim, settings["optimizer_class"])
    return settings


class Columns(BaseFeaturesExtractor):  # type: ignore[misc]
    """One group's columns of the observation, normalised by running statistics if wanted.

    The statistics are those of rsl_rl: of all samples so far, learned after an update from the rollout it used, and
    with 0.01 added to the scale. They are buffers, so that they are saved with the policy.
    """

    mean: torch.Tensor
    var: torch.Tensor
    count: torch.Tensor

    def __init__(self, space: gymnasium.spaces.Box, start: int, stop: int, *, normalize: bool = False) -> None:
        super().__init__(space, stop - start)
        self._columns = slice(start, stop)
        self._normalize = normalize
        if normalize:
            self.register_buffer("mean", torch.zeros(stop - start))
            self.register_buffer("var", torch.ones(stop - start))
            self.register_buffer("count", torch.tensor(0))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations `[B, all]` to features `[B, dim]`."""
        own = observations[:, self._columns]
        return (own - self.mean) / (self.var.sqrt() + 1e-2) if self._normalize else own

    def learn(self, observations: torch.Tensor) -> None:
        """Take observations `[B, all]` into the statistics."""
        if not self._normalize:
            return
        own = observations[:, self._columns]
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
