"""What the settings of a run need and what of it is not installed in the interpreters of its workers.

They are asked without importing anything there.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmark_app.physics import availability
from benchmark_app.profiling import tools
from benchmark_app.profiling.host.interpreter import other_interpreter, this_interpreter
from benchmark_app.rendering import availability as renderers
from benchmark_app.settings import Settings


def installation_problems(s: Settings) -> list[str]:
    """What is not installed, each in a line; empty when all is there."""
    found = _not_installed(s)
    if s.reference_physics is None:
        return found
    python = "equivalence.reference_python" if s.equivalence.reference_python else "worker.python"
    theirs = _not_installed(s.for_reference())
    return found + [
        problem.replace("worker.python", python).replace("physics=", "reference_physics=", 1) for problem in theirs
    ]


def _not_installed(s: Settings) -> list[str]:
    if s.worker.python is not None and shutil.which(s.worker.python) is None:
        return [f"worker.python={s.worker.python}: no such program; give the path of a Python interpreter"]
    if s.worker.program is not None:
        return [] if Path(s.worker.program).is_file() else [f"worker.program={s.worker.program}: no such file"]
    library = s.framework.distribution if {"training", "play"} & set(s.workflow.steps) else None
    drawn = renderers.distributions(s.rendering.name)
    wanted = [*availability.distributions(s.physics.name), *drawn, *([library] if library else [])]
    try:
        found = this_interpreter(wanted) if s.worker.python is None else other_interpreter(s.worker.python, wanted)
    except (OSError, subprocess.SubprocessError) as error:
        return [f"worker.python={s.worker.python}: cannot be asked what it has installed ({error})"]
    where = f" with worker.python={s.worker.python}" if s.worker.python else ""
    problems = []
    if s.profiling.tool == tools.PY_SPY and tools.py_spy() is None:
        problems.append("profiling.tool=py-spy: is not installed; type: pip install 'benchmark-app[profilers]'")
    if problem := availability.missing(s.physics.name, found, s.worker.python):
        problems.append(f"physics={s.physics.name}{where}: {problem}")
    if problem := renderers.missing(s.rendering.name, found, s.worker.python):
        problems.append(f"rendering={s.rendering.name}{where}: {problem}")
    if library and found.versions[library] is None:
        lacks = f"needs the package {library}; type: pip install {library}"
        problems.append(f"framework={s.framework.name}{where}: {lacks}")
    return problems
