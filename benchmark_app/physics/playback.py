"""What an engine can show of itself, and the types it is asked with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

Vector: TypeAlias = tuple[float, float, float]
PrimitiveKind = Literal["sphere", "line", "arrow"]


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


@dataclass(frozen=True, kw_only=True)
class CameraCfg:
    """A camera that looks at a point, +z up in the picture.

    Attributes:
        position: Where it stands [m], in the frame of the environment `env_index`.
        target: The point in the middle of the picture [m], likewise.
        fov: Vertical field of view [deg], between 0 and 180.
        env_index: The environment whose frame is meant.

    Raises:
        ValueError: A value is outside its range; the message names it.
    """

    position: Vector
    target: Vector
    fov: float = 45.0
    env_index: int = 0

    def __post_init__(self) -> None:
        _require_point("position", self.position)
        _require_point("target", self.target)
        if tuple(self.position) == tuple(self.target):
            raise ValueError(f"target={self.target}: must differ from position")
        if not 0 < self.fov < 180:
            raise ValueError(f"fov={self.fov}: must be between 0 and 180 degrees")
        if self.env_index < 0:
            raise ValueError(f"env_index={self.env_index}: must not be negative")


@dataclass(frozen=True, kw_only=True)
class DebugPrimitive:
    """A shape drawn over the scene.

    Attributes:
        kind: `"sphere"`, `"line"` or `"arrow"`.
        start: Centre of the sphere, or where the line or arrow starts [m], in the frame of its environment.
        end: Where a line or arrow ends [m], likewise; None for a sphere.
        size: Radius of the sphere, or thickness of the line or arrow [m].
        color: Red, green, blue and opacity, each from 0 to 1.

    Raises:
        ValueError: A value is outside its range, or `end` does not go with `kind`; the message names it.
    """

    kind: PrimitiveKind
    start: Vector
    end: Vector | None = None
    size: float = 0.02
    color: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if self.kind not in get_args(PrimitiveKind):
            raise ValueError(f"kind={self.kind!r}: choose one of {', '.join(get_args(PrimitiveKind))}")
        _require_point("start", self.start)
        if (self.end is None) != (self.kind == "sphere"):
            raise ValueError(f"end={self.end}: a line or an arrow has an end, a sphere has none (kind={self.kind!r})")
        if self.end is not None:
            _require_point("end", self.end)
        if not (math.isfinite(self.size) and self.size > 0):
            raise ValueError(f"size={self.size}: must be a length greater than 0")
        if len(self.color) != 4 or not all(0 <= part <= 1 for part in self.color):
            raise ValueError(f"color={self.color}: must be four numbers from 0 to 1")


DebugOverlay: TypeAlias = Sequence[Sequence[DebugPrimitive] | None]
"""For each environment, what is drawn in it; None: nothing."""

DebugOverlayGetter: TypeAlias = Callable[[], DebugOverlay | None]
"""Asked before each frame is drawn; None: nothing is drawn anywhere."""


@dataclass(frozen=True, kw_only=True)
class PlayRendererCfg:
    """How an engine is to show itself.

    Attributes:
        render_spacing: Distance between neighbouring environments in the picture [m]; None: the engine's own.
        render_offset_mode: How environments are laid out, one of the engine's own names; None: its default.
        headless: No window.
        capture: Frames will be captured.
        width: Width of a frame [px].
        height: Height of a frame [px].
        camera: Where from; None: the engine's default.

    Raises:
        ValueError: A value is outside its range; the message names it.
    """

    render_spacing: float | None = None
    render_offset_mode: str | None = None
    headless: bool = False
    capture: bool = False
    width: int = 1280
    height: int = 720
    camera: CameraCfg | None = None

    def __post_init__(self) -> None:
        if self.render_spacing is not None and not (math.isfinite(self.render_spacing) and self.render_spacing > 0):
            raise ValueError(f"render_spacing={self.render_spacing}: must be a length greater than 0, or None")
        for name in ("width", "height"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1 pixel")


def _require_point(name: str, value: Any) -> None:
    if len(value) != 3 or not all(math.isfinite(part) for part in value):
        raise ValueError(f"{name}={value}: must be three finite numbers")
