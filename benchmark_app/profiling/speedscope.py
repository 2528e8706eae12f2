"""Profiles as speedscope reads them (https://www.speedscope.app, file format of its wiki)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark_app.bundle.write import write_text_file

Stack = tuple[str, ...]
"""Frames from the outermost to the innermost."""


def write(path: Path, name: str, profiles: Mapping[str, Iterable[tuple[Stack, float]]]) -> None:
    """Write a file with one sampled profile per entry, whole or not at all; see `document`.

    Raises:
        OSError: It cannot be written.
    """
    write_text_file(json.dumps(document(name, profiles), separators=(",", ":"), allow_nan=False), path)


def document(name: str, profiles: Mapping[str, Iterable[tuple[Stack, float]]]) -> dict[str, Any]:
    """The content of a file with one sampled profile per entry.

    Args:
        name: What the file shows.
        profiles: Name of a profile → its samples in order: the stack, and how long it lasted [s].
    """
    frames: dict[str, int] = {}
    shown = [_profile(title, list(samples), frames) for title, samples in profiles.items()]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": "benchmark_app",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": shown,
    }


def _profile(title: str, samples: Sequence[tuple[Stack, float]], frames: dict[str, int]) -> dict[str, Any]:
    weights = [round(seconds, 6) for _, seconds in samples]
    return {
        "type": "sampled",
        "name": title,
        "unit": "seconds",
        "startValue": 0,
        "endValue": round(sum(weights), 6),
        "samples": [[frames.setdefault(frame, len(frames)) for frame in stack] for stack, _ in samples],
        "weights": weights,
    }
