"""Reading SB3's checkpoints, zip files of torch files, with SB3's own reader and nothing unpickled.

SB3 keeps the object's other attributes beside them, pickled. They are never needed and never read, trusted or not.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.save_util import load_from_zip_file

from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused


def read(
    checkpoint: Checkpoint, algorithm: str, parts: tuple[str, ...], device: torch.device
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Read the state dicts of a checkpoint, and its loose tensors.

    Args:
        checkpoint: The file.
        algorithm: Name of the algorithm, for messages.
        parts: State dicts it must hold, the policy's first.
        device: Where tensors go.

    Raises:
        CheckpointRefused: No such file, damaged, not of this algorithm, or holding what only unpickling could load.
    """
    path = checkpoint.path
    if not path.is_file():
        raise CheckpointRefused(f"checkpoint {path} refused: there is no such file")
    try:
        _, content, tensors = load_from_zip_file(path, load_data=False, device=device)
    except pickle.UnpicklingError as error:
        raise CheckpointRefused(
            f"checkpoint {path} refused: it is damaged, or loading it would execute code (nothing was executed)"
        ) from error
    except Exception as error:  # every way a file can be damaged raises a type of its own
        raise CheckpointRefused(
            f"checkpoint {path} refused: it is damaged, or no sb3 checkpoint (nothing was executed)"
        ) from error
    if not all(isinstance(content.get(part), dict) for part in parts) or not _is_state_dict(content[parts[0]]):
        raise CheckpointRefused(
            f"checkpoint {path} refused: it is no sb3 checkpoint of {algorithm}, which holds {parts} "
            "(nothing was executed)"
        )
    return content, tensors or {}


def load_tensor(path: Path, tensor: torch.Tensor, value: Any) -> None:
    """Give a single tensor its value; one that is not learned keeps its own.

    Raises:
        CheckpointRefused: There is no such value.
    """
    if not tensor.requires_grad:
        return
    if not isinstance(value, torch.Tensor) or value.shape != tensor.shape:
        raise CheckpointRefused(f"checkpoint {path} refused: it lacks a value that is learned beside the networks")
    tensor.data.copy_(value)


def _is_state_dict(part: dict[str, Any]) -> bool:
    return all(isinstance(value, torch.Tensor) for value in part.values())
