"""How the shared description reaches a library: the table every library fills in, and native overrides. Light.

A library's translation is a module beside its adapter that imports neither torch nor the library (`Translation`), so
that the parent process can refuse what a library cannot do before anything is started.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from .agent import Agent

MappingQuality = Literal["exact", "approximate", "unsupported"]
Config = dict[str, Any]
"""A library's own configuration: nested dictionaries of plain values, addressed by dotted paths."""


Shortfall = tuple[MappingQuality, str]
"""How a parameter falls short of exact, and why."""

MIXED_PRECISION: Shortfall = (
    "approximate",
    "each library chooses itself which operations run in bfloat16 or float16",
)


@dataclass(frozen=True, kw_only=True)
class ParameterMapping:
    """How one parameter of the shared description reached a library.

    Attributes:
        parameter: Its name in the shared description, or `seed`.
        quality: `exact`, `approximate` or `unsupported`.
        native: The library's own setting and value, or in words what is done in its place; "" if there is nothing.
        reason: Why it is not exact, "" if it is.
        paths: Dotted paths of the settings it decides in the library's configuration; `native` shows the first.
    """

    parameter: str
    quality: MappingQuality
    native: str
    reason: str = ""
    paths: tuple[str, ...] = ()


def no_encoder(agent: Agent) -> dict[str, str]:
    """Words for the encoder's parameters where there is no encoder."""
    names = [field.name for field in dataclasses.fields(agent) if field.name.startswith("encoder_")]
    return {"encoder": "observations go into the hidden layers", **dict.fromkeys(names, "unused without an encoder")}


def encoder_rows(
    agent: Agent, paths: Mapping[str, tuple[str, ...]], words: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Paths and words of the encoder's parameters: those given where the agent has an encoder."""
    return (dict(paths), dict(words)) if agent.encoder is not None else ({}, no_encoder(agent))


NO_ENCODER: Shortfall = ("unsupported", "only this project's PPO adapters read images")
"""Of an algorithm whose networks take vectors alone."""


class Translation(Protocol):
    """The light half of a library's package, `<package>.translation`."""

    ALGORITHMS: tuple[str, ...]
    """The algorithms of the shared description it has: `ppo`, `sac`."""

    DISTRIBUTED: Mapping[str, str]
    """Those that several ranks can train together, each with where: `cuda` (its ranks speak NCCL) or `any`."""

    RESERVED: Mapping[str, str]
    """Native paths that the run itself decides, each with the setting to use instead: `agent.rollout`, `seed`…"""

    DIFFERENCES: Mapping[str, tuple[str, ...]]
    """For each algorithm, what the library does in its own way and no setting changes, in words for a person."""

    def translate(self, agent: Agent) -> Config:
        """The library's configuration for a description: every key it knows, with the library's default where the
        description is silent. A key that takes anything has the value None.
        """
        ...

    def mapping(self, agent: Agent) -> list[ParameterMapping]:
        """One row for each parameter of the description, in its order, and one for `seed`."""
        ...


def table(
    agent: Agent,
    config: Config,
    *,
    paths: Mapping[str, str | tuple[str, ...]],
    words: Mapping[str, str],
    short: Mapping[str, Shortfall],
) -> list[ParameterMapping]:
    """Build a mapping table.

    Args:
        agent: The description.
        config: What it was translated to.
        paths: For each parameter that has native settings of its own, their paths.
        words: What is done, for each parameter of which the first of its settings does not tell.
        short: The parameters that are not exact, with quality and reason.
    """
    rows = []
    for parameter in [*(field.name for field in dataclasses.fields(agent)), "seed"]:
        own = paths.get(parameter, ())
        own = (own,) if isinstance(own, str) else own
        native = words.get(parameter) or (f"{own[0]}={get(config, own[0])}" if own else "")
        quality, reason = short.get(parameter, ("exact", ""))
        rows.append(ParameterMapping(parameter=parameter, quality=quality, native=native, reason=reason, paths=own))
    return rows


def leaves(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting of a configuration as dotted path and value; an empty dictionary is a value."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def get(config: Config, path: str) -> Any:
    """The value at a dotted path."""
    value: Any = config
    for key in path.split("."):
        value = value[key]
    return value


def override(config: Config, native: Mapping[str, Any]) -> Config:
    """A copy of a configuration with native settings in it; `native_problems` has refused those it does not know."""
    merged = deepcopy(config)
    for path, value in leaves(native):
        *parents, last = path.split(".")
        node = merged
        for key in parents:
            if node.get(key) is None:  # a key that takes anything
                node[key] = {}
            node = node[key]
        node[last] = value
    return merged


def overridden(rows: list[ParameterMapping], native: Mapping[str, Any]) -> list[ParameterMapping]:
    """The table with the parameters marked that native settings have taken the place of."""
    typed = dict(leaves(native))
    marked = []
    for row in rows:
        taken = [path for path in row.paths if path in typed]
        if taken:
            row = replace(
                row,
                quality="approximate",
                native=", ".join(f"{path}={typed[path]}" for path in taken),
                reason=f"overridden by {', '.join(f'framework.native.{path}' for path in taken)}",
            )
        marked.append(row)
    return marked


def native_problems(name: str, translation: Translation, agent: Agent, native: Mapping[str, Any]) -> list[str]:
    """Every native setting the library does not know or must not be given, one line each."""
    config = translation.translate(agent)
    known = dict(leaves(config))
    found = []
    for path, value in leaves(native):
        shown = f"framework.native.{path}={value}"
        if path in translation.RESERVED:
            found.append(f"{shown}: is decided by the run; set {translation.RESERVED[path]} instead")
        elif path not in known and not _takes_anything(config, path):
            near = difflib.get_close_matches(path, known, n=3, cutoff=0.6)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(config)}"
            found.append(f"{shown}: {name} has no such setting; {hint}")
        elif (expected := _expected(known.get(path), value)) is not None:
            found.append(f"{shown}: must be {expected}")
    return found


def _takes_anything(config: Config, path: str) -> bool:
    """Whether a path leads below a key that takes anything, such as an optional group that is None."""
    node: Any = config
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return False
        node = node[key]
        if node is None or node == {}:
            return True
    return False


def _expected(default: Any, value: Any) -> str | None:
    """What a value must be to stand where `default` does; None where it may."""
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(default, int):
        return None if isinstance(value, int) and not isinstance(value, bool) else "a whole number"
    if isinstance(default, float):
        return None if isinstance(value, int | float) and not isinstance(value, bool) else "a number"
    if isinstance(default, list | tuple):
        return None if isinstance(value, list) or value is None else "a list"
    return None  # a text often stands for one of several kinds of value: "auto", or a number
