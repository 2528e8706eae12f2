"""What a person wants to see of an environment, as plain data: from where, how large, and what is drawn over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from .camera import CameraSpec, Vector

PrimitiveKind = Literal["sphere", "line", "arrow"]
LAYOUTS = ("grid",)
"""How environments are laid out."""


@dataclass(frozen=True, kw_only=True)
class CameraCfg:
    """A camera that looks at a point, +z up in the picture.

    Attributes:
        position: Where it stands [m], in the frame of each environment it shows.
        target: The point in the middle of the picture [m], likewise.
        fov: Vertical field of view [deg], between 0 and 180.
        env_index: The environment it shows, alone; None: all of them.

    Raises:
        ValueError: A value is outside its range; the message names it.
    """

    position: Vector
    target: Vector
    fov: float = 45.0
    env_index: int | None = None

    def __post_init__(self) -> None:
        _require_point("position", self.position)
        _require_point("target", self.target)
        if tuple(self.position) == tuple(self.target):
            raise ValueError(f"target={self.target}: must differ from position")
        if not 0 < self.fov < 180:
            raise ValueError(f"fov={self.fov}: must be between 0 and 180 degrees")
        if self.env_index is not None and self.env_index < 0:
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
    """How an environment is to be shown.

    In a frame each row has a picture of its own, side by side in a grid. In a window all rows stand in one scene.

    Attributes:
        render_spacing: Distance between neighbouring environments in a window [m]; None: as the scene's extent asks.
        render_offset_mode: How environments are laid out, one of `LAYOUTS`; None: the first.
        headless: No window.
        capture: Frames will be captured.
        width: Width of a frame, and of a window [px].
        height: Height, likewise.
        camera: Where from; None: as the task is looked at.

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
        if self.render_spacing is not None and self.headless:
            raise ValueError(
                f"render_spacing={self.render_spacing}: in a frame each environment has a picture of its own, so that "
                "there is no distance between them; leave it out"
            )
        if self.render_offset_mode not in (None, *LAYOUTS):
            raise ValueError(
                f"render_offset_mode={self.render_offset_mode!r}: choose one of {', '.join(LAYOUTS)}, or None"
            )
        for name in ("width", "height"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1 pixel")


def seen_from(view: CameraSpec, position: Vector, target: Vector) -> CameraSpec:
    """A camera that stands still elsewhere, and is otherwise as it was.

    Raises:
        ValueError: From there it sees nothing; the message says why.
    """
    straight_down = tuple(position[:2]) == tuple(target[:2])
    up = (0.0, 1.0, 0.0) if straight_down else (0.0, 0.0, 1.0)
    return replace(view, position=position, target=target, up=up, link=None)


def _require_point(name: str, value: Any) -> None:
    if len(value) != 3 or not all(math.isfinite(part) for part in value):
        raise ValueError(f"{name}={value}: must be three finite numbers")
