"""What an engine can show of itself, and its physics state as numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, kw_only=True)
class EnvPlayCapabilities:
    """What can be shown or recorded, declared rather than tried; nothing by default.

    Attributes:
        supports_native_interactive_renderer: A window shows the engine's state while it runs.
        supports_interactive_camera: That window accepts a camera profile; otherwise the camera is its user's alone.
        supports_interactive_debug_overlay: That window draws debug primitives.
        supports_native_video_capture: Frames can be captured and written as a video, without a display.
        supports_debug_overlay: Captured frames show debug primitives.
        supports_physics_state_playback: Snapshots of the physics state and a model to replay them on exist.
        supports_mocap_playback: The snapshots include bodies driven by motion capture.

    Raises:
        TypeError: A value is not a bool.
        ValueError: A capability is declared without the one it needs.
    """

    supports_native_interactive_renderer: bool = False
    supports_interactive_camera: bool = False
    supports_interactive_debug_overlay: bool = False
    supports_native_video_capture: bool = False
    supports_debug_overlay: bool = False
    supports_physics_state_playback: bool = False
    supports_mocap_playback: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            if not isinstance(value := getattr(self, field.name), bool):
                raise TypeError(f"{field.name}={value!r}: must be True or False")
        for name, needed in _NEEDS.items():
            if getattr(self, name) and not getattr(self, needed):
                raise ValueError(f"{name}=True needs {needed}=True")


_NEEDS = {
    "supports_interactive_camera": "supports_native_interactive_renderer",
    "supports_interactive_debug_overlay": "supports_native_interactive_renderer",
    "supports_debug_overlay": "supports_native_video_capture",
    "supports_mocap_playback": "supports_physics_state_playback",
}


DRAWN = EnvPlayCapabilities(
    supports_native_interactive_renderer=True,
    supports_interactive_camera=True,
    supports_interactive_debug_overlay=True,
    supports_native_video_capture=True,
    supports_debug_overlay=True,
)
"""What can be shown of every engine that tells where its bodies are (`SimBackend.body_poses`)."""


def cannot(backend: object, action: str, capability: str) -> NotImplementedError:
    """The error of an engine asked for what it does not declare."""
    return NotImplementedError(f"{type(backend).__name__} cannot {action}: it does not declare {capability}")


class PhysicsState(NamedTuple):
    """The parts of a snapshot; leading dimensions are those of the snapshot.

    Attributes:
        time: Time since the episode began `[...]` [s].
        qpos: Positions `[..., nq]` [rad or m].
        qvel: Velocities `[..., nv]` [rad/s or m/s].
        mocap_pos: Positions of the mocap bodies `[..., nmocap, 3]` [m], local to the environment.
        mocap_quat: Their orientations `[..., nmocap, 4]`, xyzw.
    """

    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    mocap_pos: np.ndarray
    mocap_quat: np.ndarray


@dataclass(frozen=True, kw_only=True)
class PhysicsStateLayout:
    """The columns of a snapshot: time, `nq` positions, `nv` velocities, then `nmocap` positions and orientations.

    Of a floating robot the root comes first, before the joints: its pose (position, quaternion xyzw) among the
    positions, its velocity (of the link frame's origin, then angular, world axes) among the velocities.

    Attributes:
        joint_names: Joints in the order of their columns, the task's own.
        nq: Coordinates: 7 of a floating root, then those of the joints.
        nv: Velocities: 6 of a floating root, then those of the joints.
        nmocap: Bodies driven by motion capture.
        floating: The root is free.
    """

    joint_names: tuple[str, ...]
    nq: int
    nv: int
    nmocap: int = 0
    floating: bool = False

    @property
    def state_width(self) -> int:
        """Columns of a snapshot."""
        return 1 + self.nq + self.nv + 7 * self.nmocap

    def split_state(self, state: np.ndarray) -> PhysicsState:
        """Name the parts of a snapshot, as views of it.

        Args:
            state: Snapshots `[..., state_width]`.

        Raises:
            ValueError: The last dimension is not `state_width`.
        """
        if not state.ndim or state.shape[-1] != self.state_width:
            raise ValueError(f"state: expected shape [..., {self.state_width}], got {list(state.shape)}")
        ends = np.cumsum([1, self.nq, self.nv, 3 * self.nmocap])
        time, qpos, qvel, mocap_pos, mocap_quat = np.split(state, ends, axis=-1)
        rows = state.shape[:-1]
        return PhysicsState(
            time[..., 0],
            qpos,
            qvel,
            mocap_pos.reshape(*rows, self.nmocap, 3),
            mocap_quat.reshape(*rows, self.nmocap, 4),
        )
