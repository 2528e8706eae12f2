"""An engine's settings as a program gives them, by name, held to the same rules as those of a run."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_origin, get_type_hints

from benchmark_app.refusal import unknown_key

from . import find_engine
from .cfg import EngineCfg

KEY = "physics_settings"


def engine_cfg(name: str, settings: dict[str, Any] | None) -> EngineCfg:
    """Check an engine's settings.

    Args:
        name: The engine.
        settings: Those that are not to have their defaults; None: all are.

    Raises:
        ValueError: No such engine, or a setting is unknown, of the wrong type, or cannot work; the message says which.
    """
    kind = find_engine(name).cfg
    settings = {} if settings is None else settings
    if not isinstance(settings, dict):
        raise ValueError(f"{KEY}={settings!r}: must be a dictionary of {name}'s settings, or None")
    known = sorted(field.name for field in dataclasses.fields(kind) if field.name != "name")
    types = get_type_hints(kind)
    for key, value in settings.items():
        if key not in known:
            raise ValueError(unknown_key(f"{KEY}.{key}={value}", [f"{KEY}.{other}" for other in known], of=name))
        if not _fits(value, types[key]):
            raise ValueError(f"{KEY}.{key}={value!r}: must be {_in_words(types[key])}")
    cfg = kind(name=name, **settings)
    if problems := cfg.problems():
        raise ValueError("; ".join(f"{KEY}.{problem}" for problem in problems))
    return cfg


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type: one class, one or None, or a list of one."""
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(item, get_args(kind)[0]) for item in value)
    kinds = get_args(kind) or (kind,)
    if float in kinds:
        kinds = (*kinds, int)
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _in_words(kind: Any) -> str:
    if get_origin(kind) is list:
        return "a list of names"
    words = {int: "a whole number", float: "a number", str: "a text", bool: "True or False", type(None): "None"}
    return " or ".join(words[part] for part in get_args(kind) or (kind,))
