"""A task's observations under the names that policies of any simulator know. NumPy only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .cfg import EnvCfg

IMAGE = "observation.image"
CHANNELS = (1, 3, 4)


def canonical_observation(cfg: EnvCfg, observation: np.ndarray | Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Name observations as `EnvCfg.canonical_key` says; nothing is scaled, normalised or reordered.

    Args:
        cfg: The task's settings.
        observation: What one of Gymnasium's environments gave: the policy's array, or arrays by group, each of one row
            or with N rows first. A group of images may itself be a dictionary, by camera.

    Returns:
        `observation.image` or `observation.images.CAMERA` as uint8, height × width × channels, of stacked pictures the
        newest; floating-point numbers as float32; whatever else as it came. All are contiguous.

    Raises:
        ValueError: There is no group, one has another width than the task's conventions say, an image is not uint8 or
            its channels do not come last, a number is not finite, or two groups have the same name.
        TypeError: Something is no array.
    """
    groups = observation if isinstance(observation, Mapping) else {"policy": observation}
    if not groups:
        raise ValueError("observation={}: expected an array, or at least one group of observations")
    conventions = cfg.conventions()
    named, stacked = conventions.get("observations", {}), conventions.get("images", {})
    widths = {cfg.canonical_key(group): len(entries) for group, entries in named.items()}
    found: dict[str, np.ndarray] = {}
    for group, value in groups.items():
        key = cfg.canonical_key(group)
        if group in stacked:
            value = _newest(group, value, stacked[group])
        if isinstance(value, Mapping):
            if key != IMAGE:
                raise TypeError(f"observation '{group}': expected an array, got a dictionary; only images may have one")
            if not value:
                raise ValueError(f"observation '{group}': expected at least one camera's image, got none")
            parts = {f"{IMAGE}s.{camera}": _image(f"{group}.{camera}", image) for camera, image in value.items()}
        else:
            parts = {key: _image(group, value) if key == IMAGE else _vector(group, value, widths.get(key))}
        if twice := sorted(found.keys() & parts.keys()):
            raise ValueError(f"observation '{group}': another group is {twice[0]} already")
        found |= parts
    return found


def _newest(name: str, value: Any, image: Mapping[str, Any]) -> Any:
    """The newest of the pictures a task stacks along the channels of a group."""
    if not isinstance(value, np.ndarray):
        return value
    height, width, channels = image["height"], image["width"], image["channels"]
    if value.shape[-3:] != (height, width, channels):
        raise ValueError(
            f"observation '{name}': expected height × width × channels = {[height, width, channels]}, got the shape "
            f"{list(value.shape)}"
        )
    return value[..., channels - channels // image["frames"] :]


def _image(name: str, value: Any) -> np.ndarray:
    image = _array(name, value)
    if image.dtype != np.uint8:
        raise ValueError(f"observation '{name}': expected an image of uint8, got {image.dtype}")
    if image.ndim not in (3, 4) or image.shape[-1] not in CHANNELS:
        shape = list(image.shape)
        raise ValueError(f"observation '{name}': expected height × width × channels (1, 3 or 4), got the shape {shape}")
    return np.ascontiguousarray(image)


def _vector(name: str, value: Any, width: int | None) -> np.ndarray:
    """Numbers of a group; `width` is how many the task names, None where it names none."""
    vector = _array(name, value)
    if width is not None and (vector.ndim not in (1, 2) or vector.shape[-1] != width):
        raise ValueError(
            f"observation '{name}': expected the shape [{width}] or [rows, {width}], got {list(vector.shape)}"
        )
    if vector.dtype.kind != "f":
        return np.ascontiguousarray(vector)
    if not np.isfinite(vector).all():
        raise ValueError(f"observation '{name}': is not finite")
    return np.ascontiguousarray(vector, dtype=np.float32)


def _array(name: str, value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"observation '{name}': expected a NumPy array, got {type(value).__name__}")
    return value
