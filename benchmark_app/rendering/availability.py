"""Whether a renderer can run here, found out without importing it."""

from __future__ import annotations

from benchmark_app.physics.needs import lacking, names
from benchmark_app.profiling.host.interpreter import Interpreter, this_interpreter

from .catalogue import NONE, RENDERERS


def distributions(name: str) -> list[str]:
    """Names of the packages to ask an interpreter for, the renderer's own first; of `none` there are none."""
    return [] if name == NONE else names(RENDERERS[name])


def missing(name: str, found: Interpreter | None = None, python: str | None = None) -> str:
    """What a renderer needs and does not find, "" if nothing; see `physics.availability.missing`."""
    if name == NONE:
        return ""
    return lacking(RENDERERS[name], found or this_interpreter(distributions(name)), python)


def version(name: str, found: Interpreter) -> str | None:
    """The renderer's version in an interpreter asked for `distributions(name)`; None where it is not installed."""
    return None if name == NONE else found.versions[distributions(name)[0]]
