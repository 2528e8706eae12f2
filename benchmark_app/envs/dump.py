"""The files of a NaN dump, and what must be true of `dump.json` before anything is done with it. No torch here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmark_app.physics.catalogue import ENGINES

FOLDER = "nan_dump"
FACTS, HISTORY = "dump.json", "history.npz"
VERSION = 1
MOST_ROWS = 4096
LARGEST = 2**28
"""Bytes a file of a dump may have. Eight humanoids need a thousandth of it."""

# What a replay reads.
KINDS = {
    "reason": str,
    "suspects": dict,
    "rows": list,
    "device": str,
    "seed": int,
    "episode": list,
    "task": dict,
    "physics": dict,
    "versions": dict,
}


class DumpError(Exception):
    """A dump that cannot be replayed; the message is one line saying why."""


def read_facts(folder: Path) -> dict[str, Any]:
    """Read `dump.json`.

    Args:
        folder: Folder of a dump.

    Raises:
        DumpError: There is no dump, or it is damaged, or not as `NanGuard` writes it.
    """
    for name in (FACTS, HISTORY):
        file = folder / name
        if not file.is_file():
            raise DumpError(f"no dump in this folder ({name} is missing); give the folder {FOLDER} of a run")
        if file.stat().st_size > LARGEST:
            raise DumpError(f"{name} is larger than {LARGEST >> 20} MiB: this is no dump")
    try:
        found: Any = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DumpError(f"{FACTS} cannot be read ({error})") from error
    facts: dict[str, Any] = found if isinstance(found, dict) else {}
    version = facts.get("version")
    if version != VERSION:
        raise DumpError(f"{FACTS} has version {version}; this program replays version {VERSION}")
    for key, kind in KINDS.items():
        if type(facts.get(key)) is not kind:
            raise DumpError(f"{FACTS}: {key} is missing or of another type than {kind.__name__}")
    _check_rows(facts)
    physics = facts["physics"]
    if physics.get("name") not in list(ENGINES) or not isinstance(physics.get("settings"), dict):
        raise DumpError(f"{FACTS}: physics must name one of {', '.join(ENGINES)}, with its settings")
    return facts


def _check_rows(facts: dict[str, Any]) -> None:
    rows, episode = facts["rows"], facts["episode"]
    for name, value in [("rows", rows), ("episode", episode), *facts["suspects"].items()]:
        if not isinstance(value, list) or not all(type(number) is int and abs(number) < 2**31 for number in value):
            raise DumpError(f"{FACTS}: {name} must be a list of whole numbers")
    if len(rows) > MOST_ROWS:
        raise DumpError(f"{FACTS}: {len(rows)} rows are more than the {MOST_ROWS} a dump may hold")
    if not rows or len(set(rows)) < len(rows) or len(episode) != len(rows):
        raise DumpError(f"{FACTS}: rows must name rows, each once, and episode the episode of each")
    if any(not set(bad) & set(rows) for bad in list(facts["suspects"].values())[:1]):
        raise DumpError(f"{FACTS}: the first of suspects names none of the rows")
    if not 0 <= facts["seed"] < 2**31:
        raise DumpError(f"{FACTS}: seed={facts['seed']}: must be from 0 to {2**31 - 1}")
