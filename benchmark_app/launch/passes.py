"""The worker processes a workflow takes, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmark_app.bundle.pick import WARMING
from benchmark_app.settings import Settings
from benchmark_app.startup_settings import COLD, WARM


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One worker process of a workflow.

    Attributes:
        part: Which of the workflow's processes it is; "" where it has but one.
        settings: What the worker is given.
        profiled: It runs under a profiler.
        private_kernels: It begins without any compiled kernel, in a folder of its own.
    """

    settings: Settings
    part: str = ""
    profiled: bool = False
    private_kernels: bool = False

    def name(self, workflow: str) -> str:
        """The name its journal and log go by."""
        return f"{workflow}.{self.part}" if self.part else workflow


def passes_of(workflow: str, settings: Settings) -> list[Pass]:
    """Every pass of a workflow, in order; one runs only if those before it went well."""
    if workflow == "equivalence":
        return _equivalence(settings)
    return _startup(settings) if workflow == "startup" else [Pass(settings=settings)]


def _startup(settings: Settings) -> list[Pass]:
    """The measured pass, and the profiled one under the same conditions; before them one that compiles all kernels."""
    cold = settings.startup.kernel_cache == COLD
    found = [Pass(settings=settings, part=WARMING)] if settings.startup.kernel_cache == WARM else []
    found.append(Pass(settings=settings, private_kernels=cold))
    if settings.startup.top_n:
        found.append(Pass(settings=settings, part="profile", profiled=True, private_kernels=cold))
    return found


def _equivalence(settings: Settings) -> list[Pass]:
    """Each engine at the task's physics step and at half of it, then the comparison, which needs no engine.

    No process builds a second scene: engines keep global state, and closing one may end the process.
    """
    task = settings.task
    half = replace(task, physics_dt=task.physics_dt / 2, decimation=2 * task.decimation)
    found = []
    for part, side in (("reference", settings.for_reference()), ("physics", settings)):
        found.append(Pass(settings=side, part=part))
        found.append(Pass(settings=replace(side, task=half), part=f"{part}.half_step"))
    here = replace(settings, worker=replace(settings.worker, python=None))
    return [*found, Pass(settings=here, part="compare")]
