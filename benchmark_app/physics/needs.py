"""What an engine or a renderer needs that may not be here, and what of it is missing. Nothing of it is imported."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection
from dataclasses import dataclass

from packaging.requirements import Requirement

from benchmark_app.profiling.host import gpu
from benchmark_app.profiling.host.interpreter import Interpreter

ACCEPTED = ("yes", "y", "1")
"""What Omniverse Kit takes for a yes in its environment variable, in any case of letters."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What must be there.

    Attributes:
        distributions: Packages, with the versions allowed where that matters (`ovphysx==0.7.*`); the first one's
            version is that of the whole.
        install: What to type to get them, `pip install …`.
        apart: How to get them into an environment of their own, where they do not go well with the rest; "" elsewhere.
        python: Python versions, major and minor; empty: all that we support.
        needs_gpu: An NVIDIA GPU.
        licence: What a user must accept to use it, "" where it is open source.
        accepted_by: Environment variable by which the user says so; nothing starts without it.
    """

    distributions: tuple[str, ...]
    install: str
    apart: str = ""
    python: tuple[tuple[int, int], ...] = ()
    needs_gpu: bool = False
    licence: str = ""
    accepted_by: str = ""


def names(needs: Needs) -> list[str]:
    """Names of the packages to ask an interpreter for."""
    return [Requirement(text).name for text in needs.distributions]


def lacking(needs: Needs, found: Interpreter, python: str | None = None) -> str:
    """What is not there, "" if nothing.

    Args:
        needs: What must be.
        found: The interpreter it is to run in, asked for `names(needs)`.
        python: How to start it, where the user chose it: the packages are then to go into that one. None: they may go
            wherever suits them.

    Returns:
        One line: all that is missing, and how to get each.
    """
    lacks = [*_python(needs, found, python), *_packages(needs, found, python), *_gpu(needs), *_licence(needs)]
    return f"needs {_listed(lacks)}" if lacks else ""


def _python(needs: Needs, found: Interpreter, python: str | None) -> list[str]:
    if _suits(needs, found):
        return []
    versions = " or ".join("{}.{}".format(*version) for version in needs.python)
    how = "" if python else " (name one by worker.python=PATH)"
    return ["Python {} instead of {}.{}{}".format(versions, *found.python, how)]


def _suits(needs: Needs, found: Interpreter) -> bool:
    return not needs.python or found.python in needs.python


def _packages(needs: Needs, found: Interpreter, python: str | None) -> list[str]:
    lacking = [text for text in needs.distributions if not _satisfied(Requirement(text), found)]
    if not lacking:
        return []
    if python and _suits(needs, found):
        where = "in the checkout, " if needs.apart else ""
        how = f"{where}type: {shlex.quote(python)} -m {needs.install}"
    else:
        how = needs.apart or f"type: {needs.install}"
    return [f"the package{'s' if len(lacking) > 1 else ''} {_listed(lacking)} ({how})"]


def _satisfied(requirement: Requirement, found: Interpreter) -> bool:
    installed = found.versions[requirement.name]
    return installed is not None and requirement.specifier.contains(installed, prereleases=True)


def _gpu(needs: Needs) -> list[str]:
    return ["an NVIDIA GPU with its driver (none is seen)"] if needs.needs_gpu and not gpu.devices() else []


def _licence(needs: Needs) -> list[str]:
    variable = needs.accepted_by
    if not variable or os.environ.get(variable, "").lower() in ACCEPTED:
        return []
    return [f"your acceptance of {needs.licence} (if you accept, type: export {variable}=YES)"]


def _listed(words: Collection[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
