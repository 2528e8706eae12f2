"""Whether an engine can run here, and on which devices, found out without importing it."""

from __future__ import annotations

from benchmark_app.profiling.host import gpu
from benchmark_app.profiling.host.interpreter import Interpreter, this_interpreter

from .catalogue import ENGINES
from .needs import lacking, names


def distributions(name: str) -> list[str]:
    """Names of the packages to ask an interpreter for, the engine's own first, torch last."""
    return [*names(ENGINES[name]), "torch"]


def missing(name: str, found: Interpreter | None = None, python: str | None = None) -> str:
    """What an engine needs and does not find, "" if nothing.

    Args:
        name: One of `ENGINES`.
        found: The interpreter it is to run in, asked for `distributions(name)`; None: this one.
        python: How to start it, where the user chose it: the packages are then to go into that one. None: they may go
            wherever suits them.

    Returns:
        One line: all that is missing, and how to get each.
    """
    return lacking(ENGINES[name], found or this_interpreter(distributions(name)), python)


def version(name: str, found: Interpreter) -> str | None:
    """The engine's version in an interpreter asked for `distributions(name)`; None where it is not installed."""
    return found.versions[distributions(name)[0]]


def devices(name: str, found: Interpreter) -> tuple[list[str], str]:
    """The torch devices an engine can use here, and why CUDA is not among them ("" where it is)."""
    capable = ENGINES[name].capabilities.devices
    torch = found.versions["torch"]
    if "cuda" not in capable:
        why = "the engine has no CUDA"
    elif torch is None:
        why = "torch is not installed"
    elif torch.endswith("+cpu"):
        why = f"torch {torch} is built without CUDA"
    else:
        why = "" if gpu.devices() else "no NVIDIA GPU with a driver is seen"
    return [device for device in capable if device != "cuda" or not why], why


def device_problem(name: str, device: str) -> str:
    """Why an engine cannot run on the device asked for, "" if it can or what is asked for is `auto`.

    Args:
        name: One of `ENGINES`.
        device: auto, cpu, cuda or cuda:N.
    """
    capable = ENGINES[name].capabilities.devices
    if device == "auto" or device.partition(":")[0] in capable:
        return ""
    return f"device={device}: physics={name} runs on {' and '.join(capable)} only; set device={capable[0]}"
