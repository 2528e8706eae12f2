"""Everything a task says of itself, as plain JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from benchmark_app.frameworks.mapping import leaves
from benchmark_app.places import conf_dir

from .entries import TaskEntry, TaskError
from .reference import read_reference


def describe(entry: TaskEntry) -> dict[str, Any]:
    """What a task claims to be, its settings and its reference results.

    Returns:
        Plain JSON. `declaration` is null for a task that has none. `tuned` and `tuned_library` have the settings that
        are other than the defaults, by `TASK_AGENT` and `TASK_AGENT_LIBRARY`; `play` has those of its evaluation.

    Raises:
        TaskError, ReferenceFileError: A file of the task cannot be used.
    """
    cfg = entry.cfg()
    declaration = None if cfg.declaration is None else asdict(cfg.declaration)
    tuned = _tuned(entry, "tuned")
    return {
        "name": entry.name,
        "gym_id": cfg.gym_id,
        "description": cfg.description,
        "origin": entry.origin,
        "module": entry.module,
        "settings": asdict(cfg),
        "declaration": declaration,
        "conventions": cfg.conventions(),
        "observations": {
            group: cfg.canonical_key(group)
            for part in ("observations", "images")
            for group in cfg.conventions().get(part, {})
        },
        "tuned": tuned,
        "tuned_library": _tuned(entry, "tuned_library"),
        "play": _play(tuned.get(f"{entry.name}_ppo", {})),
        "reference": [asdict(result) for result in read_reference(entry.reference)],
        "golden": entry.golden.is_file(),
    }


def _tuned(entry: TaskEntry, group: str) -> dict[str, dict[str, Any]]:
    """Settings in the files of a group that follow from the choice of the task, by the files' names."""
    # A name may begin with another's: only what follows it may be an agent (and a library).
    agents = {path.stem for path in (conf_dir() / "agent").glob("*.yaml")}
    found = {}
    for path in sorted((entry.conf / group).glob(f"{entry.name}_*.yaml")):
        if path.stem.removeprefix(f"{entry.name}_").partition("_")[0] in agents:
            found[path.stem] = dict(leaves(_read(path)))
    return found


def _play(tuned: dict[str, Any]) -> dict[str, Any]:
    """The settings of `play.*`, with what is tuned for the task and PPO."""
    changes = {key.removeprefix("play."): value for key, value in tuned.items() if key.startswith("play.")}
    return {**_read(conf_dir() / "config.yaml")["play"], **changes}


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise TaskError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
    if not isinstance(settings, dict):
        raise TaskError(f"{path}: expected settings")
    return settings
