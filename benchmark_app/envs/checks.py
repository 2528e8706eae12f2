"""What the environment demands of tensors, and its one way of reading the device."""

from __future__ import annotations

import numpy as np
import torch


def require_tensor(
    name: str, value: object, shape: tuple[int, ...], device: torch.device, dtype: torch.dtype = torch.float32
) -> None:
    """Refuse anything but a tensor of exactly this shape, device and type.

    Raises:
        TypeError: Not a tensor, or of another type.
        ValueError: Another shape or device.
    """
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name}: expected a {dtype} tensor {list(shape)}, got {type(value).__name__}")
    if value.dtype is not dtype:
        raise TypeError(f"{name}: expected {dtype}, got {value.dtype}")
    if value.shape != shape:
        raise ValueError(f"{name}: expected shape {list(shape)}, got {list(value.shape)}")
    if value.device != device:
        raise ValueError(f"{name}: expected device {device}, got {value.device}")


def read_host(report: torch.Tensor) -> np.ndarray:
    """Read a tensor of the device: the only wait of a step. A test counts its calls."""
    return report.cpu().numpy()


def bad_rows(tensor: torch.Tensor) -> list[int]:
    """Rows of `[N, …]` holding at least one non-finite number. Reads the device."""
    finite = torch.isfinite(tensor.detach()).reshape(len(tensor), -1).all(1)
    rows: list[int] = (~finite).nonzero().flatten().tolist()
    return rows
