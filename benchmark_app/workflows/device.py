"""The one place that knows about torch devices and process-wide torch settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmark_app.envs.devices import absent, no_cuda
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.settings import NumericsCfg

from . import RefusedError


def resolve_device(wanted: str, physics: str) -> tuple[str, str]:
    """Choose the device.

    Args:
        wanted: auto, cpu, cuda or cuda:N; what the engine cannot do was refused before.
        physics: The engine, one of `ENGINES`.

    Returns:
        `cpu` or `cuda:N`, and why `auto` did not take CUDA ("" otherwise).

    Raises:
        RefusedError: The device is not there.
    """
    if wanted == "cpu":
        return "cpu", ""
    capable = ENGINES[physics].capabilities.devices
    problem = no_cuda() if "cuda" in capable else f"{physics} has no CUDA"
    if wanted == "auto" and "cpu" in capable:
        return ("cpu", problem) if problem else ("cuda:0", "")
    if problem and "cpu" in capable:
        raise RefusedError(f"device={wanted}: {problem}; set device=cpu, or device=auto to take what is there")
    if problem:
        raise RefusedError(f"device={wanted}: {problem}, and physics={physics} needs it")
    if wanted == "auto":
        return "cuda:0", ""
    if problem := absent(wanted):
        raise RefusedError(f"device={wanted}: {problem}")
    return f"cuda:{wanted.partition(':')[2] or 0}", ""


def cuda_devices() -> list[dict[str, Any]]:
    """Describe the CUDA devices of this process in logical order: `uuid`, `name`, `mem_gb` [GiB], `compute_cap`."""
    if no_cuda():
        return []
    found = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append(
            {
                "uuid": f"GPU-{properties.uuid}",
                "name": properties.name,
                "mem_gb": round(properties.total_memory / 2**30, 2),
                "compute_cap": f"{properties.major}.{properties.minor}",
            }
        )
    return found


def apply_numerics(threads: int, numerics: NumericsCfg) -> dict[str, bool | int | str]:
    """Set how torch computes in this process, whatever a library set before.

    Returns:
        What torch then says: `threads`, `matmul_precision`, `matmul_tf32`, `cudnn_tf32`, `cudnn_benchmark`.
    """
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(numerics.matmul_precision)
    torch.backends.cudnn.allow_tf32 = numerics.cudnn_tf32
    torch.backends.cudnn.benchmark = numerics.cudnn_benchmark
    return {
        "threads": torch.get_num_threads(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn_tf32": torch.backends.cudnn.allow_tf32,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
    }


def drain_of(device: str) -> Callable[[], None] | None:
    """What waits for all that was launched on a device, and on no other; None for a CPU, whose calls return when done.

    A CUDA synchronisation of a device covers every stream of this process on it: torch's, Warp's and PhysX's.
    """
    if not device.startswith("cuda"):
        return None
    return lambda: torch.cuda.synchronize(device)
