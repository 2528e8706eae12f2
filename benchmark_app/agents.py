"""The verb `agents`: what each library makes of the shared agent description. Imports no library."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import textwrap
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from benchmark_app.catalogue import search_path
from benchmark_app.compose import OPEN
from benchmark_app.config import agent_and_framework, no_adapter
from benchmark_app.explain import HYDRA_ERRORS, HYDRA_VERSION, explain
from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.mapping import ParameterMapping, leaves, native_problems, overridden, override
from benchmark_app.frameworks.registry import load_translation
from benchmark_app.places import conf_dir
from benchmark_app.refusal import refuse
from benchmark_app.settings import FrameworkCfg, SettingError

MARKS = {"exact": "exact", "approximate": "approx.", "unsupported": "no"}


@dataclasses.dataclass(frozen=True)
class Library:
    """One library and what it makes of the agent; no rows where it lacks the algorithm."""

    framework: FrameworkCfg
    agent: Agent
    rows: list[ParameterMapping]
    native: dict[str, Any]


def agents(arguments: list[str]) -> int:
    """Print the mapping table of every library, or all about one; see `--help`.

    Returns:
        Exit status: 0, or 2 where a setting was refused.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app agents",
        description="Show what each library makes of the shared agent description: exact, approximate or not at all.",
        epilog="Examples: agents · agents agent=sac · agents framework=skrl agent.normalize_values=true",
    )
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="as for a run: framework=, agent=, task=")
    parser.add_argument("--native", action="store_true", help="list each library's own settings instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--config-dir", metavar="FOLDER", help="presets and libraries of your own")
    args = parser.parse_intermixed_args(arguments)
    try:
        libraries = _libraries(args.settings, args.config_dir)
    except HYDRA_ERRORS as error:
        return refuse(explain(error, args.settings))
    if args.json:
        print(json.dumps([_plain(library) for library in libraries], indent=2))
    elif args.native:
        for library in libraries:
            print("\n".join([*_native(library), ""]))
    elif len(libraries) == 1:
        _print(_one(libraries[0]))
    else:
        _print(_all(libraries))
    return 0


def _print(lines: list[str]) -> None:
    print("\n".join(line.rstrip() for line in lines))


def _libraries(settings: list[str], config_dir: str | None) -> list[Library]:
    folders = [conf_dir(), *([Path(config_dir).absolute()] if config_dir else [])]
    if not folders[-1].is_dir():
        raise SettingError(f"--config-dir {config_dir}: no such folder")
    chosen = [text.partition("=")[2] for text in settings if text.startswith("framework=")]
    names = chosen or sorted({path.stem for folder in folders for path in (folder / "framework").glob("*.yaml")})
    others = [f"++{text}" if text.startswith(OPEN) else text for text in settings if not text.startswith("framework=")]
    search_path.register()
    search = [f"hydra.searchpath=[file://{folders[1]}]"] if config_dir else []
    return [_library([*others, f"framework={name}", *search]) for name in names]


def _library(overrides: list[str]) -> Library:
    with initialize_config_dir(str(conf_dir()), version_base=HYDRA_VERSION):
        composed = compose("config", overrides, return_hydra_config=True)
    OmegaConf.set_struct(composed, False)
    agent, framework = agent_and_framework(composed)
    if problems := agent.problems(composed.num_envs):
        raise SettingError(f"agent.{problems[0]}")
    try:
        translation = load_translation(framework.module)
    except ImportError as error:
        raise SettingError(no_adapter(framework, error)) from error
    if agent.algorithm not in translation.ALGORITHMS:
        return Library(framework, agent, [], {})
    if problems := native_problems(framework.name, translation, agent, framework.native):
        raise SettingError(problems[0])
    rows = overridden(translation.mapping(agent), framework.native)
    return Library(framework, agent, rows, override(translation.translate(agent), framework.native))


def _plain(library: Library) -> dict[str, Any]:
    return {
        "framework": library.framework.name,
        "algorithm": library.agent.algorithm,
        "supported": bool(library.rows),
        "parameters": [{"value": _value(library, row), **dataclasses.asdict(row)} for row in library.rows],
        "native": library.native,
        "differences": load_translation(library.framework.module).DIFFERENCES.get(library.agent.algorithm, ()),
    }


def _value(library: Library, row: ParameterMapping) -> Any:
    return getattr(library.agent, row.parameter, None)


def _all(libraries: list[Library]) -> list[str]:
    """A matrix: parameters down, libraries across; then why where it is not exact."""
    agent = libraries[0].agent
    names = [library.framework.name for library in libraries]
    by_name = {library.framework.name: {row.parameter: row for row in library.rows} for library in libraries}
    lines = [f"{agent.algorithm}: the shared description in each library", ""]
    lines.append(f"{'parameter':<23}{'value':<12}" + "".join(f"{name:<12}" for name in names))
    for parameter in [*(field.name for field in dataclasses.fields(agent)), "seed"]:
        marks = [MARKS[rows[parameter].quality] if rows else "-" for rows in by_name.values()]
        value = _short(getattr(agent, parameter, ""))
        lines.append(f"{parameter:<23}{value:<12}" + "".join(f"{mark:<12}" for mark in marks))
    why = []
    for library in libraries:
        if not library.rows:
            why.append(f"{library.framework.name} has no {agent.algorithm}.")
        for row in library.rows:
            if row.quality != "exact":
                why += _wrapped(f"{library.framework.name} {row.parameter}, {row.quality}: {row.reason}")
    last = "One library in full: python -m benchmark_app agents framework=NAME"
    return [*lines, "", *why, *([""] if why else []), last]


def _one(library: Library) -> list[str]:
    name, agent = library.framework.name, library.agent
    if not library.rows:
        return [f"{name} has no {agent.algorithm}."]
    lines = [f"{agent.algorithm} in {name}", ""]
    for row in library.rows:
        value = _short(getattr(agent, row.parameter, ""))
        lines.append(f"{row.parameter:<23}{value:<12}{MARKS[row.quality]:<9}{row.native}")
        if row.reason:
            lines += _wrapped(row.reason, " " * 44)
    lines += ["", f"What no setting of {name} changes:"]
    for text in load_translation(library.framework.module).DIFFERENCES[agent.algorithm]:
        lines += _wrapped(f"- {text}")
    return lines


def _native(library: Library) -> list[str]:
    title = f"{library.framework.name} ({library.framework.distribution or 'no installed distribution'})"
    if not library.rows:
        return [title, f"  has no {library.agent.algorithm}"]
    reserved = load_translation(library.framework.module).RESERVED
    return [title] + [
        f"  {path}={_short(value)}" + (f"   (decided by {reserved[path]})" if path in reserved else "")
        for path, value in leaves(library.native)
    ]


def _short(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value).replace(", ", ",")


def _wrapped(text: str, indent: str = "") -> list[str]:
    width = max(60, min(120, shutil.get_terminal_size().columns))
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent or "  ")
