"""What the environment demands of tensors, and its one way of reading the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from benchmark_app.physics.base import name_rows


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


class HostReport:
    """A tensor of the device that the host reads once per step: the only wait of a step. A test counts its reads.

    Args:
        report: The tensor, written by the device and always the same one: N entries for the rows, then the alarms.
        num_envs: Rows N.
    """

    def __init__(self, report: torch.Tensor, num_envs: int) -> None:
        self._report = report
        on_cpu = report.device.type == "cpu"
        self._host = report if on_cpu else torch.empty(report.shape, dtype=report.dtype, pin_memory=True)
        numbers = self._host.numpy()
        self._parts = numbers[:num_envs], numbers[num_envs:]

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows' entries and the alarms, once all work before is done; overwritten by the next read."""
        if self._host is not self._report:
            self._host.copy_(self._report, non_blocking=True)
            torch.cuda.current_stream(self._report.device).synchronize()
        return self._parts


def bad_rows(tensor: torch.Tensor) -> list[int]:
    """Rows of `[N, …]` holding at least one non-finite number. Reads the device."""
    finite = torch.isfinite(tensor.detach()).reshape(len(tensor), -1).all(1)
    rows: list[int] = (~finite).nonzero().flatten().tolist()
    return rows


def find_suspects(tensors: Mapping[str, torch.Tensor]) -> dict[str, list[int]]:
    """Bad rows of every tensor `[N, …]` that has some, in the order given. Reads the device."""
    return {name: bad for name, tensor in tensors.items() if (bad := bad_rows(tensor))}


def step_error(
    suspects: Mapping[str, list[int]], unsound: str, named: Callable[[list[int]], str] = name_rows
) -> ValueError | RuntimeError:
    """The error of a failing step. The first suspect is blamed, so give the cause before its consequences.

    Args:
        suspects: Bad rows by tensor.
        unsound: What is wrong with the engine; empty when nothing is.
        named: Words for rows.
    """
    for name, rows in suspects.items():
        return ValueError(f"{name} not finite in {named(rows)}" + (f"; {unsound}" if unsound else ""))
    return RuntimeError(unsound)


def checked_rows(env_ids: object, num_envs: int) -> np.ndarray:
    """Row indices as the host's numbers, once they are found in order. Reads the device.

    Raises:
        TypeError: Not an int64 tensor.
        ValueError: Not 1-D, or with repeated or out-of-range rows.
    """
    if not isinstance(env_ids, torch.Tensor) or env_ids.dtype is not torch.int64:
        found = env_ids.dtype if isinstance(env_ids, torch.Tensor) else type(env_ids).__name__
        raise TypeError(f"env_ids: expected row indices as an int64 tensor, got {found}")
    if env_ids.ndim != 1:
        raise ValueError(f"env_ids: expected shape [K], got {list(env_ids.shape)}")
    rows = env_ids.cpu().numpy()
    outside = rows[(rows < 0) | (rows >= num_envs)]
    if len(outside):
        raise ValueError(f"env_ids: {name_rows(outside.tolist())} out of range; rows are 0 to {num_envs - 1}")
    if len(np.unique(rows)) != len(rows):
        raise ValueError("env_ids: a row is named more than once")
    return rows
