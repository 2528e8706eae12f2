"""What the settings of a run need and what of it is not installed in the interpreters of its workers.

They are asked without importing anything there.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.execution_settings import engine_python
from benchmark_app.physics import availability
from benchmark_app.profiling import tools
from benchmark_app.profiling.host.interpreter import Interpreter, other_interpreter, this_interpreter
from benchmark_app.rendering import availability as renderers
from benchmark_app.rendering import mp4
from benchmark_app.settings import SettingError, Settings
from benchmark_app.video_settings import records, video_renderer


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
    filmed = any(records(s, workflow) for workflow in s.workflow.steps)
    drawing = {s.rendering.name, *([video_renderer(s)] if filmed else [])}
    drawn = [distribution for name in sorted(drawing) for distribution in renderers.distributions(name)]
    encoding = mp4.PACKAGES if filmed else ()
    key, python = engine_python(s)
    try:
        simulated = [*availability.distributions(s.physics.name), *drawn]
        engine = _ask(key, python, simulated)
        found = _ask("worker.python", s.worker.python, [*([library] if library else []), *encoding])
    except SettingError as error:
        return [str(error)]
    with_engine = f" with {key}={python}" if python else ""
    where = f" with worker.python={s.worker.python}" if s.worker.python else ""
    problems = []
    if s.profiling.tool == tools.PY_SPY and tools.py_spy() is None:
        problems.append("profiling.tool=py-spy: is not installed; type: pip install 'benchmark-app[profilers]'")
    # A server that runs already was started where its engine is, and a task of Gymnasium's environments has none.
    if s.execution.address is None and not is_gymnasium(s.task.module):
        if problem := availability.missing(s.physics.name, engine, python):
            problems.append(f"physics={s.physics.name}{with_engine}: {problem}")
        if problem := renderers.missing(s.rendering.name, engine, python):
            problems.append(f"rendering={s.rendering.name}{with_engine}: {problem}")
        elif filmed and (problem := renderers.missing(video_renderer(s), engine, python)):
            problems.append(f"rendering={s.rendering.name}{with_engine}: Newton's renderer draws the video: {problem}")
    if lacking := [name for name in encoding if found.versions[name] is None]:
        asked = "play.video=true" if s.play.video else f"training.video_interval={s.training.video_interval}"
        packages = f"the package{'s' if len(lacking) > 1 else ''} {' and '.join(lacking)}"
        problems.append(f"{asked}{where}: needs {packages}; type: {mp4.INSTALL}")
    if library and found.versions[library] is None:
        lacks = f"needs the package {library}; type: pip install {library}"
        problems.append(f"framework={s.framework.name}{where}: {lacks}")
    return problems


def _ask(key: str, python: str | None, wanted: list[str]) -> Interpreter:
    """What an interpreter has of some distributions; None is this one.

    Raises:
        SettingError: It cannot be asked.
    """
    try:
        return this_interpreter(wanted) if python is None else other_interpreter(python, wanted)
    except (OSError, subprocess.SubprocessError) as error:
        raise SettingError(f"{key}={python}: cannot be asked what it has installed ({error})") from error
