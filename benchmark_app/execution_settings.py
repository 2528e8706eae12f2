"""What keeps environments from running where `execution=` says."""

from __future__ import annotations

import os
import shutil

from benchmark_app.execution.cfg import PROCESS, SERVED, free_cores, is_gymnasium
from benchmark_app.settings import Settings


def execution_problems(s: Settings) -> list[str]:
    """What is wrong with `execution.*` for this run.

    `execution.num_workers=null` is replaced by the number it stands for here: results tell it, and a sweep makes room
    for as many.
    """
    execution = s.execution
    if execution.name == PROCESS and execution.num_workers is None:
        execution.num_workers = max(1, min(len(free_cores()), s.num_envs))
    found = []
    if execution.name == PROCESS and execution.num_workers is not None:
        shown = f"execution.num_workers={execution.num_workers}"
        if execution.num_workers > s.num_envs:
            found.append(f"{shown}: must be at most num_envs={s.num_envs}")
        elif execution.num_workers > (cores := os.cpu_count() or 1):
            found.append(f"{shown}: must be at most {cores}, the cores of this machine")
    if execution.name in (PROCESS, SERVED) and "equivalence" in s.workflow.steps:
        found.append(f"execution={execution.name}: workflow=equivalence looks into the engine; leave it out")
    if is_gymnasium(s.task.module) and "equivalence" in s.workflow.steps:
        found.append(f"workflow=equivalence: task={s.task.name} is of Gymnasium's environments and has no engine")
    if execution.python is not None and shutil.which(execution.python) is None:
        found.append(f"execution.python={execution.python}: no such program; give the path of a Python interpreter")
    return found


def engine_python(s: Settings) -> tuple[str, str | None]:
    """The setting that names the interpreter the engine runs in, and its value; None: this interpreter."""
    if s.execution.python is not None:
        return "execution.python", s.execution.python
    return "worker.python", s.worker.python
