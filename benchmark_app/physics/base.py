"""The contract every physics engine satisfies.

Canonical layout, whatever the engine: joints in the task's declared order, SI units, radians, world-frame velocities
at the link frame origin, quaternions xyzw, positions local to each environment. Effort is the common control.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .playback import DebugOverlay, EnvPlayCapabilities, PhysicsStateLayout, PlayRendererCfg, cannot


@dataclass(frozen=True, kw_only=True)
class BackendCapabilities:
    """What an engine can do; every claim is checked by a contract test.

    Attributes:
        devices: Torch device types it runs on.
        row_reset: Selected rows can be reset while all others stay bitwise unchanged.
        deterministic: The same inputs give bitwise the same states.
        graph_replay: All substeps of a control step are replayed as one recorded graph.
        completion_receipts: A step returns before its work is done; `receipt` then gives what to wait for.
        exact_state: After `import_state` of what `export_state` gave, every later step is bitwise the same.
    """

    devices: tuple[str, ...]
    row_reset: bool
    deterministic: bool
    graph_replay: bool
    completion_receipts: bool = False
    exact_state: bool = False

    def __post_init__(self) -> None:
        if not self.devices:
            raise ValueError("devices must name at least one torch device type, got ()")
        unknown = set(self.devices) - {"cpu", "cuda"}
        if unknown:
            raise ValueError(f"devices must be 'cpu' or 'cuda', got {sorted(unknown)}")


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
        return {"joint_pos": self.joint_pos.cpu().clone(), "joint_vel": self.joint_vel.cpu().clone()}

    def import_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue from what `export_state` gave in an engine of the same scene and size. Cold path.

        Args:
            state: The same names, shapes and types; the caller has checked them.
        """
        everywhere = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)
        self.reset_rows(everywhere, state["joint_pos"].to(self.device), state["joint_vel"].to(self.device))

    @property
    @abstractmethod
    def fault(self) -> torch.Tensor:
        """0-dim float32 tensor on `device`: 0 while the engine is sound, anything else once it lost correctness.

        It covers the engine's own silent failures (an overflowing contact or constraint buffer), so that the
        environment's one host read per step carries them too. Always the same tensor: the engine writes it.
        """

    def clear_fault(self) -> None:
        """Forget a fault, because every row is about to be reset."""
        self.fault.zero_()

    @abstractmethod
    def describe_fault(self) -> str:
        """What `fault` stands for, with the rows concerned, in a sentence. Cold path."""

    @abstractmethod
    def diagnostics(self) -> dict[str, Any]:
        """Plain-JSON facts about the engine for `run.json` (model sizes, capacities, solver options). Cold path."""

    @abstractmethod
    def close(self) -> None:
        """Release the engine. Calling it twice is harmless."""

    # Playback. What an engine declares in `play_capabilities` it implements here.

    play_capabilities: EnvPlayCapabilities = EnvPlayCapabilities()

    def init_play_renderer(self, cfg: PlayRendererCfg) -> None:
        """Make the renderer, or make it anew with other settings."""
        raise cannot(self, "render", "supports_native_video_capture or supports_native_interactive_renderer")

    def show_play_frame(self, physics_state: np.ndarray | None = None, overlay: DebugOverlay | None = None) -> bool:
        """Show a frame in the window.

        Args:
            physics_state: Snapshots `[N, state_width]` to show; None: the engine's present state.
            overlay: What to draw over it.

        Returns:
            Whether the window is still open.
        """
        raise cannot(self, "open a window", "supports_native_interactive_renderer")

    def capture_play_frame(
        self, physics_state: np.ndarray | None = None, overlay: DebugOverlay | None = None
    ) -> np.ndarray:
        """Draw a frame off screen; arguments as in `show_play_frame`.

        Returns:
            uint8 `[height, width, 3]`, RGB, the top row first.
        """
        raise cannot(self, "capture video frames", "supports_native_video_capture")

    def open_play_video(self, path: str, fps: float) -> AbstractContextManager[Callable[[np.ndarray], None]]:
        """Write a video frame by frame.

        Args:
            path: File to write.
            fps: Frames per second of the video.

        Returns:
            A context that gives what takes the next frame. Left normally, the file is complete; left by an exception,
            there is no file.
        """
        raise cannot(self, "record a video", "supports_native_video_capture")

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
