"""What was learned (training)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmark_app.bundle.aggregate import ema
from benchmark_app.bundle.loop import Loop
from benchmark_app.bundle.pick import every
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.schema import Learning, LearningCurve
from benchmark_app.journal.events import Event, Iteration, RunPlanned, Scalar


def build_learning(plan: RunPlanned, events: Sequence[Event], gaps: Gaps) -> Learning:
    """Learning curves with one value per completed iteration, warm-up included: learning does not wait for it."""
    iterations = every(events, Iteration)
    curves = {
        name: _curve([getattr(iteration, name) for iteration in iterations], plan)
        for name in ("reward", "ep_length", "success_rate")
    }
    return Learning(
        ema_alpha=plan.ema_alpha,
        reward=_required("reward", curves["reward"], gaps),
        ep_length=_required("ep_length", curves["ep_length"], gaps),
        success_rate=curves["success_rate"],
    )


def learning_extra(events: Sequence[Event], loop: Loop) -> dict[str, Scalar]:
    """Scalars of a training that the schema has no field for."""
    iterations = every(events, Iteration)
    total = math.fsum(unit.seconds for unit in loop.measured)
    extra: dict[str, Scalar] = {
        "episodes_finished": sum(iteration.episodes for iteration in iterations),
        "collection_time_s": math.fsum(unit.collection_s for unit in loop.measured),
        "learning_time_s": math.fsum(unit.learning_s for unit in loop.measured),
    }
    if total > 0:
        extra["hook_time_fraction"] = math.fsum(unit.hook_s for unit in loop.measured) / total
    measured = [i for i, iteration in enumerate(iterations) if iteration.reward is not None]
    if measured:
        extra["learning_first_iteration"] = measured[0]
    return extra


def _curve(values: Sequence[float | None], plan: RunPlanned) -> LearningCurve | None:
    """A curve from one value per iteration; None if no iteration has one."""
    measured = [float(value) for value in values if value is not None]
    if not measured:
        return None
    series = []
    current = measured[0]  # stands for the iterations before the first finished episode
    for value in values:
        current = float(value) if value is not None else current
        series.append(current)
    return LearningCurve(series[-1], ema(measured, plan.ema_alpha), series if plan.keep_series else None)


def _required(name: str, curve: LearningCurve | None, gaps: Gaps) -> LearningCurve:
    if curve is None:
        return LearningCurve(gaps.number(f"learning.{name}", None), 0.0, None)
    return curve
