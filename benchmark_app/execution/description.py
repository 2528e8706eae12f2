"""What a host says of its environments, and the arrays through which a step is told. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from benchmark_app.physics.capabilities import BackendCapabilities

NUMBERS = ("has_final", "has_frozen", "has_success", "simulation_s", "simulation_calls", "kernel_loads")
"""Entries of the board's `numbers`."""
_PLACE_OF = {name: index for index, name in enumerate(NUMBERS)}


TYPES = ("float32", "uint8")
"""What observations are made of."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """One observation group.

    Attributes:
        shape: Of one row: `(dim,)`, or `(height, width, channels)` of an image.
        dtype: NumPy's name of the type: float32 or uint8.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        # It may have come from another process, and NumPy reads more into a text than the name of a type.
        if self.dtype not in TYPES:
            raise ValueError(f"an observation of type {self.dtype}: must be one of {', '.join(TYPES)}")
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1:
            raise ValueError(f"an observation of shape {list(self.shape)}: one to three dimensions, none 0")


@dataclass(frozen=True, kw_only=True)
class Description:
    """What environments are, however many.

    Attributes:
        task: The task's settings, as plain data.
        conventions: What the task's numbers mean (`EnvCfg.conventions`).
        simulator: What simulates: an engine's name, or `gymnasium`.
        simulator_settings: The engine's own settings.
        groups: Observation groups, in order, those of numbers first; `policy` is among them, or an image.
        action_low: Lower bound of each action.
        action_high: Upper bound of each.
        reward_terms: Names of the reward's terms, in order.
        metrics: Names of what is measured of an episode, in order.
        joint_names: The robot's joints; empty where nothing is known of a robot.
        capabilities: What the simulator can do.
        versions: Of what a step is computed with.
    """

    task: dict[str, Any]
    conventions: dict[str, Any]
    simulator: str
    groups: Mapping[str, Group]
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    capabilities: BackendCapabilities
    simulator_settings: dict[str, Any] = field(default_factory=dict)
    reward_terms: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    joint_names: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def num_actions(self) -> int:
        """Actions per row."""
        return len(self.action_low)

    def to_plain(self) -> dict[str, Any]:
        """As plain JSON data, which `from_plain` reads back."""
        return asdict(self)

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Description:
        """Read what `to_plain` gave, whatever lists JSON made of its tuples.

        Raises:
            TypeError: A part is missing, unknown or of another type.
            ValueError: A part has an impossible value.
        """
        groups = {
            str(name): Group(shape=tuple(map(int, group["shape"])), dtype=str(group["dtype"]))
            for name, group in data["groups"].items()
        }
        capabilities = BackendCapabilities(
            **{**data["capabilities"], "devices": tuple(data["capabilities"]["devices"])}
        )
        tuples: dict[str, Any] = {
            name: tuple(map(str, data[name])) for name in ("reward_terms", "metrics", "joint_names")
        }
        tuples |= {name: tuple(map(float, data[name])) for name in ("action_low", "action_high")}
        return cls(**{**data, **tuples, "groups": groups, "capabilities": capabilities})


@dataclass(frozen=True)
class Place:
    """Where one array of a board lies.

    Attributes:
        shape: Its shape.
        dtype: Its type.
        offset: First byte.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int

    @property
    def end(self) -> int:
        """The byte behind its last."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


def places(description: Description, rows: int, parts: int = 1) -> dict[str, Place]:
    """Where the arrays of all rows lie, each aligned to a cache line.

    What every step gives comes first and together: `obs.GROUP`, `reward`, `terminated`, `truncated` and `steps`; then
    what it gives where rows ended: in `final.GROUP` what rows of `final_mask` ended with. In `frozen` stand the rows a
    step passed by; in `is_success`, `metrics` `[N, M]` and `reward_terms` `[N, T]` what the task told of it, while
    reporting is on. `actions` are written by the caller, everything else by the hosts. Which of it is there `numbers`
    tells, by part.
    """
    groups = description.groups.items()
    wanted: dict[str, tuple[tuple[int, ...], str]] = {
        **{f"obs.{name}": (group.shape, group.dtype) for name, group in groups},
        "reward": ((), "float32"),
        "terminated": ((), "bool"),
        "truncated": ((), "bool"),
        "steps": ((), "int64"),
        **{f"final.{name}": (group.shape, group.dtype) for name, group in groups},
        "final_mask": ((), "bool"),
        "frozen": ((), "bool"),
        "is_success": ((), "bool"),
        "metrics": ((len(description.metrics),), "float32"),
        "reward_terms": ((len(description.reward_terms),), "float32"),
        "actions": ((description.num_actions,), "float32"),
    }
    found: dict[str, Place] = {"numbers": Place((parts, len(NUMBERS)), np.dtype("float64"), 0)}
    end = found["numbers"].end
    for name, (shape, dtype) in wanted.items():
        found[name] = Place((rows, *shape), np.dtype(dtype), -(-end // 64) * 64)
        end = found[name].end
    return found


class Board:
    """The arrays through which a host is told what to do in a step, and tells what came of it.

    Several hosts may have parts of one board: the memory then holds the arrays of all rows, and each has its own part.

    Args:
        description: What the environments are.
        rows: How many there are in all.
        buffer: Memory for them, `Board.size` bytes; None: memory of its own.
        part: The host's rows; None: all.
        number: Number of the part.
        parts: How many parts there are.

    Attributes:
        arrays: The host's rows of each array, by name; see `places`. `numbers` are those of its part.
        memory: The memory of all parts, as bytes.
    """

    def __init__(
        self,
        description: Description,
        rows: int,
        buffer: Any = None,
        *,
        part: range | None = None,
        number: int = 0,
        parts: int = 1,
    ) -> None:
        memory = bytearray(self.size(description, rows, parts)) if buffer is None else buffer
        self.memory = np.frombuffer(memory, np.uint8)
        own = slice(0, rows) if part is None else slice(part.start, part.stop)
        self.arrays: dict[str, np.ndarray] = {}
        for name, place in places(description, rows, parts).items():
            whole = np.frombuffer(memory, place.dtype, int(np.prod(place.shape)), place.offset).reshape(place.shape)
            self.arrays[name] = whole[number] if name == "numbers" else whole[own]
        self._numbers = self.arrays["numbers"]

    @staticmethod
    def size(description: Description, rows: int, parts: int = 1) -> int:
        """Bytes a board of all rows takes."""
        return max(place.end for place in places(description, rows, parts).values())

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def number(self, name: str) -> float:
        """An entry of `numbers`."""
        return float(self._numbers[_PLACE_OF[name]])

    def tell(self, **values: float) -> None:
        """Set entries of `numbers`."""
        for name, value in values.items():
            self._numbers[_PLACE_OF[name]] = value


def split(rows: int, parts: int) -> list[range]:
    """Rows dealt to parts, neighbours together, as evenly as can be.

    Raises:
        ValueError: There are fewer rows than parts.
    """
    if rows < parts:
        raise ValueError(f"num_envs={rows}: fewer than the {parts} processes they are split over")
    bounds = [rows * part // parts for part in range(parts + 1)]
    return [range(first, last) for first, last in pairwise(bounds)]
