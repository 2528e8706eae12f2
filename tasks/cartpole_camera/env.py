"""The cartpole environment seen through a camera."""

from __future__ import annotations

from typing import ClassVar

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.physics.base import SimBackend

from ..cartpole.env import CartpoleEnv
from .cfg import CartpoleCameraCfg


class CartpoleCameraEnv(CartpoleEnv):
    """Push a cart along a rail so that the pole on it stays upright, by what a camera shows of it.

    Action, reward and success are cartpole's. The observation is the image group of the settings alone.
    """

    obs_groups_spec: ClassVar[dict[str, int]] = {}
    recordable = True

    def __init__(
        self, cfg: CartpoleCameraCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(cfg, backend, num_envs, device=device)
        with torch.inference_mode(False):
            self._judged_by = torch.zeros(num_envs, 4, device=self.device)

    def _numbers(self, state: TorchEnvState) -> torch.Tensor:
        """In a buffer of the task's own: no policy sees them."""
        return self._judged_by
