"""What a task's images are, as plain data. No torch here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmark_app.rendering.camera import CameraSpec
from benchmark_app.rendering.catalogue import NONE

DEFAULT_RENDERER = "newton"
"""Draws on any device what any engine simulates."""
CHANNELS = {"rgb": 3, "depth": 1}


@dataclass(frozen=True, kw_only=True)
class ImageSpec:
    """One group of image observations: what a camera gives, and how many of its last pictures are seen at once.

    Attributes:
        camera: The camera.
        data_type: `rgb`: uint8, from 0 to 255; or `depth`: float32 [m], 0 where nothing is.
        frames: Pictures stacked along the channels, the newest last. An episode's first observation holds its first
            picture so many times: nothing of the episode before.
        farthest: Of depths, how far the camera measures [m]: what lies beyond is 0, as if nothing was there. None: as
            far as the renderer does.

    Raises:
        ValueError: The camera does not give the data type, no frame is seen, or nothing is near enough to be.
    """

    camera: CameraSpec
    data_type: str = "rgb"
    frames: int = 1
    farthest: float | None = None

    def __post_init__(self) -> None:
        if self.data_type not in self.camera.data_types:
            gives = ", ".join(self.camera.data_types)
            raise ValueError(f"data_type={self.data_type}: the camera {self.camera.name} gives {gives}")
        if self.frames < 1:
            raise ValueError(f"frames={self.frames}: must be at least 1")
        if self.farthest is not None and (self.data_type != "depth" or not self.farthest > 0):
            raise ValueError(f"farthest={self.farthest}: must be greater than 0, and of depths only")

    @property
    def dtype(self) -> str:
        """Type of its numbers."""
        return "uint8" if self.data_type == "rgb" else "float32"

    @property
    def channels(self) -> int:
        """Channels of one picture times the pictures stacked."""
        return CHANNELS[self.data_type] * self.frames

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels: the shape of one row."""
        return self.camera.height, self.camera.width, self.channels

    def described(self) -> dict[str, str | int]:
        """The entry of `EnvCfg.conventions()["images"]`."""
        rgb = self.data_type == "rgb"
        within = "" if self.farthest is None else f" within {self.farthest:g} m"
        shown = "colours" if rgb else f"distances along the optical axis, 0 where nothing is{within}"
        return {
            "camera": self.camera.name,
            "data_type": self.data_type,
            "height": self.camera.height,
            "width": self.camera.width,
            "channels": self.channels,
            "frames": self.frames,
            "dtype": self.dtype,
            "unit": "sRGB, 0 to 255" if rgb else "m",
            "meaning": f"{shown}, top row first, channels last; "
            f"{self.frames} control steps stacked along the channels, the newest last",
        }


def without_renderer(rendering: str, task: str, images: Iterable[str]) -> str:
    """Why a task that observes these image groups cannot do with a choice of renderer, "" where it can."""
    if rendering != NONE or not (names := ", ".join(images)):
        return ""
    return f"rendering={NONE}: task={task} observes images ({names}); set rendering={DEFAULT_RENDERER}"
