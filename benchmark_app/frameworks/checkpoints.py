"""Checkpoint files, the same care for every library: written whole or not at all, read without executing anything."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from .base import Checkpoint, CheckpointRefused, Policy


def save_atomically(path: Path, write: Callable[[Path], None]) -> Path:
    """Let `write` fill a temporary file beside `path`, then give it its name. A kill leaves the old file, or none.

    Returns:
        `path`, durable on disk.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        write(temporary)
        _sync(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)
    return path


def read_checkpoint(
    checkpoint: Checkpoint,
    library: str,
    parts: tuple[str, ...],
    device: torch.device,
    *,
    also: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Read a checkpoint of plain tensors and containers; one that is trusted may hold anything.

    Args:
        checkpoint: The file, and whether it may execute code.
        library: Name of the library, for messages.
        parts: Keys by which a checkpoint of this library is known; each holds a state dict.
        device: Where its tensors go.
        also: Keys that must be there too, each a dictionary: what resuming needs, such as an optimizer's state.

    Raises:
        CheckpointRefused: No such file, damaged, not of this library, or holding what only unpickling could load.
    """
    path = checkpoint.path
    if not path.is_file():
        raise CheckpointRefused(f"checkpoint {path} refused: there is no such file")
    try:
        content = torch.load(path, map_location=device, weights_only=not checkpoint.trusted)
    except pickle.UnpicklingError as error:
        raise CheckpointRefused(
            f"checkpoint {path} refused: it is no checkpoint, or loading it would execute code (nothing was executed); "
            "if you trust whoever made it, set admission.trusted=true"
        ) from error
    except Exception as error:  # torch raises a different type for every way a file can be damaged
        raise CheckpointRefused(f"checkpoint {path} refused: it is damaged, or no {library} checkpoint") from error
    if not isinstance(content, dict) or not all(_is_state_dict(content.get(part)) for part in parts):
        raise CheckpointRefused(
            f"checkpoint {path} refused: it is no {library} checkpoint of this agent, which holds {parts}"
        )
    if missing := [key for key in also if not isinstance(content.get(key), dict)]:
        raise CheckpointRefused(
            f"checkpoint {path} refused: it holds no {missing[0]}, so nothing can be resumed from it"
        )
    return content


def load_actor(path: Path, actor: torch.nn.Module, weights: Mapping[str, Any]) -> None:
    """Load an actor's state dict, or say in one line how it differs from the actor this task and agent need.

    Raises:
        CheckpointRefused: Other observations, other actions, or other agent settings.
    """
    needed = actor.state_dict()
    found_layers, needed_layers = _layers(weights), _layers(needed)
    if found_layers and found_layers[0].ndim == needed_layers[0].ndim:
        first = "observation values" if needed_layers[0].ndim == 2 else "channels of images"
        for what, found, wanted in (
            (first, found_layers[0].shape[1], needed_layers[0].shape[1]),
            ("actions", found_layers[-1].shape[0], needed_layers[-1].shape[0]),
        ):
            if found != wanted:
                raise CheckpointRefused(f"checkpoint {path} refused: made for {found} {what}, this task has {wanted}")
    for name in [*needed, *weights]:
        shape, needed_shape = (tuple(part[name].shape) if name in part else "absent" for part in (weights, needed))
        if shape != needed_shape:
            raise CheckpointRefused(
                f"checkpoint {path} refused: saved with other agent.hidden_layers, agent.normalize_observations, "
                f"agent.encoder or pictures of another size ({name} is {shape} in the file, {needed_shape} here)"
            )
    actor.load_state_dict(weights)


def as_policy(actor: Callable[[dict[str, torch.Tensor]], Any]) -> Policy:
    """An actor, ready to play, as a deterministic policy: no gradients are kept."""

    @torch.no_grad()
    def act(obs: dict[str, torch.Tensor]) -> torch.Tensor:
        actions: torch.Tensor = actor(obs)
        return actions

    return act


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while a library loads parts of a checkpoint into one line.

    Raises:
        CheckpointRefused: A part does not fit.
    """
    try:
        yield
    except CheckpointRefused:
        raise
    except Exception as error:  # torch raises a different type for every way a part can differ
        reason = " ".join(str(error).split())
        raise CheckpointRefused(f"checkpoint {path} refused: it does not fit this task and agent: {reason}") from error


def _is_state_dict(part: Any) -> bool:
    return isinstance(part, Mapping) and all(isinstance(value, torch.Tensor) for value in part.values())


def _layers(weights: Mapping[str, Any]) -> list[torch.Tensor]:
    """The weights of an actor's layers: convolutions, then matrices, from the observations to the actions."""
    found = [tensor for name, tensor in weights.items() if name.endswith(".weight") and tensor.ndim in (2, 4)]
    return sorted(found, key=lambda tensor: -tensor.ndim)


def _sync(path: Path) -> None:
    """Have the operating system put a file or folder on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
