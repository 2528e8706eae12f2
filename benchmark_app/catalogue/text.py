"""Tasks for the terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping

from .wording import Task, component, judged, rate, result_line

LABEL = 14


def listed(tasks: Iterable[Task], unusable: Mapping[str, str]) -> str:
    """All tasks, by suite."""
    by_suite: dict[str, list[Task]] = {}
    for task in tasks:
        by_suite.setdefault(task["declaration"]["suite"] if task["declaration"] else "", []).append(task)
    lines: list[str] = []
    for suite, members in sorted(by_suite.items()):
        lines += [suite or "no suite declared", ""]
        for task in members:
            origin = "" if task["origin"] == "shipped" else f"  (from {task['origin']})"
            lines.append(f"  {task['name']:<20} {task['gym_id']}{origin}")
            lines += _wrapped(task["description"], " " * 23)
            if task["declaration"]:
                lines += _wrapped(f"engines: {', '.join(task['declaration']['engines'])}", " " * 23)
        lines.append("")
    if unusable:
        lines += ["not usable", ""]
        for name, why in unusable.items():
            lines += [f"  {name}", *_wrapped(why, " " * 23)]
        lines.append("")
    return "\n".join([*lines, "One task in full: python -m benchmark_app tasks NAME"])


def described(task: Task) -> str:
    """One task in full."""
    declaration, said = task["declaration"], task["conventions"]
    title = declaration["title"] if declaration else task["name"]
    lines = [f"{title} (task={task['name']}, {task['gym_id']})", ""]
    lines += _part("to do", [task["description"]])
    if declaration:
        lines += _part("what it tests", declaration["summary"].split("\n\n"))
        lines += _part("suite", [declaration["suite"]])
        lines += _part("success", [judged(task)])
    lines += _part("rates", [rate(task)])
    for group, entries in said.get("observations", {}).items():
        key = task["observations"][group]
        lines += _part(f"sees ({group})", [f"{key}, {len(entries)} numbers", *_components(entries)])
    for group, image in said.get("images", {}).items():
        shape = f"{image['height']}x{image['width']}x{image['channels']} {image['dtype']}"
        lines += _part(f"sees ({group})", [f"{task['observations'][group]}, {shape}", image["meaning"]])
    lines += _part("does", _components(said.get("actions", [])))
    if declaration:
        lines += _part("reward", [f"{name}: {text}" for name, text in declaration["reward_terms"].items()])
        lines += _part("measures", [f"{name}: {text}" for name, text in declaration["metrics"].items()])
        lines += _part("robot", [f"{declaration['robot_type']}, control {declaration['control']}"])
        lines += _part("engines", [", ".join(declaration["engines"])])
        lines += _part("differs", declaration["differs"])
        lines += _part("sources", [_source(source) for source in declaration["sources"]])
    else:
        lines += _part("declares", ["nothing: python -m benchmark_app check cannot judge it (docs/add_a_task.md)"])
    for group in ("tuned", "tuned_library"):
        for name, settings in task[group].items():
            lines += _part(group, [name + ": " + ", ".join(f"{key}={value}" for key, value in settings.items())])
    lines += _part("results", [result_line(result) for result in task["reference"]])
    lines += _part("module", [f"{task['module']} ({task['origin']})"])
    return "\n".join(lines)


def _components(entries: list[dict[str, str]]) -> list[str]:
    found = []
    for name, unit, meaning in map(component, entries):
        found.append(f"{name}{f' [{unit}]' if unit else ''}{f': {meaning}' if meaning else ''}")
    return found


def _source(source: Mapping[str, str]) -> str:
    revision = f" {source['revision']}" if source["revision"] else ""
    return f"{source['what']}: {source['origin']}{revision}, {source['licence'] or 'no licence stated'}"


def _part(label: str, paragraphs: Iterable[str]) -> list[str]:
    """A label, and paragraphs beside it; nothing where there are none."""
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += _wrapped(paragraph, " " * (LABEL + 1), hanging="  ")
    if lines:
        lines[0] = f"{label:<{LABEL}} {lines[0].lstrip()}"
        if len(label) > LABEL:
            lines[0] = f"{label} {lines[0][len(label) :].lstrip()}"
    return lines


def _wrapped(text: str, indent: str, hanging: str = "") -> list[str]:
    width = max(60, min(120, shutil.get_terminal_size().columns))
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + hanging, break_on_hyphens=False)
