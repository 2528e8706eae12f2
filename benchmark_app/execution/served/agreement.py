"""What an environment is, as plain data that a server tells and a client compares with its own. Light: no engine."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import benchmark_app
from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.image_spec import DEFAULT_RENDERER
from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.physics.availability import distributions
from benchmark_app.physics.given import engine_cfg
from benchmark_app.profiling.host.interpreter import this_interpreter

from .frames import PROTOCOL

COMPARED = ("protocol", "benchmark_app", "code", "task", "physics", "rendering", "conventions")
"""What must be the same on both sides. The rest is told: Python, and the versions of the engine that computes."""
SIMULATED_BY = ("envs", "execution", "physics", "rendering")
"""Packages of ours whose code decides what a step gives."""
GYMNASIUM = "gymnasium"
MOST_SHOWN = 8


def describe(
    task: EnvCfg, physics: str, physics_settings: dict[str, Any], rendering: str | None = None
) -> dict[str, Any]:
    """An environment in plain JSON.

    `code` has a digest of the sources that decide what a step gives: of our packages, and of the task's module.

    Args:
        task: The task's settings.
        physics: The engine.
        physics_settings: Its own settings, given or not.
        rendering: The renderer; it counts only where the task observes images.
    """
    if is_gymnasium(task.module):  # which brings its own simulator
        engine, simulator = this_interpreter(["gymnasium", "numpy"]).versions, {"name": GYMNASIUM}
    else:
        engine = this_interpreter(distributions(physics)).versions
        simulator = {"name": physics, **engine_cfg(physics, physics_settings).keywords()}
    described: dict[str, Any] = {
        "protocol": PROTOCOL,
        "benchmark_app": benchmark_app.__version__,
        "code": {"package": _package_digest(), "task": _task_digest(task.module)},
        "task": asdict(task),
        "physics": simulator,
        "rendering": (rendering or DEFAULT_RENDERER) if task.image_groups() else None,
        "conventions": task.conventions(),
        "python": platform.python_version(),
        "engine": {name: version for name, version in engine.items() if version is not None},
    }
    plain: dict[str, Any] = json.loads(json.dumps(described))  # tuples are lists on the other side
    return plain


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Every field that must be the same and is not, as `task.max_effort: 100.0 here, 50.0 at the server`."""
    found: list[str] = []
    if ours["task"]["name"] != (theirs.get("task") or {}).get("name"):  # nothing else would be of use to anybody
        return list(_differences("task", {"name": ours["task"]["name"]}, {"name": theirs.get("task", {}).get("name")}))
    for name in COMPARED:
        found += list(_differences(name, ours.get(name), theirs.get(name)))
    return found


def told(found: list[str]) -> str:
    """Differences in one line."""
    more = f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return "; ".join(found[:MOST_SHOWN]) + more


def _differences(name: str, ours: Any, theirs: Any) -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            yield from _differences(f"{name}.{key}", ours.get(key), theirs.get(key))
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{name}: {_shown(ours)} here, {_shown(theirs)} at the server"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"


@cache
def _package_digest() -> str:
    root = Path(benchmark_app.__file__).parent
    return _digest(root, (path for part in SIMULATED_BY for path in (root / part).rglob("*.py")))


@cache
def _task_digest(module: str) -> str:
    """Of the file, or of everything in the folder of the package, a task's module is; of a shipped one of all tasks."""
    spec = find_spec(module)
    origin = None if spec is None else spec.origin
    if origin is None:
        return ""
    path = Path(origin)
    if module.startswith("benchmark_app.tasks."):  # they share modules
        path = path.parent / "__init__.py" if path.name != "__init__.py" else path
        folder = path.parent.parent if path.parent.name != "tasks" else path.parent
    elif path.name == "__init__.py":
        folder = path.parent
    else:
        return _digest(path.parent, [path])
    return _digest(folder, (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts))


def _digest(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(root)}:{len(data)}:".encode() + data)
    return digest.hexdigest()[:16]
