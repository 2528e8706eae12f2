"""What a training really does, counted from the live objects instead of worked out from settings."""

from __future__ import annotations

from typing import Any

import torch

from benchmark_app.frameworks.base import Learner

LIVE_COUNTED = 2  # iterations it is attached to


class LiveCounts:
    """Counts gradient steps and the samples in each while it is attached.

    It slows the networks down a little, so that it is detached after `LIVE_COUNTED` iterations with gradient steps,
    which lie in the warm-up. Off-policy, the first may be the one in which learning starts, and count too few.

    Args:
        learner: The library's own objects.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._steps = [0] * len(learner.optimizers)
        self._samples: list[int] = []
        self._left = LIVE_COUNTED
        self._handles: list[Any] = [
            optimizer.register_step_post_hook(lambda *_, index=index: self._step(index))
            for index, optimizer in enumerate(learner.optimizers)
        ]
        layer = next(module for module in learner.critic.modules() if isinstance(module, torch.nn.Linear))
        self._handles.append(layer.register_forward_pre_hook(lambda _, inputs: self._see(inputs[0])))

    def _step(self, index: int) -> None:
        self._steps[index] += 1

    def _see(self, batch: torch.Tensor) -> None:
        # Without gradients it only judges; its batch says nothing of the update.
        if torch.is_grad_enabled():
            self._samples.append(batch.shape[0])

    def after_iteration(self) -> dict[str, int]:
        """What one iteration did; empty where it learned nothing, and once two have been counted.

        Returns:
            `gradient_steps_per_iteration` (of the optimizer that stepped most), `samples_per_minibatch` (the largest),
            `actor_parameters` and `critic_parameters`.
        """
        if not any(self._steps):
            return {}
        found = {
            "gradient_steps_per_iteration": max(self._steps),
            "samples_per_minibatch": max(self._samples, default=0),
            "actor_parameters": _parameters(self._learner.actor),
            "critic_parameters": _parameters(self._learner.critic),
        }
        self._steps = [0] * len(self._steps)
        self._samples = []
        self._left -= 1
        if self._left == 0:
            for handle in self._handles:
                handle.remove()
        return found


def _parameters(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
