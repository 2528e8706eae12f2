"""Which engines a check can use here, and in which interpreters. Imports no engine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from benchmark_app.physics import availability
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.profiling.host.interpreter import other_interpreter


class PythonError(ValueError):
    """An interpreter cannot be used; one line."""


def interpreters(given: Sequence[str]) -> dict[str, str]:
    """What `--python` said: engine to interpreter; "" stands for all others.

    Args:
        given: `PATH` or `ENGINE=PATH`, each.

    Raises:
        PythonError: An engine is unknown, or a program is not there.
    """
    found = {}
    for text in given:
        engine, separator, path = text.partition("=")
        if not separator:
            engine, path = "", text
        if engine and engine not in ENGINES:
            raise PythonError(f"--python {text}: {engine} is no engine; known: {', '.join(ENGINES)}")
        if shutil.which(path) is None:
            raise PythonError(f"--python {text}: no such program; give the path of a Python interpreter")
        found[engine] = path
    return found


def python_of(engine: str, chosen: Mapping[str, str]) -> str:
    """The interpreter an engine is to run in."""
    return chosen.get(engine) or chosen.get("") or sys.executable


def why_not(engine: str, device: str, python: str) -> str:
    """Why an engine cannot run in an interpreter, "" where it can."""
    if engine not in ENGINES:
        return f"is unknown; known: {', '.join(ENGINES)}"
    if problem := availability.device_problem(engine, device):
        return problem
    try:
        found = other_interpreter(python, availability.distributions(engine))
    except (OSError, subprocess.SubprocessError) as error:
        return f"{python} cannot be asked what it has installed ({error})"
    return availability.missing(engine, found, None if python == sys.executable else python)
