"""Plain data with NumPy arrays in it, taken apart for a frame and put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .frames import FrameError

ARRAY = "@"
"""The one key of an object that stands for an array; its value is the array's name in the frame."""
DEEPEST = 16


def apart(data: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Plain data in which every array is replaced by its name, and the arrays.

    Raises:
        FrameError: Something in it is no plain data.
    """
    arrays: dict[str, np.ndarray] = {}
    return _apart(data, arrays, 0), arrays


def together(data: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Plain data with its arrays in their places.

    Raises:
        FrameError: An array that is named is not there, or the data is nested too deeply.
    """
    return _together(data, arrays, 0)


def _apart(data: Any, arrays: dict[str, np.ndarray], depth: int) -> Any:
    _require_shallow(depth)
    if isinstance(data, np.ndarray):
        name = f"{ARRAY}{len(arrays)}"
        arrays[name] = data
        return {ARRAY: name}
    if isinstance(data, Mapping):
        if not all(isinstance(key, str) and key != ARRAY for key in data):
            raise FrameError(f"keys must be text other than {ARRAY}")
        return {key: _apart(value, arrays, depth + 1) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_apart(value, arrays, depth + 1) for value in data]
    if data is None or isinstance(data, bool | int | float | str):
        return data
    raise FrameError(f"{type(data).__name__} is no plain data")


def _together(data: Any, arrays: Mapping[str, np.ndarray], depth: int) -> Any:
    _require_shallow(depth)
    if isinstance(data, dict):
        if ARRAY in data:
            name = data[ARRAY]
            if len(data) != 1 or not isinstance(name, str) or name not in arrays:
                raise FrameError("an array that is not there")
            return arrays[name]
        return {key: _together(value, arrays, depth + 1) for key, value in data.items()}
    if isinstance(data, list):
        return [_together(value, arrays, depth + 1) for value in data]
    return data


def _require_shallow(depth: int) -> None:
    if depth > DEEPEST:
        raise FrameError(f"nested deeper than {DEEPEST}")
