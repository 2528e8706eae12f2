"""Whether a device of torch is there, and if not, why."""

from __future__ import annotations

import re

import torch


def no_cuda() -> str:
    """Why CUDA cannot be used, "" if it can."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    if not torch.cuda.is_available():
        return "torch sees no CUDA device or driver"
    return ""


def absent(device: str) -> str:
    """Why a device cannot be computed on, "" if it can.

    Args:
        device: Its name, any text.
    """
    if device == "cpu":
        return ""
    if not (found := re.fullmatch(r"cuda(?::(\d+))?", device)):
        return "must be cpu, cuda or cuda:N"
    if problem := no_cuda():
        return problem
    count = torch.cuda.device_count()
    return f"this process sees {count} CUDA devices, from cuda:0" if int(found[1] or 0) >= count else ""
