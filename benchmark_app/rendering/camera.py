"""Cameras as plain data: where they stand, what they see and what they give. Nothing is imported for it.

A camera's frame is OpenGL's: it looks along -z, +x is to the right in the picture and +y is up. Pictures have their
top row first. The camera is a pinhole with square pixels; the pixel in row i and column j is the square from (j, i) to
(j + 1, i + 1), is seen through its centre, and the optical axis goes through (width / 2, height / 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]

DATA_TYPES = ("rgb", "depth")
MOST_PIXELS = 8192  # on a side


@dataclass(frozen=True, kw_only=True)
class CameraSpec:
    """One camera in every environment.

    Attributes:
        name: What it is called; in an environment no two are called the same.
        width: Width of its picture [px].
        height: Height [px].
        position: Where it stands [m], in the frame of the environment, or of the link it is mounted on.
        target: The point in the middle of the picture [m], likewise.
        up: A direction that is up in the picture, likewise; not the one it looks in.
        fov: Vertical field of view [deg], between 0 and 180.
        link: The link it is mounted on and moves with, by its name in the robot's file; None: it stands still.
        turns: It turns with that link; otherwise it only goes where the link goes, and `position`, `target` and `up`
            count from its origin along the environment's axes.
        data_types: What it gives: `rgb`, `depth` or both.
        shadows: Things cast shadows.
        checkered: The floor is covered with squares, by which a motion over it is seen.
        samples: Rays per pixel; more than one smooth the edges. Depths take the nearest of them.

    Raises:
        ValueError: A value cannot work; the message names it.
    """

    name: str
    width: int
    height: int
    position: Vector
    target: Vector
    up: Vector = (0.0, 0.0, 1.0)
    fov: float = 45.0
    link: str | None = None
    turns: bool = True
    data_types: tuple[str, ...] = ("rgb",)
    shadows: bool = False
    checkered: bool = False
    samples: int = 1

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name=: a camera must have a name")
        for key in ("width", "height"):
            if not 1 <= getattr(self, key) <= MOST_PIXELS:
                raise ValueError(f"{key}={getattr(self, key)}: must be from 1 to {MOST_PIXELS} pixels")
        for key in ("position", "target", "up"):
            value = getattr(self, key)
            if len(value) != 3 or not all(math.isfinite(part) for part in value):
                raise ValueError(f"{key}={value}: must be three finite numbers")
        if tuple(self.position) == tuple(self.target):
            raise ValueError(f"target={self.target}: must differ from position")
        if not 0 < self.fov < 180:
            raise ValueError(f"fov={self.fov}: must be between 0 and 180 degrees")
        if not self.data_types or len(set(self.data_types)) < len(self.data_types):
            raise ValueError(f"data_types={self.data_types}: must be some of {', '.join(DATA_TYPES)}, each once")
        if unknown := [kind for kind in self.data_types if kind not in DATA_TYPES]:
            raise ValueError(f"data_types={self.data_types}: {unknown[0]} is none of {', '.join(DATA_TYPES)}")
        if not 1 <= self.samples <= 64:
            raise ValueError(f"samples={self.samples}: must be from 1 to 64 rays per pixel")
        if math.hypot(*_cross(self.up, self._backward())) < 1e-6 * math.hypot(*self.up) or not any(self.up):
            raise ValueError(f"up={self.up}: must differ from the direction in which the camera looks")

    @property
    def gives_color(self) -> bool:
        """It gives colours."""
        return "rgb" in self.data_types

    @property
    def gives_depth(self) -> bool:
        """It gives depths."""
        return "depth" in self.data_types

    @property
    def focal_length(self) -> float:
        """Distance of the picture's plane from the pinhole [px], the same across and down."""
        return self.height / (2.0 * math.tan(math.radians(self.fov) / 2.0))

    @property
    def axes(self) -> tuple[Vector, Vector, Vector]:
        """Unit vectors along the camera's +x (right), +y (up) and +z (backward), in the frame of `position`."""
        back = self._backward()
        right = _unit(_cross(self.up, back))
        return right, _cross(back, right), back

    @property
    def orientation(self) -> Quaternion:
        """The camera's frame in that of `position`, quaternion xyzw."""
        return _quaternion(*self.axes)

    def project(self, point: Vector) -> Vector:
        """Where a point is seen.

        Args:
            point: [m], in the frame of `position`.

        Returns:
            Column and row in the picture [px], then its depth along the optical axis [m]. What is not in front of the
            camera (depth not above 0) is seen nowhere: its column and row are NaN.
        """
        offset = tuple(a - b for a, b in zip(point, self.position, strict=True))
        x, y, z = (sum(a * b for a, b in zip(axis, offset, strict=True)) for axis in self.axes)
        if z >= 0.0:
            return math.nan, math.nan, -z
        scale = self.focal_length / -z
        return self.width / 2.0 + scale * x, self.height / 2.0 - scale * y, -z

    def _backward(self) -> Vector:
        x, y, z = (a - b for a, b in zip(self.position, self.target, strict=True))
        return _unit((x, y, z))


def check_cameras(cameras: tuple[CameraSpec, ...]) -> None:
    """Refuse no cameras at all, and two of one name.

    Raises:
        ValueError: The message says which.
    """
    names = [camera.name for camera in cameras]
    if not names:
        raise ValueError("cameras=(): a renderer needs at least one camera")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"cameras: two are called {twice[0]!r}; names must differ")


def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(vector: Vector) -> Vector:
    length = math.hypot(*vector)
    return vector[0] / length, vector[1] / length, vector[2] / length


def _quaternion(x: Vector, y: Vector, z: Vector) -> Quaternion:
    """Of the rotation whose matrix has these columns; by its largest component, so that none is lost to rounding."""
    m = list(zip(x, y, z, strict=True))
    diagonal = (m[0][0], m[1][1], m[2][2])
    trace = sum(diagonal)
    if trace > max(diagonal):
        w = math.sqrt(1.0 + trace) / 2.0
        return (m[2][1] - m[1][2]) / (4 * w), (m[0][2] - m[2][0]) / (4 * w), (m[1][0] - m[0][1]) / (4 * w), w
    i = max(range(3), key=lambda index: diagonal[index])
    j, k = (i + 1) % 3, (i + 2) % 3
    large = math.sqrt(1.0 + 2.0 * diagonal[i] - trace) / 2.0
    found = {
        i: large,
        j: (m[j][i] + m[i][j]) / (4 * large),
        k: (m[k][i] + m[i][k]) / (4 * large),
    }
    return found[0], found[1], found[2], (m[k][j] - m[j][k]) / (4 * large)
