"""The training state as plain data: written from live tensors, and checked before any of them is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from .checks import require_tensor

VERSION = 2

_CPU = torch.device("cpu")


def export_tensors(live: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies on the CPU."""
    return {name: tensor.detach().cpu().clone() for name, tensor in live.items()}


def import_tensors(live: Mapping[str, torch.Tensor], saved: Mapping[str, torch.Tensor]) -> None:
    """Write what was exported back in place; `check_training_state` has found it to fit."""
    for name, tensor in live.items():
        tensor.copy_(saved[name])


def check_training_state(
    state: Mapping[str, Any], num_envs: int, sections: Mapping[str, Mapping[str, torch.Tensor]]
) -> None:
    """Refuse a state that is not exactly what an environment exports. Nothing is changed.

    Args:
        state: What is to be imported.
        num_envs: Rows of the environment that imports.
        sections: By section, tensors of the names, shapes and types it must have.

    Raises:
        TypeError: Something is of another type.
        ValueError: A key is missing or unknown, or a value or shape differs. Either message names the key.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"training state: expected a mapping, got {type(state).__name__}")
    _require_value("version", state.get("version"), VERSION)  # what else there is depends on it
    _require_keys("training state", state, {"version", "num_envs", "autoreset", *sections})
    _require_value("num_envs", state["num_envs"], num_envs)
    if not isinstance(state["autoreset"], bool):
        raise TypeError(f"autoreset: expected bool, got {state['autoreset']!r}")
    for section, tensors in sections.items():
        if not isinstance(state[section], Mapping):
            raise TypeError(f"{section}: expected a mapping, got {type(state[section]).__name__}")
        _require_keys(section, state[section], set(tensors))
        for name, tensor in tensors.items():
            key, found = f"{section}.{name}", state[section][name]
            require_tensor(key, found, tuple(tensor.shape), _CPU, tensor.dtype)
            if found.layout is not torch.strided or found.requires_grad:
                raise ValueError(f"{key}: expected a dense tensor without gradients")
            if section != "task" and found.is_floating_point() and not torch.isfinite(found).all():
                raise ValueError(f"{key}: not finite")


def _require_value(key: str, found: object, expected: int) -> None:
    if type(found) is not int:  # a bool is no number here
        raise TypeError(f"{key}: expected int, got {found!r}")
    if found != expected:
        raise ValueError(f"{key}={found}: expected {expected}")


def _require_keys(where: str, found: Mapping[str, Any], expected: set[str]) -> None:
    if missing := sorted(expected - found.keys()):
        raise ValueError(f"{where}: {', '.join(missing)} missing")
    if unknown := sorted(map(str, found.keys() - expected)):
        raise ValueError(f"{where}: unknown {', '.join(unknown)}")
