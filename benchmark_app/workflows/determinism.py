"""Whether an environment gives the same twice, measured (`profiling.check_determinism`)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from benchmark_app.envs.torch_env import TorchEnv

STEPS = 64
CLOSE = 1e-3
"""Largest difference of an observation or reward, in its own unit, that is still called close."""


@dataclass(frozen=True)
class Determinism:
    """How alike two rollouts were that began alike and took the same actions.

    Attributes:
        verdict: `bitwise`, every bit of every observation, reward and flag was the same; `close`, the flags were and
            numbers differed by at most `CLOSE`; or `different`.
        max_difference: Largest difference of an observation or reward.
        steps: Control steps compared.
    """

    verdict: str
    max_difference: float
    steps: int

    def extra(self) -> dict[str, str | float | int]:
        """The scalars of a bundle's `extra`."""
        return {
            "determinism": self.verdict,
            "determinism_max_difference": self.max_difference,
            "determinism_steps": self.steps,
        }


def measure(env: TorchEnv, seed: int, steps: int = STEPS) -> Determinism:
    """Roll out twice from the seed's first episodes with the same random actions, and compare every step.

    Both are in this process and on this scene, as two iterations of a training are; that another process gives the
    same, it does not say. The environment is left in the middle of an episode.
    """
    first, second = _rollout(env, seed, steps), _rollout(env, seed, steps)
    bitwise, flags, largest = True, True, 0.0
    for a, b in zip(first, second, strict=True):
        if a.dtype == torch.bool:
            flags = flags and torch.equal(a, b)
            continue
        if a.dtype == torch.uint8:  # colours: the largest difference is that of numbers
            bitwise = bitwise and torch.equal(a, b)
            continue
        bitwise = bitwise and torch.equal(a.view(torch.int32), b.view(torch.int32))
        largest = max(largest, (a - b).abs().max().item())
    if bitwise and flags:
        return Determinism("bitwise", largest, steps)
    return Determinism("close" if flags and largest <= CLOSE else "different", largest, steps)


def _rollout(env: TorchEnv, seed: int, steps: int) -> list[torch.Tensor]:
    """All that the steps show, a few tensors each."""
    env.seed(seed)
    env.set_autoreset(True)
    seen = list(env.reset()[0].values())
    generator = torch.Generator(device=env.device).manual_seed(seed)
    low = torch.as_tensor(env.action_space.low, device=env.device)
    span = torch.as_tensor(env.action_space.high, device=env.device) - low
    for _ in range(steps):
        state = env.step(low + span * torch.rand((env.num_envs, *low.shape), generator=generator, device=env.device))
        seen += [*state.obs.values(), state.reward, state.terminated, state.truncated]
    env.drain_episodes()
    return seen
