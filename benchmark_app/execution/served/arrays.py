"""NumPy arrays in frames: finite numbers only, but where a name may have marks.

What is allowed not to be finite (a metric that was not measured, a task's own buffers, actions that the environment is
to blame) is sent with 0 in its place and a byte beside it that says what it was: 1 NaN, 2 infinity, 3 minus infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .frames import ALIGNMENT, ITEM_BYTES, ArraySpec, FrameError, Header, padded

_SPECIALS = np.array([0.0, np.nan, np.inf, -np.inf])
_NAMES = {np.dtype(name).newbyteorder("<").str: name for name in ITEM_BYTES}
"""Name by NumPy's short form, which says the order of bytes, too."""


def pack(arrays: Mapping[str, np.ndarray], may_mark: Callable[[str], bool]) -> tuple[tuple[ArraySpec, ...], bytes]:
    """Announcements and body of some arrays.

    Args:
        arrays: By name.
        may_mark: Whether an array of this name need not be finite.

    Raises:
        FrameError: A type that is not sent, or numbers that are not finite though they must be.
    """
    specs, parts = [], []
    for name, array in arrays.items():
        if (dtype := _NAMES.get(array.dtype.str)) is None:
            raise FrameError(f"{name}: arrays of {array.dtype} are not sent")
        marks = None
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            if not may_mark(name):
                raise FrameError(f"{name}: not finite")
            array, marks = _marked(array)
        for part in (array, marks):
            if part is not None:
                parts.append(part.tobytes())
                if rest := -part.nbytes % ALIGNMENT:
                    parts.append(bytes(rest))
        specs.append(ArraySpec(name, dtype, array.shape, marks is not None))
    return tuple(specs), b"".join(parts)


def unpack(header: Header, body: bytearray, may_mark: Callable[[str], bool]) -> dict[str, np.ndarray]:
    """The arrays of a frame, by name, over the memory of its body, which nobody else writes.

    Args:
        header: The header, checked against the body's length.
        body: The body.
        may_mark: Whether an array of this name need not be finite.

    Raises:
        FrameError: Numbers that are not finite though they must be, or bytes that mean nothing.
    """
    found, at = {}, 0
    for spec in header.arrays:
        array = np.frombuffer(body, spec.dtype, spec.size, at).reshape(spec.shape)
        at += padded(array.nbytes)
        if spec.dtype == "bool" and array.view(np.uint8).max(initial=0) > 1:
            raise FrameError(f"{spec.name}: neither true nor false")
        if spec.dtype.startswith("float") and not np.isfinite(array).all():
            raise FrameError(f"{spec.name}: not finite")
        if spec.marked:
            if not may_mark(spec.name):
                raise FrameError(f"{spec.name}: not finite")
            marks = np.frombuffer(body, np.uint8, spec.size, at).reshape(spec.shape)
            at += padded(marks.nbytes)
            _restore(spec.name, array, marks)
        found[spec.name] = array
    return found


def _marked(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    marks = np.zeros(array.shape, dtype=np.uint8)
    marks[np.isnan(array)], marks[np.isposinf(array)], marks[np.isneginf(array)] = 1, 2, 3
    return np.where(marks == 0, array, np.zeros_like(array)), marks


def _restore(name: str, array: np.ndarray, marks: np.ndarray) -> None:
    if marks.max(initial=0) >= len(_SPECIALS) or array[marks != 0].any():
        raise FrameError(f"{name}: marks that mean nothing")
    special = marks != 0
    array[special] = _SPECIALS[marks[special]]
