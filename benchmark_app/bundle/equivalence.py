"""The result of an equivalence run: two engines' facts side by side, and how far they came apart.

Like a bundle it is a pure function of the events, however the run ended; what each entry means stands in
docs/engines.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmark_app.bundle.facts import WARNINGS, warning_counts
from benchmark_app.bundle.pick import every, first, in_order, last, passes
from benchmark_app.bundle.status import run_status
from benchmark_app.journal.events import (
    Comparison,
    EngineFacts,
    Event,
    Extra,
    HostFacts,
    RunClosed,
    RunPlanned,
    Scalar,
    WorkerFacts,
)

FORMAT = "benchmark_app.equivalence"
"""What the file says it is."""

VERSION = 1
"""What the entries of the file mean; it grows when one of them changes its meaning."""

VERDICTS = {
    "identical": "the same numbers throughout",
    "rounding": "apart by rounding only",
    "step": "apart by the time step only: the difference shrinks with it",
    "model": "apart by more than the time step: the difference does not shrink with it",
}
"""What the verdicts of a comparison mean."""

RELATIVE = 1e-4
"""Facts closer than this, relative to the larger one, are the same: engines keep them in float32."""

Fact = float | None
"""None: the engine has no such thing, or no limit."""


def build_equivalence(events: Iterable[Event]) -> dict[str, Any] | None:
    """Build the result of an equivalence run from the merged events of its journals.

    Returns:
        Plain JSON data without NaN; None if the run was refused or was never planned.
    """
    events = in_order(events)
    plan, outcome = first(events, RunPlanned), run_status(events)
    if plan is None or outcome.status == "refused":
        return None
    closed, comparison = last(events, RunClosed), last(events, Comparison)
    engines: dict[str, Any] = {"reference": None, "physics": None}
    device, host = "", HostFacts(t=0.0, versions={}, hardware={})
    for event in events:
        if isinstance(event, WorkerFacts):
            device = event.device
        elif isinstance(event, HostFacts):
            host = event
        elif isinstance(event, EngineFacts):
            engines[event.part] = {
                "engine": event.engine,
                "version": event.version,
                "device": device,
                "settings": event.settings,
                "versions": {name: version for name, version in host.versions.items() if version},
                "facts": event.facts,
            }
    both = all(engines.values())
    values: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "status": outcome.status,
        "reason": outcome.reason,
        "run_id": plan.run_id,
        "task": plan.task,
        "physics": plan.physics,
        "reference_physics": plan.reference_physics,
        "seed": plan.seed,
        "num_envs": plan.num_envs,
        "start_time_utc": plan.start_time_utc,
        "end_time_utc": None if closed is None else closed.end_time_utc,
        "synthetic": plan.synthetic,
        "hardware": host.hardware,
        "extra": _extra(events),
        "engine_warnings": {each.part: found for each in passes(events) if (found := warning_counts(each.events))},
        "engines": engines,
        "fact_differences": fact_differences(*(side["facts"] for side in engines.values())) if both else None,
        "comparison": None if comparison is None else comparison.values,
    }
    return values


def _extra(events: Iterable[Event]) -> dict[str, Scalar]:
    """What the workers said of themselves; their warnings are told by part."""
    given = {key: value for event in every(events, Extra) for key, value in event.values.items()}
    return {key: value for key, value in given.items() if not key.startswith(WARNINGS)}


def fact_differences(reference: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every fact that two engines report differently.

    Args:
        reference: A `physics.scene.RobotFacts` in plain data.
        other: The other engine's.

    Returns:
        Rows of `fact` (in words), `reference` and `physics`; None stands for "no such thing" or "no limit".
    """
    theirs = {name: value for name, value, _ in _numbers(other)}
    found = []
    for name, value, scale in _numbers(reference):
        if not _same(value, mine := theirs.pop(name, None), scale):
            found.append({"fact": name, "reference": value, "physics": mine})
    return found + [{"fact": name, "reference": None, "physics": value} for name, value in theirs.items()]


def _numbers(facts: Mapping[str, Any]) -> Iterator[tuple[str, Fact, float]]:
    """Every fact by name, with the size below which a difference in it is rounding."""
    yield "physics step [s]", facts["physics_dt"], 0.0
    strongest = max(map(abs, facts["gravity"]))
    for axis, value in zip("xyz", facts["gravity"], strict=True):
        yield f"gravity {axis} [m/s²]", value, strongest
    for joint in facts["joints"]:
        for key in ("lower", "upper", "damping", "armature", "friction", "effort_limit"):
            yield f"joint {joint['name']}: {key.replace('_', ' ')}", joint[key], 0.0
    for link in sorted(facts["links"], key=lambda each: str(each["name"])):
        name, largest = f"link {link['name']}", max(link["inertia"])
        yield f"{name}: mass [kg]", link["mass"], 0.0
        for axis, value in zip("xyz", link["com"], strict=True):
            yield f"{name}: centre of mass {axis} [m]", value, 1.0
        for axes, value in zip(("xx", "yy", "zz", "xy", "xz", "yz"), link["inertia"], strict=True):
            yield f"{name}: inertia {axes} [kg·m²]", value, largest


def _same(one: Fact, other: Fact, scale: float) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= RELATIVE * max(abs(one), abs(other), scale)
