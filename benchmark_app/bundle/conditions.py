"""`conditions.json`, beside the bundles: what the machine was like before, during and after each workflow of a run.

Like a bundle it is a function of the journals. Its form, version 1: `warnings`, by workflow, sentences for a person;
`workflows`, by workflow, `start` and `end` (readings, docs/conditions.md) and `during`; what is not known is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmark_app.bundle.pick import every
from benchmark_app.bundle.write import write_json_file
from benchmark_app.journal.events import Conditions, Event, Scalar

FILE = "conditions.json"
VERSION = 1

# Key in `extra`, after `conditions.` → where it stands. Of GPUs the first that was used.
ESSENTIALS: dict[str, tuple[str, ...]] = {
    "load_1m": ("start", "cpu", "load_1m"),
    "other_cpu_percent_before": ("start", "others", "percent"),
    "other_cpu_percent": ("during", "others", "percent"),
    "stolen_cpu_percent": ("during", "others", "stolen_percent"),
    "usable_cores": ("start", "cpu", "usable"),
    "affinity": ("start", "cpu", "affinity"),
    "governor": ("start", "cpu", "governor"),
    "frequency_mhz": ("start", "cpu", "frequency_mhz"),
    "frequency_end_mhz": ("end", "cpu", "frequency_mhz"),
    "cpu_throttle_events": ("during", "cpu_throttle_events"),
    "available_memory_gb": ("start", "memory", "available_gb"),
    "swapped_pages": ("during", "swapped_pages"),
    "cpu_pressure_s": ("during", "cpu_pressure_s"),
    "memory_pressure_s": ("during", "memory_pressure_s"),
    "io_pressure_s": ("during", "io_pressure_s"),
    "cgroup_cpu_limit_cores": ("start", "cgroup", "cpu_limit_cores"),
    "cgroup_memory_limit_gb": ("start", "cgroup", "memory_limit_gb"),
    "cgroup_throttled_s": ("during", "cgroup_throttled_s"),
    "container": ("start", "platform", "container"),
    "virtual_machine": ("start", "platform", "virtual_machine"),
    "clock_source": ("start", "platform", "clock_source"),
    "gpu_driver": ("start", "gpu_driver"),
    "gpu_clock_sm_mhz": ("end", "gpus", "clock_sm_mhz"),
    "gpu_power_limit_w": ("start", "gpus", "power_limit_w"),
    "gpu_temperature_c": ("end", "gpus", "temperature_c"),
    "gpu_ecc": ("start", "gpus", "ecc"),
    "gpu_mig": ("start", "gpus", "mig"),
    "gpu_persistence": ("start", "gpus", "persistence"),
}


def build_conditions(events: Iterable[Event]) -> dict[str, Any] | None:
    """What is known of the conditions of one workflow: `start`, `end`, `during`, `warnings`; None if nothing is."""
    told = every(events, Conditions)
    if not told:
        return None
    found: dict[str, Any] = {"start": None, "end": None, "during": None, "warnings": []}
    for event in told:
        found[event.at] = (found.get(event.at) or {}) | event.reading
        found["during"] = event.during or found["during"]
        found["warnings"] += [text for text in event.warnings if text not in found["warnings"]]
    return found


def conditions_extra(events: Sequence[Event]) -> dict[str, Scalar]:
    """The essentials for a bundle's `extra`; what is not known has no key there."""
    found = build_conditions(events)
    if found is None:
        return {}
    values = {name: _at(found, path) for name, path in ESSENTIALS.items()}
    slowed = _at(found, ("during", "gpus_slowed"))
    reasons = sorted({why for counts in slowed.values() for why in counts}) if isinstance(slowed, dict) else []
    known: dict[str, Scalar] = {
        f"conditions.{name}": value for name, value in values.items() if isinstance(value, bool | int | float | str)
    }
    if reasons:
        known["conditions.gpu_slowed_by"] = ",".join(reasons)
    return known | {"conditions.warnings": len(found["warnings"])}


def write_conditions(folder: Path, workflow: str, events: Iterable[Event]) -> None:
    """Bring `conditions.json` of a run up to date with one workflow.

    Raises:
        OSError: It could not be written.
    """
    found = build_conditions(events)
    if found is None:
        return
    content = _read(folder)
    content["warnings"][workflow] = found.pop("warnings")
    content["workflows"][workflow] = found
    write_json_file(content, folder / FILE)


def read_warnings(folder: Path, workflow: str) -> list[str]:
    """The warnings of a workflow, as they were written; none where nothing is known of it."""
    return [str(text) for text in _read(folder)["warnings"].get(workflow, [])]


def _read(folder: Path) -> dict[str, Any]:
    """The content so far; empty where there is none, or none that can be read: the journals still tell it."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if found["version"] == VERSION:
            return {**found, "warnings": dict(found["warnings"]), "workflows": dict(found["workflows"])}
    except (OSError, ValueError, LookupError, TypeError):
        pass
    return {"version": VERSION, "warnings": {}, "workflows": {}}


def _at(found: Any, path: Sequence[str]) -> Any:
    for key in path:
        if isinstance(found, list):
            found = found[0] if found else None
        found = found.get(key) if isinstance(found, dict) else None
    return found
