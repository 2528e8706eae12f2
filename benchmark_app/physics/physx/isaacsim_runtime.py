"""Isaac Sim in a process: starting its application."""

from __future__ import annotations

import torch
import warp as wp

from .isaacsim_calls import start


def launch(device: str) -> None:
    """Start the Kit application, which takes most of the time before the first step; Warp is started too."""
    wp.init()
    start(torch.device(device))
