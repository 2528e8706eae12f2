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
from benchmark_app.profiling.host.interpreter import Interpreter, other_interpreter, this_interpreter
from benchmark_app.refusal import refuse
from benchmark_app.rendering.catalogue import RENDERERS

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
    wanted = sorted({distribution for name in ENGINES for distribution in availability.distributions(name)})
    try:
        found = this_interpreter(wanted) if args.python is None else other_interpreter(args.python, wanted)
    except (OSError, subprocess.SubprocessError) as error:
        return refuse(f"--python {args.python}: cannot be asked what it has installed ({error})")
    described = {
        "physics": [_engine(name, found, args.python) for name in ENGINES],
        "rendering": [_renderer(name) for name in RENDERERS],
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


def _renderer(name: str) -> dict[str, Any]:
    renderer = RENDERERS[name]
    return {"name": name, "title": renderer.title, "available": not renderer.missing, "missing": renderer.missing}


def _page(described: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = ["Physics engines (physics=NAME)", ""]
    for engine in described["physics"]:
        lines += [*_engine_lines(engine), ""]
    lines += ["Renderers (rendering=NAME)", ""]
    for renderer in described["rendering"]:
        lines += [_head(renderer), *_wrapped("", renderer["missing"])]
    return lines


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
