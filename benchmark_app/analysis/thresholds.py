"""What counts as a change: the policy and each metric's minimum effect, from the packaged file and a user's own."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from benchmark_app.analysis.verdict import Policy

PACKAGED = Path(__file__).with_name("thresholds.toml")

_ABOVE_0_BELOW_1 = ("significance", "confidence", "power")
_AT_LEAST = {"min_runs": 2, "min_history": 3}


class ThresholdError(ValueError):
    """A thresholds file cannot be used; the message names the file, the key, its value and what was expected."""


@dataclass(frozen=True)
class Thresholds:
    """The rules of one comparison.

    Args:
        policy: What counts as proof.
        min_effect: Smallest change that matters, by metric, as a fraction or in points.
        ignored: Metrics that are never judged.
    """

    policy: Policy
    min_effect: Mapping[str, float]
    ignored: frozenset[str]


def load_thresholds(defaults: Mapping[str, float], path: str | Path | None = None) -> Thresholds:
    """Read the packaged file, and a user's over it.

    Args:
        defaults: Every known metric and the minimum effect the registry gives it.
        path: The user's file, if any.

    Raises:
        ThresholdError: A file cannot be read, or holds an unknown key, an unknown metric or an impossible value.
    """
    files = [PACKAGED] if path is None else [PACKAGED, Path(path)]
    policy: dict[str, Any] = {}
    effects: dict[str, float] = {}
    ignored: set[str] = set()
    for file in files:
        content = _read(file)
        policy |= _policy(file, content["policy"])
        # The user's patterns go first, so that they win over the packaged ones.
        effects = _effects(file, content["min_effect"], defaults) | {
            name: value for name, value in effects.items() if name not in content["min_effect"]
        }
        ignored |= _ignored(file, content["ignore"], defaults)
    return Thresholds(
        policy=Policy(**policy),
        min_effect={name: _effect(name, effects, default) for name, default in defaults.items()},
        ignored=frozenset(ignored),
    )


def as_toml(thresholds: Thresholds) -> str:
    """The rules as a complete file that `load_thresholds` reads back."""
    lines = ["[policy]", *(f"{key} = {value!r}" for key, value in dataclasses.asdict(thresholds.policy).items())]
    lines += ["", "[min_effect]", *(f'"{name}" = {value!r}' for name, value in thresholds.min_effect.items())]
    names = ", ".join(f'"{name}"' for name in sorted(thresholds.ignored))
    return "\n".join([*lines, "", "[ignore]", f"metrics = [{names}]", ""])


def _read(file: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ThresholdError(f"--thresholds {file}: {error.strerror or error}") from error
    except ValueError as error:
        raise ThresholdError(f"--thresholds {file}: not TOML: {error}") from error
    known = ("policy", "min_effect", "ignore")
    for key, value in content.items():
        if key not in known:
            raise ThresholdError(f"--thresholds {file}: {key}: no such table; known: {', '.join(known)}")
        if not isinstance(value, dict):
            raise ThresholdError(f"--thresholds {file}: {key} = {value!r}: expected a table, written [{key}]")
    return {key: content.get(key, {}) for key in known}


def _policy(file: Path, table: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in dataclasses.fields(Policy)}
    for key, value in table.items():
        where = f"--thresholds {file}: policy.{key} = {value!r}"
        if key not in known:
            raise ThresholdError(f"{where}: no such key; known: {', '.join(sorted(known))}")
        if key in _AT_LEAST:
            if type(value) is not int or value < _AT_LEAST[key]:
                raise ThresholdError(f"{where}: expected a whole number of at least {_AT_LEAST[key]}")
        elif not _is_number(value) or not 0 <= value < 1 or (value == 0 and key in _ABOVE_0_BELOW_1):
            low = "above 0" if key in _ABOVE_0_BELOW_1 else "of at least 0"
            raise ThresholdError(f"{where}: expected a number {low} and below 1")
    return table


def _effects(file: Path, table: dict[str, Any], known: Iterable[str]) -> dict[str, float]:
    for name, value in table.items():
        where = f"--thresholds {file}: min_effect.{name} = {value!r}"
        if not _matching(name, known):
            raise ThresholdError(f"{where}: no such metric; `compare --show-thresholds` lists them")
        if not _is_number(value) or not 0 < value < 100:
            raise ThresholdError(f"{where}: expected a fraction above 0, such as 0.05 for 5 %")
    return {name: float(value) for name, value in table.items()}


def _ignored(file: Path, table: dict[str, Any], known: Iterable[str]) -> set[str]:
    for key in table:
        if key != "metrics":
            raise ThresholdError(f"--thresholds {file}: ignore.{key}: no such key; known: metrics")
    names = table.get("metrics", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ThresholdError(f"--thresholds {file}: ignore.metrics = {names!r}: expected a list of names")
    found: set[str] = set()
    for name in names:
        matching = _matching(name, known)
        if not matching:
            raise ThresholdError(
                f"--thresholds {file}: ignore.metrics: {name}: no such metric; `compare --show-thresholds` lists them"
            )
        found |= matching
    return found


def _effect(name: str, effects: Mapping[str, float], default: float) -> float:
    if name in effects:
        return effects[name]
    return next((value for pattern, value in effects.items() if fnmatchcase(name, pattern)), default)


def _matching(pattern: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if fnmatchcase(name, pattern)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
