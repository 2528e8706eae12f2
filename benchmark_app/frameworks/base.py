"""The contract between a workflow and an RL library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch

from benchmark_app.envs.state import TorchEnvState

from .agent import Agent
from .mapping import Config

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

Policy = Callable[[dict[str, torch.Tensor]], torch.Tensor]
"""Observation groups, `[B, dim]` or images `[B, height, width, channels]`, to deterministic actions `[B, A]`, without
gradients; B is any batch size."""


class StopTraining(Exception):
    """Raised by the hooks inside the library's loop to leave it: asked to stop, or an early stop was reached."""


class TrainingHooks(Protocol):
    """What an adapter calls from inside the library's own loop. They observe; they never replace it.

    One iteration is `agent.rollout` calls of `env_step` and the gradient steps that belong to them. On-policy, one
    `rollout_ended` stands between the two. Off-policy they alternate: `rollout_ended` before each round of gradient
    steps, `rollout_resumed` after it; `iteration_ended` stands for the last one's.
    """

    def env_step(self, actions: torch.Tensor) -> TorchEnvState:
        """Step the environment once, timed. The adapter's only way to step while training.

        Raises:
            StopTraining: The run was asked to stop; the environment was not stepped.
        """
        ...

    def rollout_ended(self) -> None:
        """Collecting pauses; the update (returns, gradient steps) begins."""
        ...

    def rollout_resumed(self) -> None:
        """The update is over, and the iteration goes on collecting."""
        ...

    def iteration_ended(self) -> None:
        """The iteration is complete; what follows is counted in the next one.

        The hooks may save a checkpoint here, outside every timed interval.

        Raises:
            StopTraining: The early stop was reached.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A checkpoint to read.

    Attributes:
        path: The file.
        trusted: Whether the user trusts it to execute code while it is read; only then may it be unpickled.
    """

    path: Path
    trusted: bool = False


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What one training is.

    Attributes:
        agent: The shared description.
        config: The library's own configuration, from its translation, native overrides included.
        iterations: Iterations to do; below `agent.iterations` where a checkpoint has done some.
        seed: Seed of the library's own generators. The environment was seeded before.
        log_dir: Folder for the library's own files, TensorBoard among them (exists).
        resume: Checkpoint to go on from: networks, normalisation statistics, optimizers and learning rate.
        world_size: Processes that train this one policy; above 1, torch's variables (`RANK`, …) say which this is.
    """

    agent: Agent
    config: Config
    iterations: int
    seed: int
    log_dir: Path
    resume: Checkpoint | None = None
    world_size: int = 1


class Learner(Protocol):
    """A library, ready to train: its own objects, with the hooks in place.

    Attributes:
        actor: The policy's network with all that belongs to it: action noise, normalisation.
        critic: The value network, or the off-policy critics (without their targets).
        optimizers: Every optimizer there is.
    """

    actor: torch.nn.Module
    critic: torch.nn.Module
    optimizers: Sequence[torch.optim.Optimizer]

    def learn(self) -> None:
        """Run the library's real loop for `run.iterations` iterations; `StopTraining` passes through."""
        ...

    def save(self, stem: Path) -> Path:
        """Write the library's own checkpoint as `stem` plus its suffix, whole or not at all.

        It holds all that `TrainingRun.resume` restores and is complete on disk on return.
        """
        ...

    def close(self) -> None:
        """Close the library's log files."""
        ...

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """The deterministic policy of this moment: observation groups `[B, dim]` to actions `[B, A]`."""
        ...

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """The critic of this moment: observation groups `[B, dim]` to values `[B]`, denormalised. PPO only."""
        ...

    def rollout(self) -> dict[str, torch.Tensor]:
        """A copy of what the library stored last, so that a test can look at it.

        PPO: the rollout, each `[T, N]` or `[T, N, …]`: `obs` (policy group) and `images` (image group) where the actor
        sees them, `actions`, `rewards` (bootstrap included), `values`, `returns`, `advantages` (as the loss will use
        them where they are normalised per batch).
        SAC: the replay buffer's transitions in the order they were stored, `[T, N]`: `obs`, `actions`, `rewards`,
        `next_obs` and `terminated`, where 1 stops the bootstrap.
        """
        ...


class Adapter(Protocol):
    """The heavy half of a library's package, `<package>.adapter`. It translates; it never computes a metric."""

    name: str

    def build(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> Learner:
        """Seed, reset the environment once, build the library's objects with the hooks in place, and load `run.resume`.

        Raises:
            CheckpointRefused: `run.resume` is not a checkpoint of this library for this agent and environment.
        """
        ...

    def policy(self, env: TorchEnv, agent: Agent, config: Config, checkpoint: Checkpoint) -> Policy:
        """Load a checkpoint as a deterministic policy, normalisation statistics frozen.

        Raises:
            CheckpointRefused: The file is not a checkpoint of this library for this agent and environment.
        """
        ...


class CheckpointRefused(Exception):
    """A checkpoint cannot be used here; the message says which file and why, in one line."""
