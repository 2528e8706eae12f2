"""Settings of the cartpole task seen through a camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from benchmark_app.envs.camera_task import ImageSettings
from benchmark_app.envs.declaration import TaskDeclaration
from benchmark_app.envs.image_spec import ImageSpec

from ..cartpole.cfg import CartpoleCfg
from .declaration import DECLARATION

CAMERA_POSITION, CAMERA_TARGET = (0.0, -6.0, 0.9), (0.0, 0.0, 0.35)
HALF_WIDTH = 3.2
"""The camera sees so far to either side [m]: all of the track that does not end the episode."""
SAMPLES = 4
"""Rays per pixel: the pole is thinner than a pixel of the default picture, and would come and go."""
FARTHEST = 6.8
"""Depths are measured up to here [m]: the track is 6 m away, and what can be seen of the floor 7 m and more."""


@dataclass(kw_only=True)
class CartpoleCameraCfg(ImageSettings, CartpoleCfg):
    """Cartpole's robot, rewards and success; the policy sees the last two pictures of a camera, and nothing else.

    The camera stands in front of the track, follows nothing and sees all of the track at any resolution.
    """

    declaration: ClassVar[TaskDeclaration] = DECLARATION

    name: str = "cartpole_camera"
    module: str = "benchmark_app.tasks.cartpole_camera"
    gym_id: str = "Cartpole-Camera-Direct-v0"
    decimation: int = 4
    image_type: str = "depth"
    image_height: int = 24
    image_width: int = 64
    image_frames: int = 2

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Look at the cart, and push it so that the pole on it stays upright."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        return super().problems() + self.image_problems()

    def image_groups(self) -> dict[str, ImageSpec]:
        """What the camera gives."""
        return self.images_from(
            position=CAMERA_POSITION, target=CAMERA_TARGET, half_width=HALF_WIDTH, samples=SAMPLES, farthest=FARTHEST
        )

    def conventions(self) -> dict[str, Any]:
        """What the numbers of this task mean."""
        return super().conventions() | {
            "observations": {},
            "differs_from": {"Isaac Lab 3.0.0 Isaac-Cartpole-Depth-Camera-Direct-v0": " ".join(DECLARATION.differs)},
        }
