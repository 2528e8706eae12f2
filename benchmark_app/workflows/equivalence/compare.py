"""The last part of the workflow: both engines' traces compared and drawn. No engine and no torch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmark_app.journal.events import Comparison, Finished

from .divergence import compare_traces
from .plot import draw
from .rollout import Trace, trace_path

if TYPE_CHECKING:
    from benchmark_app.workflows.session import Session

PLOT = "equivalence.svg"
PARTS = ("reference", "reference.half_step", "physics", "physics.half_step")


def compare(session: Session) -> None:
    """Compare what the other parts left, and draw it."""
    settings = session.read_settings()
    probe = settings.equivalence
    traces = [Trace.load(trace_path(session.directory, part)) for part in PARTS]
    found = compare_traces(
        *traces,
        control_dt=settings.task.control_dt,
        tolerance={"rad": probe.tolerance_rad, "m": probe.tolerance_m},
    )
    assert settings.reference_physics is not None, "checked with the settings"
    names = (settings.reference_physics.name, settings.physics.name)
    title = f"{settings.task.gym_id}: {names[1]} against {names[0]}, seed {settings.seed}"
    draw(session.directory / PLOT, found, traces[0], traces[2], names=names, title=title)
    session.journal.append(Comparison(t=time.monotonic(), values=found | {"amplitude": probe.amplitude}))
    session.journal.append(Finished(t=time.monotonic(), outcome="budget"))
