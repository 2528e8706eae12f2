"""The contract between a workflow and an RL library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch

from benchmark_app.envs.state import TorchEnvState

from .agent import ParameterMapping, PPOAgent

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

Policy = Callable[[dict[str, torch.Tensor]], torch.Tensor]
"""Observation groups `[B, dim]` to deterministic actions `[B, A]`, without gradients; B is any batch size."""


class StopTraining(Exception):
    """Raised by the hooks inside the library's loop to leave it: the supervisor asked for it."""


class TrainingHooks(Protocol):
    """What an adapter calls from inside the library's own loop. They observe; they never replace it."""

    def env_step(self, actions: torch.Tensor) -> TorchEnvState:
        """Step the environment once, timed. The adapter's only way to step while training.

        Raises:
            StopTraining: The run was asked to stop; the environment was not stepped.
        """
        ...

    def rollout_ended(self) -> None:
        """The rollout is collected; the update (returns, gradient steps) begins."""
        ...

    def iteration_ended(self, save: Callable[[Path], Path]) -> None:
        """The update is done, and with it the iteration; what follows is counted in the next one.

        Args:
            save: Writes the library's checkpoint for a path without suffix and returns the path written. The hooks
                call it, outside every timed interval, when a checkpoint is due.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Where and how one training runs.

    Attributes:
        agent: The shared description.
        seed: Seed of the library's own generators. The environment was seeded before.
        checkpoint_dir: Folder for checkpoints (exists).
        log_dir: Folder for the library's own files, TensorBoard among them (exists).
    """

    agent: PPOAgent
    seed: int
    checkpoint_dir: Path
    log_dir: Path


class Adapter(Protocol):
    """One RL library. An adapter translates; it never computes a metric of its own."""

    name: str

    def mapping(self, agent: PPOAgent) -> list[ParameterMapping]:
        """How each parameter of the shared description reaches this library."""
        ...

    def train(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> Path:
        """Train for `run.agent.iterations` iterations through the library's real loop and save the policy.

        A `StopTraining` out of the hooks ends the loop early; the policy of that moment is saved all the same.

        Returns:
            The saved checkpoint, in the library's own format, complete on disk.
        """
        ...

    def policy(self, env: TorchEnv, agent: PPOAgent, checkpoint: Path) -> Policy:
        """Load a checkpoint as a deterministic policy.

        Raises:
            CheckpointRefused: The file is not a checkpoint of this library for these observations and actions.
        """
        ...


class CheckpointRefused(Exception):
    """A checkpoint cannot be played here; the message says which file and why, in one line."""
