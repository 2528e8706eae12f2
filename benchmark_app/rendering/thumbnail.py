"""The picture that announces a video, beside it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
from PIL import Image

from .mp4 import PARTIAL, VideoError

SUFFIX = ".jpg"


def remove_thumbnail(video: Path) -> None:
    """Remove what announces a video that there is not."""
    with contextlib.suppress(OSError):
        video.with_suffix(SUFFIX).unlink(missing_ok=True)


def write_thumbnail(frame: np.ndarray, video: Path) -> None:
    """Write a frame as a JPEG that has the name of its video, whole or not at all.

    Args:
        frame: uint8 `[height, width, 3]`, RGB.
        video: The video's path.

    Raises:
        VideoError: It cannot be written.
    """
    path = video.with_suffix(SUFFIX)
    partial = path.with_name(f".{path.name}{PARTIAL}")
    try:
        Image.fromarray(frame).save(partial, format="JPEG", quality=85)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise VideoError(f"{path}: cannot be written ({error.strerror or error})") from error
