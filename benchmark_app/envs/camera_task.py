"""The settings of a task with one camera that its policy sees through."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmark_app.rendering.camera import CameraSpec, Vector

from .image_spec import CHANNELS, ImageSpec

MOST_PIXELS = 1024  # on a side: a policy's picture, of every environment at every step
MOST_FRAMES = 16


@dataclass(kw_only=True)
class ImageSettings:
    """Goes beside `EnvCfg` among the bases of a task's settings; the presets `camera=NAME` set the first three.

    Attributes:
        image_type: `rgb` or `depth`.
        image_height: Height of the picture [px].
        image_width: Its width [px].
        image_frames: Pictures of the last control steps that the policy sees, stacked along the channels.
    """

    image_type: str = "rgb"
    image_height: int = 64
    image_width: int = 64
    image_frames: int = 1

    def image_problems(self) -> list[str]:
        """Every one of these settings that cannot work, as `key=value: what is allowed`."""
        found = []
        if self.image_type not in CHANNELS:
            found.append(f"image_type={self.image_type}: must be one of {', '.join(CHANNELS)}")
        for key, most in (("image_height", MOST_PIXELS), ("image_width", MOST_PIXELS), ("image_frames", MOST_FRAMES)):
            if not 1 <= getattr(self, key) <= most:
                found.append(f"{key}={getattr(self, key)}: must be from 1 to {most}")
        return found

    def images_from(
        self, *, position: Vector, target: Vector, half_width: float, samples: int = 1, farthest: float | None = None
    ) -> dict[str, ImageSpec]:
        """The one image group, `pixels` or `depth`, of a camera that stands still; none if the settings cannot work.

        Args:
            position: Where the camera stands [m], in the environment's frame.
            target: What it looks at [m].
            half_width: How far it sees to either side of the target [m], whatever the picture's shape.
            samples: Rays per pixel.
            farthest: How far depths are measured [m]; None: as far as the renderer does.
        """
        if self.image_problems():
            return {}
        sideways = half_width / math.dist(position, target)
        camera = CameraSpec(
            name="front",
            width=self.image_width,
            height=self.image_height,
            position=position,
            target=target,
            fov=math.degrees(2.0 * math.atan(sideways * self.image_height / self.image_width)),
            data_types=(self.image_type,),
            samples=samples,
        )
        name = "pixels" if self.image_type == "rgb" else "depth"
        reach = farthest if self.image_type == "depth" else None
        return {name: ImageSpec(camera=camera, data_type=self.image_type, frames=self.image_frames, farthest=reach)}
