"""The contract every physics engine satisfies.

Canonical layout, whatever the engine: joints in the task's declared order, SI units, radians, world-frame velocities
at the link frame origin, quaternions xyzw, positions local to each environment. Effort is the common control.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, kw_only=True)
class BackendCapabilities:
    """What an engine can do; every claim is checked by a contract test.

    Attributes:
        devices: Torch device types it runs on.
        row_reset: Selected rows can be reset while all others stay bitwise unchanged.
        deterministic: The same inputs give bitwise the same states.
        graph_replay: All substeps of a control step are replayed as one recorded graph.
        completion_receipts: A step returns before its work is done and publishes a receipt to wait for.
    """

    devices: tuple[str, ...]
    row_reset: bool
    deterministic: bool
    graph_replay: bool
    completion_receipts: bool = False

    def __post_init__(self) -> None:
        if not self.devices:
            raise ValueError("devices must name at least one torch device type, got ()")
        unknown = set(self.devices) - {"cpu", "cuda"}
        if unknown:
            raise ValueError(f"devices must be 'cpu' or 'cuda', got {sorted(unknown)}")


@dataclass(frozen=True, kw_only=True)
class SceneSpec:
    """The scene an engine is asked to build, one robot per environment.

    Attributes:
        mjcf: Path of the robot's MJCF file.
        joints: Names of its joints in the task's canonical order; each has one degree of freedom.
        num_envs: Environments simulated side by side.
        physics_dt: Physics step [s].
        decimation: Physics steps per control step.
        max_contacts: Contacts per environment the engine must have room for (0: the scene has none).
        max_constraints: Constraint rows per environment the engine must have room for.
    """

    mjcf: str
    joints: tuple[str, ...]
    num_envs: int
    physics_dt: float
    decimation: int
    max_contacts: int
    max_constraints: int


class SimBackend(ABC):
    """One engine simulating `num_envs` copies of a scene.

    Attributes:
        num_envs: Environments.
        device: Torch device of every tensor.
        joint_names: Joint names in canonical order, D of them.
        joint_pos: Joint positions `[N, D]` [rad or m]: a live view (or a refreshed buffer) of the engine's state after
            `step` and `reset_rows`. Read it, never write it.
        joint_vel: Joint velocities `[N, D]` [rad/s or m/s], likewise.
        capabilities: What this engine can do.
    """

    num_envs: int
    device: torch.device
    joint_names: tuple[str, ...]
    joint_pos: torch.Tensor
    joint_vel: torch.Tensor
    capabilities: BackendCapabilities

    @abstractmethod
    def step(self, effort: torch.Tensor) -> None:
        """Advance every environment by one control step (`decimation` physics steps).

        Args:
            effort: Joint efforts `[N, D]` [N or N·m], float32, held over the control step.
        """

    @abstractmethod
    def reset_rows(self, mask: torch.Tensor, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> None:
        """Put rows into a state as if freshly started there; all other rows stay bitwise unchanged.

        Args:
            mask: bool `[N]`, the rows to reset.
            joint_pos: Joint positions `[N, D]` [rad or m]; only the rows of `mask` are used.
            joint_vel: Joint velocities `[N, D]` [rad/s or m/s], likewise.
        """

    def record(self, body: Callable[[], None]) -> Callable[[], None]:
        """Turn a sequence of launches into one call.

        An engine that can records everything `body` launches, its own `step` and `reset_rows` with fixed tensors
        among it, as one graph. Torch operations cannot be part of it. Call it before the first step.

        Returns:
            What repeats `body`; by default `body` itself.
        """
        return body

    @property
    @abstractmethod
    def fault(self) -> torch.Tensor:
        """0-dim float32 tensor on `device`: 0 while the engine is sound, anything else once it lost correctness.

        It covers the engine's own silent failures (an overflowing contact or constraint buffer), so that the
        environment's one host read per step carries them too. Always the same tensor: the engine writes it.
        """

    @abstractmethod
    def describe_fault(self) -> str:
        """What `fault` stands for, with the rows concerned, in a sentence. Cold path."""

    @abstractmethod
    def diagnostics(self) -> dict[str, Any]:
        """Plain-JSON facts about the engine for `run.json` (model sizes, capacities, solver options). Cold path."""

    @abstractmethod
    def close(self) -> None:
        """Release the engine. Calling it twice is harmless."""


def name_rows(rows: list[int]) -> str:
    """Row ids as an error message shows them: all of them up to eight, then an ellipsis."""
    shown = ", ".join(map(str, rows[:8]))
    return f"row {shown}" if len(rows) == 1 else f"rows [{shown}{', …' if len(rows) > 8 else ''}]"
