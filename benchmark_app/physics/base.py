"""The contract every physics engine satisfies.

Canonical layout, whatever the engine: joints in the task's declared order, SI units, radians, world-frame velocities
at the link frame origin, quaternions xyzw, positions local to each environment. Effort is the common control; where a
scene has a PD law, the law is ours and runs at every physics step, so that engines are compared on the same controller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .capabilities import BackendCapabilities
from .playback import EnvPlayCapabilities, PhysicsStateLayout, cannot
from .scene import RobotFacts

RECEIPT_VERSION = 1
"""What the fields of a `CompletionToken` mean; a reader refuses any other."""


@dataclass(frozen=True)
class CompletionToken:
    """Receipt for a step whose work may still be running on the device.

    This class only says which step it was. An engine that computes behind the caller's back gives a subclass that
    holds what to wait for.

    Attributes:
        version: `RECEIPT_VERSION`.
        producer_id: The engine that gave it.
        sequence: Counts the producer's receipts; each is larger than all before it.

    Raises:
        TypeError: A field is of another type.
        ValueError: A negative sequence.
    """

    version: int
    producer_id: str
    sequence: int

    def __post_init__(self) -> None:
        for name, kind in (("version", int), ("producer_id", str), ("sequence", int)):
            if type(getattr(self, name)) is not kind:  # a bool is no number here
                raise TypeError(f"{name}: expected {kind.__name__}, got {getattr(self, name)!r}")
        if self.sequence < 0:
            raise ValueError(f"sequence={self.sequence}: must not be negative")

    def wait_before_read(self, stream: torch.cuda.Stream | None = None) -> None:
        """Have a stream wait until the step's outputs are there; the host does not wait.

        Args:
            stream: The stream that will read; None: torch's current one.

        Raises:
            RuntimeError: A receipt of another version.
        """
        if self.version != RECEIPT_VERSION:
            raise RuntimeError(
                f"a completion receipt of version {self.version}; version {RECEIPT_VERSION} is understood"
            )


class SimBackend(ABC):
    """One engine simulating `num_envs` copies of a scene.

    State tensors are live views (or refreshed buffers) of the engine's state after `step` and `reset_rows`. Read
    them, never write them.

    Attributes:
        num_envs: Environments.
        device: Torch device of every tensor.
        joint_names: Joint names in canonical order, D of them.
        link_names: Names of the links of `link_pose` and `link_vel`, L of them.
        body_names: Names of every body whose pose `body_poses` tells, among them all that can move.
        joint_pos: Joint positions `[N, D]` [rad or m]. Engines keep the angle of an unlimited hinge within some whole
            turns, each its own way: a task that lets one turn wraps it.
        joint_vel: Joint velocities `[N, D]` [rad/s or m/s].
        root_pose: Pose of the root link of a floating robot `[N, 7]`: position [m], quaternion xyzw; None: fixed.
        root_vel: Its velocity `[N, 6]`: of the link frame's origin [m/s], then angular [rad/s], world axes; or None.
        link_pose: Poses of the scene's links `[N, L, 7]`, likewise.
        link_vel: Their velocities `[N, L, 6]`, likewise.
        capabilities: What this engine can do.
        first_row: Number of the first row, where the rows are a part of more; messages name rows by these numbers.
    """

    num_envs: int
    device: torch.device
    joint_names: tuple[str, ...]
    link_names: tuple[str, ...] = ()
    body_names: tuple[str, ...] = ()
    joint_pos: torch.Tensor
    joint_vel: torch.Tensor
    root_pose: torch.Tensor | None = None
    root_vel: torch.Tensor | None = None
    link_pose: torch.Tensor
    link_vel: torch.Tensor
    capabilities: BackendCapabilities
    first_row: int = 0

    @property
    def robot_state(self) -> dict[str, torch.Tensor]:
        """The state a row can be reset to: `joint_pos`, `joint_vel`, and of a floating robot `root_pose`, `root_vel`.

        In the order in which `reset_rows` takes them.
        """
        state = {"joint_pos": self.joint_pos, "joint_vel": self.joint_vel}
        if self.root_pose is not None and self.root_vel is not None:
            state |= {"root_pose": self.root_pose, "root_vel": self.root_vel}
        return state

    def given_state(self, *parts: torch.Tensor | None) -> list[torch.Tensor]:
        """The tensors `reset_rows` was given, those of the root only where there is one.

        Raises:
            ValueError: They are not those of `robot_state`.
        """
        given = [part for part in parts if part is not None]
        if len(given) != len(self.robot_state):
            raise ValueError(
                f"reset_rows: expected {', '.join(self.robot_state)} of this robot, got {len(given)} tensors"
            )
        return given

    @abstractmethod
    def step(self, control: torch.Tensor) -> None:
        """Advance every environment by one control step (`decimation` physics steps).

        Args:
            control: `[N, D]` float32, held over the control step: joint efforts [N or N·m], or target positions
                [rad or m] where the scene has an actuator.
        """

    @abstractmethod
    def reset_rows(
        self,
        mask: torch.Tensor,
        joint_pos: torch.Tensor,
        joint_vel: torch.Tensor,
        root_pose: torch.Tensor | None = None,
        root_vel: torch.Tensor | None = None,
    ) -> None:
        """Put rows into a state as if freshly started there; all other rows stay bitwise unchanged.

        Args:
            mask: bool `[N]`, the rows to reset.
            joint_pos: Joint positions `[N, D]` [rad or m]; only the rows of `mask` are used.
            joint_vel: Joint velocities `[N, D]` [rad/s or m/s], likewise.
            root_pose: Root poses `[N, 7]`, likewise; of a floating robot always, of a fixed one never.
            root_vel: Root velocities `[N, 6]`, likewise.
        """

    def record(self, body: Callable[[], None]) -> Callable[[], None]:
        """Turn a sequence of launches into one call.

        An engine that can records everything `body` launches, its own `step` and `reset_rows` with fixed tensors
        among it, as one graph. Torch operations cannot be part of it. An engine that must run `body` to record it puts
        its own state back; the caller sees to the rest.

        Returns:
            What repeats `body`; by default `body` itself.
        """
        return body

    def receipt(self) -> CompletionToken | None:
        """Receipt for all that was launched so far on torch's current stream; None from an engine that promises none.

        Asked for once per step where `capabilities.completion_receipts` is set, after everything else.
        """
        return None

    def export_state(self) -> dict[str, torch.Tensor]:
        """What the engine carries from one step to the next, in copies on the CPU, each with N rows. Cold path.

        By default the joint state only, and `capabilities.exact_state` must be False where an engine carries more.
        """
        return {name: tensor.cpu().clone() for name, tensor in self.robot_state.items()}

    def import_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from what `export_state` gave in an engine of the same scene and size. Cold path.

        Args:
            state: The same names, shapes and types; the caller has checked them.
        """
        everywhere = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)
        self.reset_rows(everywhere, *(state[name].to(self.device) for name in self.robot_state))

    def body_poses(self, names: tuple[str, ...]) -> torch.Tensor:
        """Where bodies are now, after a reset too: for pictures, not for what is measured in every step.

        Args:
            names: Some of `body_names`.

        Returns:
            Poses local to each environment `[N, len(names), 7]`: position [m], quaternion xyzw; the caller's.

        Raises:
            NotImplementedError: The engine tells of its links only.
        """
        raise NotImplementedError(f"{type(self).__name__} does not tell where its bodies are")

    @property
    @abstractmethod
    def fault(self) -> torch.Tensor:
        """0-dim float32 tensor on `device`: 0 while the engine is sound, anything else once it lost correctness.

        It covers the engine's own silent failures (an overflowing contact or constraint buffer) that are not allowed
        by name, so that the environment's one host read per step carries them too. Always the same tensor: the engine
        writes it.
        """

    def clear_fault(self) -> None:
        """Forget a fault, because every row is about to be reset."""
        self.fault.zero_()

    @abstractmethod
    def describe_fault(self) -> str:
        """What `fault` stands for, with the rows concerned, in a sentence. Cold path."""

    @abstractmethod
    def robot_facts(self) -> RobotFacts:
        """What the engine simulates, read back from it rather than from the robot's file. Cold path."""

    def warning_counts(self) -> dict[str, int]:
        """How often the engine counted each warning of its catalogue entry so far, by name; rows concerned, not steps.

        Cold path. What it only prints is found in its output, not here.
        """
        return {}

    @abstractmethod
    def diagnostics(self) -> dict[str, Any]:
        """Plain-JSON facts about the engine for `run.json` (model sizes, capacities, solver options). Cold path."""

    @abstractmethod
    def close(self) -> None:
        """Release the engine. Calling it twice is harmless."""

    # Playback. What an engine declares of its state in `play_capabilities` it implements here; pictures are drawn from
    # its bodies (`rendering.play`), so that one that tells their poses declares what `playback.DRAWN` has.

    play_capabilities: EnvPlayCapabilities = EnvPlayCapabilities()

    def get_physics_state_snapshot(self, time: np.ndarray) -> np.ndarray:
        """The physics state of every row, as numbers that nothing changes later.

        Args:
            time: Time since each row's episode began, float64 `[N]` [s]. The caller's, because engines count time in
                float32, which cannot add a physics step of 1 ms to 10 hours, and a row reset leaves it running.

        Returns:
            float64 `[N, state_width]`, columns as in `get_physics_state_layout`; float32 values are kept exactly.
        """
        raise cannot(self, "give its physics state", "supports_physics_state_playback")

    def get_physics_state_layout(self) -> PhysicsStateLayout:
        """The columns of a snapshot."""
        raise cannot(self, "give its physics state", "supports_physics_state_playback")

    def get_playback_model(self, env_index: int | None = None) -> Any:
        """The engine's own model of one environment, to replay snapshots on; joints are matched by name.

        Args:
            env_index: The environment; None: any, where all have the same model.
        """
        raise cannot(self, "give a model for playback", "supports_physics_state_playback")

    def get_playback_mocap_state(self, env_index: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the mocap bodies' positions `[nmocap, 3]` [m] and orientations `[nmocap, 4]` (xyzw)."""
        raise cannot(self, "play mocap bodies", "supports_mocap_playback")

    def get_scene_visual_model_file(self) -> str | None:
        """Path of the file that shows what the scene looks like; None where there is none."""
        return None


def name_rows(rows: list[int]) -> str:
    """Row ids as an error message shows them: all of them up to eight, then an ellipsis."""
    shown = ", ".join(map(str, rows[:8]))
    return f"row {shown}" if len(rows) == 1 else f"rows [{shown}{', …' if len(rows) > 8 else ''}]"
