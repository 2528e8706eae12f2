"""ovphysx in a process: starting it."""

from __future__ import annotations

import torch
import warp as wp

from .ovphysx_calls import choose_device, register_schemas


def launch(device: str) -> None:
    """Bind PhysX to the device and load its schemas; Warp, whose kernels surround it, is started too."""
    wp.init()
    choose_device(torch.device(device))
    register_schemas()
