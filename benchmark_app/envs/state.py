"""The state a `TorchEnv` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Copy = Callable[[str, torch.Tensor], torch.Tensor]
"""Copies a tensor of a state, by its name: `obs.GROUP`, `reward`, `terminated`, `truncated`, `steps`, and where rows
ended `final.GROUP` and `final_mask`."""


@dataclass
class TorchEnvState:
    """One control step's outcome for N environments. All tensors are float32 unless said, on the environment's device.

    The tensors are fresh: the environment never writes them again and never reads them back, so a library may keep
    or modify them.

    Attributes:
        obs: Observation groups, each `[N, dim]`; `obs["policy"]` is what a policy sees, `obs["critic"]`, where a task
            has it, what only a critic may see. A row that just finished already shows its next episode's first one.
        reward: `[N]`, of the step just taken.
        terminated: bool `[N]`, ended by the task's own rules. Never set together with `truncated`.
        truncated: bool `[N]`, ended by the time limit.
        info: `steps` int64 `[N]`: control steps taken in the current episode (0 for a row just reset). With autoreset
            off `frozen` bool `[N]`: rows whose end an earlier state told and that nobody has reset. Where the
            environment `produces_completion_receipts`, `completion`: the step's `CompletionToken`.
        final_observation: Observation groups as they were before the reset, valid in the rows of `final_mask`;
            None when no row finished.
        final_mask: bool `[N]`, rows whose `final_observation` is valid; None when no row finished.
    """

    obs: dict[str, torch.Tensor]
    reward: torch.Tensor
    terminated: torch.Tensor
    truncated: torch.Tensor
    info: dict[str, Any] = field(default_factory=dict)
    final_observation: dict[str, torch.Tensor] | None = None
    final_mask: torch.Tensor | None = None


def fresh(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """A copy that is the caller's to keep."""
    return tensor.clone()
