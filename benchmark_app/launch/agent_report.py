"""What a library makes of the shared agent description, for people and for the results. No library is imported."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from benchmark_app.bundle.write import write_json_file
from benchmark_app.frameworks.mapping import ParameterMapping, get, leaves, overridden
from benchmark_app.frameworks.registry import load_translation
from benchmark_app.settings import Settings

FILE = "agent_mapping.json"


def mapping(settings: Settings) -> list[ParameterMapping]:
    """The mapping table of a run, native overrides marked."""
    rows = load_translation(settings.framework.module).mapping(settings.agent)
    return overridden(rows, settings.framework.native)


def write_report(settings: Settings, folder: Path) -> None:
    """Leave `agent_mapping.json` in a run directory."""
    translated = load_translation(settings.framework.module).translate(settings.agent)
    native = [
        {"path": path, "value": value, "instead_of": _before(translated, path)}
        for path, value in leaves(settings.framework.native)
    ]
    content = {
        "framework": settings.framework.name,
        "algorithm": settings.agent.algorithm,
        "parameters": [dataclasses.asdict(row) for row in mapping(settings)],
        "native_overrides": native,
    }
    write_json_file(content, folder / FILE)


def summary(settings: Settings) -> dict[str, bool | str | int]:
    """The table in scalars, for a bundle's `extra`."""
    rows = mapping(settings)

    def named(quality: str) -> str:
        return ",".join(row.parameter for row in rows if row.quality == quality)

    native = dict(leaves(settings.framework.native))
    return {
        "timeout_bootstrap": settings.agent.timeout_bootstrap,
        # A native setting may change what is computed whether or not it belongs to a parameter.
        "equal_terms": not native and all(row.quality == "exact" for row in rows),
        "agent_exact": sum(row.quality == "exact" for row in rows),
        "agent_approximate": named("approximate"),
        "agent_unsupported": named("unsupported"),
        "native_overrides": ",".join(f"{path}={value}" for path, value in native.items()),
    }


def _before(config: dict[str, Any], path: str) -> Any:
    try:
        return get(config, path)
    except (KeyError, TypeError):  # below a key that takes anything
        return None
