"""Whether an engine can run here, and on which devices, found out without importing it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection

from packaging.requirements import Requirement

from benchmark_app.profiling.host import gpu
from benchmark_app.profiling.host.interpreter import Interpreter, this_interpreter

from .catalogue import ENGINES, Engine

ACCEPTED = ("yes", "y", "1")
"""What Omniverse Kit takes for a yes in its environment variable, in any case of letters."""


def distributions(name: str) -> list[str]:
    """Names of the packages to ask an interpreter for, the engine's own first, torch last."""
    return [Requirement(text).name for text in ENGINES[name].distributions] + ["torch"]


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
    engine = ENGINES[name]
    found = found or this_interpreter(distributions(name))
    needs = [*_python(engine, found, python), *_packages(engine, found, python), *_gpu(engine), *_licence(engine)]
    return f"needs {_listed(needs)}" if needs else ""


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


def _python(engine: Engine, found: Interpreter, python: str | None) -> list[str]:
    if _suits(engine, found):
        return []
    versions = " or ".join("{}.{}".format(*version) for version in engine.python)
    how = "" if python else " (name one by worker.python=PATH)"
    return ["Python {} instead of {}.{}{}".format(versions, *found.python, how)]


def _suits(engine: Engine, found: Interpreter) -> bool:
    return not engine.python or found.python in engine.python


def _packages(engine: Engine, found: Interpreter, python: str | None) -> list[str]:
    lacking = [text for text in engine.distributions if not _satisfied(Requirement(text), found)]
    if not lacking:
        return []
    if python and _suits(engine, found):
        where = "in the checkout, " if engine.apart else ""
        how = f"{where}type: {shlex.quote(python)} -m {engine.install}"
    else:
        how = engine.apart or f"type: {engine.install}"
    return [f"the package{'s' if len(lacking) > 1 else ''} {_listed(lacking)} ({how})"]


def _satisfied(requirement: Requirement, found: Interpreter) -> bool:
    installed = found.versions[requirement.name]
    return installed is not None and requirement.specifier.contains(installed, prereleases=True)


def _gpu(engine: Engine) -> list[str]:
    return ["an NVIDIA GPU with its driver (none is seen)"] if engine.needs_gpu and not gpu.devices() else []


def _licence(engine: Engine) -> list[str]:
    variable = engine.accepted_by
    if not variable or os.environ.get(variable, "").lower() in ACCEPTED:
        return []
    return [f"your acceptance of {engine.licence} (if you accept, type: export {variable}=YES)"]


def _listed(words: Collection[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
