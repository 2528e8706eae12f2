"""NVIDIA devices as NVML sees them, keyed by UUID: an index means different devices under CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

from typing import Any

import pynvml


def _handles() -> list[Any]:
    """Handles of every device; none where there is no NVIDIA driver."""
    try:
        pynvml.nvmlInit()
        return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return []


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def devices() -> list[dict[str, Any]]:
    """Describe every device: `uuid`, `name`, `mem_gb` [GiB], `compute_cap` such as "9.0"."""
    return [
        {
            "uuid": _text(pynvml.nvmlDeviceGetUUID(handle)),
            "name": _text(pynvml.nvmlDeviceGetName(handle)),
            "mem_gb": round(pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30, 2),
            "compute_cap": "{}.{}".format(*pynvml.nvmlDeviceGetCudaComputeCapability(handle)),
        }
        for handle in _handles()
    ]


class GpuSampler:
    """Reads utilisation and memory of every device; a device that stops answering is left out of that sample."""

    def __init__(self) -> None:
        self._handles = {_text(pynvml.nvmlDeviceGetUUID(handle)): handle for handle in _handles()}

    def sample(self) -> dict[str, dict[str, float]]:
        """Return `{uuid: {"util_pct", "mem_gb"}}`, whole device [%, GiB]."""
        values = {}
        for uuid, handle in self._handles.items():
            try:
                values[uuid] = {
                    "util_pct": float(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu),
                    "mem_gb": pynvml.nvmlDeviceGetMemoryInfo(handle).used / 2**30,
                }
            except pynvml.NVMLError:
                continue
        return values
