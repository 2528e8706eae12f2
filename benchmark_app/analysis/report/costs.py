"""Where the time of a run went: the parts of an iteration, and the phases of the start."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

# Part of an iteration → its name on the page, in drawing order.
PARTS = {
    "simulation": "simulation",
    "outside": "rest of the environment",
    "environment": "environment, simulation not timed apart",
    "policy": "policy and the library's share of collecting",
    "learning": "learning",
    "rest": "rest of the iteration",
    "policy_and_learning": "policy and learning, not told apart",
}
PHASES = {
    "python_imports": "imports",
    "task_config": "task configuration",
    "app_launch": "launch of the engine",
    "env_creation": "environment creation",
    "first_step": "first step",
}

Parts = list[tuple[str, float]]


def breakdown(bundle: dict[str, Any]) -> dict[str, float]:
    """Seconds of one iteration by part, from the aggregates of one bundle; empty where no loop was timed.

    Time in the environment is the mean `step` call times the calls of an iteration. What else was spent on collecting
    is the policy's and the library's. Bundles that do not say how long collecting and learning took, those of Isaac
    Lab, keep the two together: nothing is guessed from their rates, which are means of rates.
    """
    runtime = bundle.get("runtime") or {}
    timing = runtime.get("environment_step_timing")
    if timing is None or not reached(bundle, "runtime.iteration_time_s"):
        return {}
    extra = bundle.get("extra") or {}
    iteration = runtime["iteration_time_s"]["mean"]
    envs = bundle["run"].get("num_envs") or 1
    calls = max(1, round(runtime["steps_per_iteration"] / envs)) if "learning" in bundle else 1
    environment = timing["environment_step_time_s"]["mean"] * calls
    simulation = timing.get("simulation_step_time_s")
    if simulation is not None:
        parts = {"simulation": simulation["mean"] * calls, "outside": environment - simulation["mean"] * calls}
    else:
        parts = {"environment": environment}
    if "learning" not in bundle:
        return _clamped(parts | {"policy" if "success_rate" in bundle else "rest": iteration - environment})
    wall = extra.get("measured_wall_time_s", 0.0)
    if not wall or "collection_time_s" not in extra:
        return _clamped(parts | {"policy_and_learning": iteration - environment})
    collection, learning = (extra[name] * iteration / wall for name in ("collection_time_s", "learning_time_s"))
    return _clamped(
        parts | {"policy": collection - environment, "learning": learning, "rest": iteration - collection - learning}
    )


def startup(bundle: dict[str, Any]) -> dict[str, float]:
    """Seconds of each phase of the start that was reached."""
    if "phases" in bundle:
        times = {name: phase["total_time_s"] for name, phase in bundle["phases"].items()}
    else:
        times = (bundle.get("runtime") or {}).get("startup_time_s") or {}
    return {
        name: times[name]
        for name in PHASES
        if times.get(name) is not None and reached(bundle, f"runtime.startup_time_s.{name}")
    }


def top_functions(bundle: dict[str, Any], wanted: int = 6) -> list[tuple[str, str, float, float, int]]:
    """Phase, function, own time [s], time with what it calls [s] and calls of the costliest rows of a profile."""
    rows = [
        (phase, row["name"], row["own_time_s"], row["cum_time_s"], row["calls"])
        for phase, content in (bundle.get("phases") or {}).items()
        for row in content["top_functions"]
    ]
    return sorted(rows, key=lambda row: -row[2])[:wanted]


def average(measured: Iterable[dict[str, float]], order: Iterable[str]) -> Parts:
    """Mean of each part over the runs that have it, in drawing order."""
    runs = [parts for parts in measured if parts]
    found = {name: [parts[name] for parts in runs if name in parts] for name in order}
    return [(name, math.fsum(values) / len(values)) for name, values in found.items() if values]


def reached(bundle: dict[str, Any], path: str) -> bool:
    """Whether the number at this path was measured, and does not stand for one that was not."""
    named: Sequence[str] = str((bundle.get("extra") or {}).get("not_reached", "")).split(",")
    return not any(gap and (path == gap or path.startswith(f"{gap}.")) for gap in named)


def _clamped(parts: dict[str, float]) -> dict[str, float]:
    """Differences of separately measured times may come out just below zero."""
    return {name: max(0.0, value) for name, value in parts.items()}
