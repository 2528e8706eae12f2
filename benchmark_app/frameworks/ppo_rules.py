"""Rules of the shared description's PPO that a library may lack; they are those rsl_rl has built in."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import distributed
from torch.distributions import Normal, kl_divergence

_LOWEST_RATE, _HIGHEST_RATE, _RATE_FACTOR, _KL_FACTOR = 1e-5, 1e-2, 1.5, 2.0


def adapted_rate(rate: float, divergence: float, desired_kl: float) -> float:
    """The learning rate of the next optimizer step, by the policy's mean KL divergence from the one that acted."""
    if divergence > _KL_FACTOR * desired_kl:
        return max(_LOWEST_RATE, rate / _RATE_FACTOR)
    if 0.0 < divergence < desired_kl / _KL_FACTOR:
        return min(_HIGHEST_RATE, rate * _RATE_FACTOR)
    return rate


@torch.no_grad()
def mean_divergence(acted: Normal, present: Normal) -> float:
    """Mean over a minibatch of the KL divergence from the policy that acted to the present one, both `[B, A]`.

    Where several ranks train one policy, over the minibatches of all: their learning rates must stay the same.
    """
    mean = kl_divergence(acted, present).sum(dim=-1).mean()
    if distributed.is_available() and distributed.is_initialized():
        distributed.all_reduce(mean)
        mean /= distributed.get_world_size()
    return float(mean)


def clip_each(networks: Iterable[torch.nn.Module], max_norm: float) -> None:
    """Scale the gradient of each network down to a norm, each by itself."""
    for network in networks:
        torch.nn.utils.clip_grad_norm_(network.parameters(), max_norm)


def farther_value(values: torch.Tensor, before: torch.Tensor, returns: torch.Tensor, clip: float) -> torch.Tensor:
    """Per sample the predicted value, or it clipped around the one at the time of acting: whichever errs more.

    Squared against the return it is the clipped value loss, max((V - R)², (V_clipped - R)²), with its gradient.
    """
    clipped = before + (values - before).clamp(-clip, clip)
    return torch.where((clipped - returns).abs() > (values - returns).abs(), clipped, values)
