"""The reach environment with the arm seen through a camera."""

from __future__ import annotations

from typing import ClassVar

from benchmark_app.envs.state import TorchEnvState

from ..reach.env import JOINTS, ReachEnv
from . import kernels


class ReachCameraEnv(ReachEnv):
    """Bring the tip of the tool to the target and hold it there, by what a camera shows of the arm.

    Action, reward and success are reach's. The observation is joint velocities [rad/s], the target [m] and the last
    action, and the image group of the settings.
    """

    obs_groups_spec: ClassVar = {"policy": 2 * len(JOINTS) + 3}
    recordable = True

    def observe(self, state: TorchEnvState) -> None:
        """Joint velocities, target, last action."""
        inputs = (self.backend.joint_vel, self.target, self._action)
        self.launch(kernels.observe, self.num_envs, *inputs, state.obs["policy"])
