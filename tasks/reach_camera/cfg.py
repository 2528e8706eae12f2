"""Settings of the reach task with the arm seen through a camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from benchmark_app.envs.camera_task import ImageSettings
from benchmark_app.envs.declaration import TaskDeclaration
from benchmark_app.envs.image_spec import ImageSpec

from ..reach.cfg import ReachCfg
from .declaration import DECLARATION

CAMERA_POSITION, CAMERA_TARGET = (1.7, -1.3, 1.1), (0.15, 0.0, 0.4)
HALF_WIDTH = 0.95
"""The camera sees so far to either side of what it looks at [m]: the arm, wherever it is."""


@dataclass(kw_only=True)
class ReachCameraCfg(ImageSettings, ReachCfg):
    """Reach's robot, rewards and success; where the arm is, the policy sees in a picture only.

    The camera stands in front of the arm, to its right and above it, and follows nothing.
    """

    declaration: ClassVar[TaskDeclaration] = DECLARATION

    name: str = "reach_camera"
    module: str = "benchmark_app.tasks.reach_camera"
    gym_id: str = "Reach-Camera-Direct-v0"
    image_type: str = "rgb"
    image_height: int = 48
    image_width: int = 48
    image_frames: int = 1

    @property
    def description(self) -> str:
        """What the robot is to do, in one sentence."""
        return "Look at the arm, move the tip of its tool to the target and hold it there."

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        return super().problems() + self.image_problems()

    def image_groups(self) -> dict[str, ImageSpec]:
        """What the camera gives."""
        return self.images_from(position=CAMERA_POSITION, target=CAMERA_TARGET, half_width=HALF_WIDTH)

    def conventions(self) -> dict[str, Any]:
        """What numbers of this task mean."""
        said = super().conventions()
        told = ("_velocity", "_last_action")
        policy = [
            entry
            for entry in said["observations"]["policy"]
            if entry["name"].startswith("target_") or entry["name"].endswith(told)
        ]
        return said | {
            "observations": {"policy": policy},
            "differs_from": {"Isaac Lab 3.0.0 Isaac-Reach-Franka": " ".join(DECLARATION.differs)},
        }
