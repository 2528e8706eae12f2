"""JSON files that are no bundles and yet say something: equivalence results, and manifests of unfinished runs."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Any, TypeGuard

from benchmark_app.analysis.discover import MANIFEST
from benchmark_app.bundle.equivalence import FORMAT
from benchmark_app.bundle.schema import BUNDLES


@dataclass(frozen=True)
class Equivalence:
    """The result of an equivalence run; it holds no metric.

    Args:
        path: Its file.
        content: Its JSON object, as `benchmark_app.bundle.equivalence` writes it.
    """

    path: str
    content: dict[str, Any]


def is_equivalence(content: object) -> TypeGuard[dict[str, Any]]:
    """True for what `benchmark_app.bundle.equivalence` writes."""
    return isinstance(content, dict) and content.get("format") == FORMAT


def unfinished(path: str, content: object) -> str:
    """What a reader should know of a run that has not ended; `""` for every other file.

    Args:
        path: A JSON file.
        content: What stands in it.
    """
    if os.path.basename(path) != MANIFEST or not isinstance(content, dict) or content.get("status") != "running":
        return ""
    folder, planned = os.path.dirname(path) or ".", content.get("planned")
    names = [name for name in planned if isinstance(name, str)] if isinstance(planned, list) else []
    files = {name: f"{name}.json" for name in (*BUNDLES, "equivalence")}
    missing = [files[name] for name in names if name in files and not os.path.exists(os.path.join(folder, files[name]))]
    what = f"there is no {' and no '.join(missing)} yet" if missing else "it is not closed"
    again = shlex.join(["python", "-m", "benchmark_app", "recover", folder])
    return f"the run is going on, or was killed: {what}; after a kill, this makes what can be made: {again}"
