"""The verb `backends`: which physics engines and renderers there are, and whether they can run here.

Imports no engine and no torch.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import textwrap
from typing import Any

from benchmark_app.physics import availability
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.profiling.host import gpu
from benchmark_app.profiling.host.interpreter import Interpreter, other_interpreter, this_interpreter
from benchmark_app.refusal import refuse
from benchmark_app.rendering import availability as renderers
from benchmark_app.rendering.catalogue import NO_RENDERER, NONE, RENDERERS

WIDTH = 80


def backends(arguments: list[str]) -> int:
    """Print every backend, for a person or as JSON; see `--help`.

    Returns:
        Exit status: 0, or 2 where the interpreter asked for is none.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app backends",
        description="List physics engines and renderers: whether they can run here, and what they can do.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--python", metavar="PATH", help="ask another interpreter, as worker.python=PATH would run in")
    args = parser.parse_args(arguments)
    needed = [*map(availability.distributions, ENGINES), *map(renderers.distributions, RENDERERS)]
    wanted = sorted({distribution for distributions in needed for distribution in distributions})
    try:
        found = this_interpreter(wanted) if args.python is None else other_interpreter(args.python, wanted)
    except (OSError, subprocess.SubprocessError) as error:
        return refuse(f"--python {args.python}: cannot be asked what it has installed ({error})")
    described = {
        "physics": [_engine(name, found, args.python) for name in ENGINES],
        "rendering": [_no_renderer(), *(_renderer(name, found, args.python) for name in RENDERERS)],
    }
    print(json.dumps(described, indent=2) if args.json else "\n".join(_page(described)))
    return 0


def _engine(name: str, found: Interpreter, python: str | None) -> dict[str, Any]:
    engine = ENGINES[name]
    missing = availability.missing(name, found, python)
    devices, no_cuda = availability.devices(name, found)
    return {
        "name": name,
        "title": engine.title,
        "available": not missing,
        "missing": missing,
        "version": availability.version(name, found),
        "devices": [] if missing else devices,
        "no_cuda": no_cuda,
        "capabilities": dataclasses.asdict(engine.capabilities),
        "needs_usd": engine.needs_usd,
        "licence": engine.licence,
        "warnings": {name: warning.meaning for name, warning in engine.warnings.items()},
    }


def _no_renderer() -> dict[str, Any]:
    nothing: dict[str, Any] = {
        "version": None,
        "devices": [],
        "made_for": [],
        "engines": [],
        "needs_usd": False,
        "licence": "",
    }
    return {"name": NONE, "title": NO_RENDERER, "available": True, "missing": "", **nothing}


def _renderer(name: str, found: Interpreter, python: str | None) -> dict[str, Any]:
    renderer = RENDERERS[name]
    missing = renderers.missing(name, found, python)
    return {
        "name": name,
        "title": renderer.title,
        "available": not missing,
        "missing": missing,
        "version": renderers.version(name, found),
        "devices": [] if missing else [device for device in renderer.devices if device == "cpu" or gpu.devices()],
        "made_for": list(renderer.devices),
        "engines": list(renderer.engines),
        "needs_usd": renderer.needs_usd,
        "licence": renderer.licence,
    }


def _page(described: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = ["Physics engines (physics=NAME)", ""]
    for engine in described["physics"]:
        lines += [*_engine_lines(engine), ""]
    lines += ["Renderers (rendering=NAME)", ""]
    for renderer in described["rendering"]:
        lines += [*_renderer_lines(renderer), ""]
    return lines[:-1]


def _head(backend: dict[str, Any]) -> str:
    mark = "available" if backend["available"] else "not here"
    return f"{backend['name']:<16}{mark:<11}{backend['title']}"


def _engine_lines(engine: dict[str, Any]) -> list[str]:
    can = engine["capabilities"]
    runs = ", ".join(engine["devices"])
    if engine["available"] and engine["no_cuda"]:
        runs += f" (no CUDA: {engine['no_cuda']})"
    names = [name for name, value in can.items() if name != "devices" and value]
    lacks = [name for name, value in can.items() if name != "devices" and not value]
    return [
        _head(engine),
        *_wrapped("missing", engine["missing"]),
        *_wrapped("version", engine["version"] or ""),
        *_wrapped("devices", runs),
        *_wrapped("made for", "" if engine["available"] else ", ".join(can["devices"])),
        *_wrapped("licence", engine["licence"]),
        *_wrapped("can", ", ".join(names)),
        *_wrapped("cannot", ", ".join(lacks)),
        *_wrapped("needs", "a USD file of the robot" if engine["needs_usd"] else ""),
        *_wrapped("warns of", ", ".join(engine["warnings"])),
    ]


def _renderer_lines(renderer: dict[str, Any]) -> list[str]:
    return [
        _head(renderer),
        *_wrapped("missing", renderer["missing"]),
        *_wrapped("version", renderer["version"] or ""),
        *_wrapped("devices", ", ".join(renderer["devices"])),
        *_wrapped("made for", "" if renderer["available"] else ", ".join(renderer["made_for"])),
        *_wrapped("draws", "" if not renderer["engines"] else f"physics={', '.join(renderer['engines'])} only"),
        *_wrapped("licence", renderer["licence"]),
        *_wrapped("needs", "a USD file of the robot" if renderer["needs_usd"] else ""),
    ]


def _wrapped(label: str, text: str) -> list[str]:
    """A labelled text under an entry's name; nothing where there is no text."""
    indent = " " * 16
    return (
        textwrap.wrap(
            f"{label:<9}{text}" if label else text,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent + " " * (9 if label else 0),
            break_long_words=False,
            break_on_hyphens=False,
        )
        if text
        else []
    )
