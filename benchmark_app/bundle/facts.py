"""The parts of a bundle that say which run it is, what it ran on and with, and what else is worth keeping."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, get_args

from benchmark_app.bundle.conditions import conditions_extra
from benchmark_app.bundle.pick import every, first, last, without_profile
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.read import parse_record
from benchmark_app.bundle.schema import Framework, GpuDeviceInfo, Hardware, RunConfig, RunIdentity, Versions
from benchmark_app.bundle.status import RunOutcome, exit_code, exit_note, failed_at
from benchmark_app.journal.events import (
    EngineWarned,
    Event,
    Extra,
    HostFacts,
    RunClosed,
    RunPlanned,
    Scalar,
    WorkerFacts,
)

WARNINGS = "engine_warnings."
"""Prefix in `extra` of the number of each warning of the engine that means wrong physics."""

# Only this package may say these: a task must not be able to pass for a real run, nor a crash for a clean one.
_OURS = {
    *("synthetic", "perturbed", "reason", "failed_at", "exit_code", "exit_note", "profile_lost", "not_reached"),
    *("videos", "video_lost"),
}


def build_identity(plan: RunPlanned, outcome: RunOutcome, events: Sequence[Event]) -> RunIdentity:
    """Who the run is. A field that means nothing for the workflow is null."""
    closed = last(events, RunClosed)
    duration = events[-1].t - events[0].t
    framework = _framework(plan)
    return RunIdentity(
        run_id=plan.run_id,
        framework=framework if framework in get_args(Framework) else None,  # type: ignore[arg-type]
        config=RunConfig(plan.physics, plan.rendering, list(plan.presets)),  # type: ignore[arg-type]  # checked there
        task=plan.task,
        seed=plan.seed,
        start_time_utc=plan.start_time_utc,
        end_time_utc=closed.end_time_utc if closed is not None else _later(plan.start_time_utc, duration),
        duration_s=duration,
        status=outcome.status,  # type: ignore[arg-type]  # a refused run has no bundle
        num_envs=plan.num_envs if plan.workflow != "startup" else None,
        max_iterations=plan.max_iterations if plan.workflow == "training" else None,
    )


def build_versions(events: Sequence[Event]) -> Versions:
    """Versions the supervisor found; nothing is known of a run that ended before it looked."""
    facts = first(events, HostFacts)
    unknown: dict[str, Any] = {field.name: None for field in dataclasses.fields(Versions)}
    unknown |= {"isaaclab": "", "torch": "", "git_dirty": False}
    known = {key: value for key, value in facts.versions.items() if value is not None} if facts is not None else {}
    return parse_record(Versions, unknown | known, "versions")


def build_hardware(events: Sequence[Event], gaps: Gaps) -> Hardware:
    """The host; its GPUs are those the worker sees, where it sees any."""
    facts = first(events, HostFacts)
    if facts is not None:
        hardware = parse_record(Hardware, facts.hardware, "hardware")
    else:
        count, ram = gaps.number("hardware.cpu_count", None), gaps.number("hardware.ram_gb", None)
        hardware = Hardware(hostname="", gpu_devices=[], cpu_name="", cpu_count=int(count), ram_gb=ram)
    worker = last(events, WorkerFacts)
    if worker is None or not worker.cuda_devices:
        return hardware
    devices = [GpuDeviceInfo(d["name"], d["mem_gb"], d["compute_cap"]) for d in worker.cuda_devices]
    return dataclasses.replace(hardware, gpu_devices=devices)


def build_extra(
    plan: RunPlanned, outcome: RunOutcome, events: Sequence[Event], own: dict[str, Scalar], gaps: Gaps
) -> dict[str, Scalar]:
    """Everything the schema has no field for. Later sources replace earlier ones; `own` are the builders' numbers."""
    given = dict(plan.extra)
    measured = without_profile(events)  # a profiled pass finds the kernels that the measured one compiled
    for event in measured:
        if isinstance(event, WorkerFacts):
            given |= event.extra | {"device": event.device}
    for event in every(measured, Extra):
        given |= event.values
    given |= conditions_extra(events)
    given |= {f"{WARNINGS}{name}": count for name, count in warning_counts(events).items()}
    extra = {key: value for key, value in given.items() if key not in _OURS} | own
    framework = _framework(plan)
    if framework is not None and framework not in get_args(Framework):
        extra["framework"] = framework
    if plan.synthetic:
        extra["synthetic"] = True
    ending: dict[str, Scalar] = {
        "perturbed": plan.perturbed,
        "reason": outcome.reason,
        "failed_at": failed_at(events) if outcome.status == "crashed" else "",
        "exit_code": exit_code(events),
        "exit_note": exit_note(events) if outcome.status == "completed" else "",
        "not_reached": ",".join(gaps.paths),
    }
    return extra | {key: value for key, value in ending.items() if value}


def warning_counts(events: Sequence[Event]) -> dict[str, int]:
    """How often the engine gave each warning that means wrong physics, by name.

    What an engine prints (lines) it may also count (rows). Neither knows of what the other missed: the larger is told.
    """
    counted = {
        key.removeprefix(WARNINGS): value
        for event in every(events, Extra)
        for key, value in event.values.items()
        if key.startswith(WARNINGS) and isinstance(value, int)
    }
    printed: dict[str, int] = {}
    for event in every(events, EngineWarned):
        printed[event.name] = printed.get(event.name, 0) + event.count
    return {name: max(printed.get(name, 0), counted.get(name, 0)) for name in counted | printed}


def _framework(plan: RunPlanned) -> str | None:
    """The RL library, in the workflows where one runs."""
    return plan.framework if plan.workflow in ("training", "play") else None


def _later(start_utc: str, seconds: float) -> str:
    return (datetime.fromisoformat(start_utc) + timedelta(seconds=seconds)).isoformat()
