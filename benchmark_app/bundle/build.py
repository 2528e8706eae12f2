"""From the events of a workflow to its bundle: one pure function, however the run ended.

What each number means stands in docs/design.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from benchmark_app.bundle.energy import energy_extra
from benchmark_app.bundle.evaluation import episode_rows, evaluate, evaluation_extra
from benchmark_app.bundle.facts import build_extra, build_hardware, build_identity, build_versions
from benchmark_app.bundle.learning import build_learning, learning_extra
from benchmark_app.bundle.loop import Loop, build_runtime, loop_extra, read_loop
from benchmark_app.bundle.pick import WARMING, first, in_order, last, passes
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.resources import build_resources, resources_extra
from benchmark_app.bundle.schema import (
    Bundle,
    CProfileFunction,
    PlayBundle,
    RuntimeBundle,
    StartupBundle,
    StartupConfig,
    StartupPhase,
    StartupTime,
    TrainingBundle,
)
from benchmark_app.bundle.status import RunOutcome, profile_lost, run_status
from benchmark_app.bundle.video import last_video, video_extra
from benchmark_app.journal.events import PHASES, CheckpointSaved, Event, Phase, RunPlanned, Scalar

__all__ = ["build_bundle", "run_status"]


def build_bundle(events: Iterable[Event], recording: Iterable[Event] = ()) -> Bundle | None:
    """Build the bundle of one workflow from the merged events of its journals.

    Completed, interrupted and crashed runs take the same path, also when the tail of a journal is lost. What the run
    did not reach is 0.0 and named in `extra.not_reached`.

    Args:
        events: Those of the workflow.
        recording: Those of the recording of its videos, where there was one.

    Returns:
        The bundle; None if the run was refused or was never planned.

    Raises:
        BundleError: The plan itself does not fit the schema, such as an unknown physics engine.
    """
    events, recording = in_order(events), list(recording)
    plan = first(events, RunPlanned)
    outcome = run_status(events)
    if plan is None or outcome.status == "refused":
        return None
    bundle = _BUILDERS[plan.workflow](plan, outcome, events)
    if isinstance(bundle, TrainingBundle | PlayBundle) and (shown := video_extra(recording)):
        return replace(bundle, video_path=last_video(recording), extra=(bundle.extra or {}) | shown)
    return bundle


def _build_training(plan: RunPlanned, outcome: RunOutcome, events: Sequence[Event]) -> TrainingBundle:
    gaps = Gaps()
    loop = read_loop(events, plan.num_envs)
    parts, own = _loop_parts(loop, events, gaps)
    learning = build_learning(plan, events, gaps)
    return TrainingBundle(
        run=build_identity(plan, outcome, events),
        **parts,
        learning=learning,
        success_rate=learning.success_rate.final_raw if learning.success_rate is not None else None,
        checkpoint_path=_checkpoint(events),
        extra=build_extra(plan, outcome, events, own | learning_extra(events, loop), gaps),
    )


def _build_play(plan: RunPlanned, outcome: RunOutcome, events: Sequence[Event]) -> PlayBundle:
    gaps = Gaps()
    parts, own = _loop_parts(read_loop(events, plan.num_envs), events, gaps)
    evaluation = evaluate(episode_rows(events))
    return PlayBundle(
        run=build_identity(plan, outcome, events),
        **parts,
        success_rate=evaluation.success_rate,
        reward=evaluation.reward,
        ep_length=evaluation.ep_length,
        checkpoint_path=_checkpoint(events),
        extra=build_extra(plan, outcome, events, own | evaluation_extra(evaluation), gaps),
    )


def _build_runtime(plan: RunPlanned, outcome: RunOutcome, events: Sequence[Event]) -> RuntimeBundle:
    gaps = Gaps()
    parts, own = _loop_parts(read_loop(events, plan.num_envs), events, gaps)
    return RuntimeBundle(
        run=build_identity(plan, outcome, events),
        **parts,
        extra=build_extra(plan, outcome, events, own, gaps),
    )


def _build_startup(plan: RunPlanned, outcome: RunOutcome, events: Sequence[Event]) -> StartupBundle:
    gaps = Gaps()
    durations, profiles = _phases(events)
    lost = profile_lost(events)
    phases = {
        name: StartupPhase(durations[name], [CProfileFunction(**row) for row in profiles.get(name, [])])
        for name in PHASES
        if name in durations
    }
    return StartupBundle(
        run=build_identity(plan, outcome, events),
        versions=build_versions(events),
        hardware=build_hardware(events, gaps),
        phases=phases,
        config=StartupConfig(plan.top_n, plan.whitelist),
        extra=build_extra(plan, outcome, events, {"profile_lost": lost} if lost else {}, gaps),
    )


_BUILDERS: dict[str, Callable[[RunPlanned, RunOutcome, Sequence[Event]], Bundle]] = {
    "training": _build_training,
    "play": _build_play,
    "runtime": _build_runtime,
    "startup": _build_startup,
}


def _loop_parts(loop: Loop, events: Sequence[Event], gaps: Gaps) -> tuple[dict[str, Any], dict[str, Scalar]]:
    """What every workflow with a loop has in common: the fields of its bundle, and scalars for `extra`."""
    resources, gpu_measured = build_resources(events, loop.window, gaps)
    parts = {
        "versions": build_versions(events),
        "hardware": build_hardware(events, gaps),
        "runtime": build_runtime(loop, _startup_time(events, gaps), gaps),
        "resources": resources,
    }
    own = {**loop_extra(loop), "gpu_measured": gpu_measured, **resources_extra(events), **energy_extra(events, loop)}
    return parts, own


def _startup_time(events: Sequence[Event], gaps: Gaps) -> StartupTime:
    durations, _ = _phases(events)

    def required(name: str) -> float:
        return gaps.number(f"runtime.startup_time_s.{name}", durations.get(name))

    return StartupTime(
        app_launch=required("app_launch"),
        env_creation=required("env_creation"),
        first_step=required("first_step"),
        python_imports=durations.get("python_imports"),
        task_config=durations.get("task_config"),
    )


def _phases(events: Sequence[Event]) -> tuple[dict[str, float], dict[str, list[dict[str, Any]]]]:
    """Duration [s] of each phase, and its profile. A profiler slows a phase down, so that each pass gives one only."""
    durations: dict[str, float] = {}
    profiles: dict[str, list[dict[str, Any]]] = {}
    for part in passes(events):
        for event in part.events if part.part != WARMING else ():
            if not isinstance(event, Phase):
                continue
            if part.profiled or event.top_functions is not None:
                profiles[event.name] = event.top_functions or []
            else:
                durations.setdefault(event.name, event.duration_s)
    return durations, profiles


def _checkpoint(events: Sequence[Event]) -> str | None:
    saved = last(events, CheckpointSaved)
    return saved.path if saved is not None else None
