"""Warp's process-wide side of every Newton engine: starting it, and its cache of compiled kernels."""

from __future__ import annotations

from pathlib import Path

import warp as wp


def launch(device: str) -> None:
    """Start Warp and, on CUDA, create the device's context."""
    wp.init()
    wp.synchronize_device(device)


def kernel_cache_entries() -> int:
    """How many compiled modules the cache holds; more of them afterwards means that something was compiled."""
    folder = Path(wp.config.kernel_cache_dir)
    return sum(1 for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else 0
