"""Reference results: what a task's tuned settings gave, with what is needed to get it again.

A task's folder has them in `reference.json`; `check` writes the file and holds new runs to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

FORMAT = 1

Interval = list[float]
"""Two numbers, the lower first."""


class ReferenceFileError(ValueError):
    """A file of reference results cannot be used; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class RandomPolicy:
    """What random actions get: what a policy must beat to have learned anything.

    Attributes:
        n_episodes: Episodes played.
        avg_sum_reward: Mean return.
        standard_error: Of that mean.
    """

    n_episodes: int
    avg_sum_reward: float
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """One training and the play of its policy.

    Attributes:
        seed: Seed of both.
        training_s: Wall time of the training [s].
        last_tenth_reward: Mean of the training's learning curve over the last tenth of its iterations.
        n_episodes: Episodes played.
        n_success: How many of them succeeded; None: the task knows no success.
        pc_success: The same in per cent.
        pc_success_ci95: Wilson's 95 % interval [%] over these episodes.
        avg_sum_reward: Mean return.
        avg_max_reward: Mean over episodes of the largest reward of a step.
        metrics: Means of what the task measures, over the episodes that have a value.
    """

    seed: int
    training_s: float
    last_tenth_reward: float | None
    n_episodes: int
    n_success: int | None
    pc_success: float | None
    pc_success_ci95: Interval | None
    avg_sum_reward: float
    avg_max_reward: float | None
    metrics: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class OverSeeds:
    """A number over several trainings.

    Attributes:
        mean: Over the seeds.
        ci95: Student's 95 % interval of the mean, of a share within 0 and 100 %; None with one seed.
    """

    mean: float
    ci95: Interval | None


@dataclass(frozen=True, kw_only=True)
class ReferenceResult:
    """What one library on one engine made of a task, over several seeds.

    Attributes:
        framework: The RL library.
        agent: The agent.
        physics: The engine.
        device: cpu or cuda.
        command: What to type to get it again: it trains and plays every seed.
        measured_on: The day, `YYYY-MM-DD`.
        revision: Commit of this project, "" where it was not known.
        dirty: The tree had changes that are in no commit.
        num_envs: Environments trained side by side.
        iterations: Training iterations.
        frames: Environment steps per training.
        versions: Of this project, of Python, of the library and the engine, by name.
        hardware: The machine, without its name.
        random: Random actions on the same task and engine; None: not measured.
        seeds: The trainings.
        over_seeds: `pc_success` and `avg_sum_reward` over the trainings. Episodes of different trainings are never
            pooled.
        expected: Lowest and highest mean over the same seeds that counts as the same result, by the same names.
        basis: Where these bounds come from.
    """

    framework: str
    agent: str
    physics: str
    device: str
    command: str
    measured_on: str
    revision: str
    dirty: bool
    num_envs: int
    iterations: int
    frames: int
    versions: Mapping[str, str]
    hardware: Mapping[str, Any]
    random: RandomPolicy | None
    seeds: list[SeedResult]
    over_seeds: Mapping[str, OverSeeds]
    expected: Mapping[str, Interval]
    basis: str


def read_reference(path: Path) -> list[ReferenceResult]:
    """Read a task's reference results; none where there is no such file.

    Raises:
        ReferenceFileError: The file cannot be read or holds something else; the message names the key.
    """
    if not path.exists():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReferenceFileError(f"{path}: cannot be read ({error})") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("results"), list):
        raise ReferenceFileError(f"{path}: expected an object with format {FORMAT} and a list of results")
    try:
        return [_record(ReferenceResult, entry, f"results[{i}]") for i, entry in enumerate(data["results"])]
    except ValueError as error:
        raise ReferenceFileError(f"{path}: {error}") from error


R = TypeVar("R")


def _record(kind: type[R], data: Any, where: str) -> R:
    """A dataclass from an object with exactly its fields."""
    if not isinstance(data, dict):
        raise ValueError(f"{where}: expected an object")
    hints = get_type_hints(kind)
    known = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]
    for key in [*(key for key in data if key not in known), *(key for key in known if key not in data)]:
        raise ValueError(f"{where}.{key}: {'is missing' if key in known else 'is unknown'}")
    return kind(**{key: _value(hints[key], data[key], f"{where}.{key}") for key in known})


def _value(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is UnionType:
        kind = next(part for part in get_args(kind) if part is not type(None))
        if value is None:
            return None
    if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__"):
        return _record(kind, value, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list and isinstance(value, list):
        if kind == Interval and len(value) != 2:
            raise ValueError(f"{where}: expected the lower and the upper bound")
        return [_value(inner[0], entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    if origin is Mapping and isinstance(value, dict):
        return {key: _value(inner[1], entry, f"{where}.{key}") for key, entry in value.items()}
    if kind is Any:
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if origin is not None or type(value) is not kind or (kind is float and not math.isfinite(value)):
        name = {dict: "an object", list: "a list"}.get(origin, getattr(kind, "__name__", str(kind)))
        raise ValueError(f"{where}: expected {name}, got {value!r}")
    return value
