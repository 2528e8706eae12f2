"""Newton in a process: starting Warp, which it runs on."""

from __future__ import annotations

import warp as wp


def launch(device: str) -> None:
    """Start Warp and, on CUDA, create the device's context."""
    wp.init()
    wp.synchronize_device(device)
