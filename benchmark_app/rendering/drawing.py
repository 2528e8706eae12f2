"""What is drawn over a picture: shapes that stand in the scene, and a line of text.

Shapes are projected through the picture's own camera. They lie over everything, as nothing of the scene hides them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .camera import CameraSpec
from .play_cfg import DebugPrimitive

NEAR = 0.01
"""Nearer to the camera than this [m] a shape is cut off."""
LEAST_LETTERS = 8
"""Size of the smallest letters that can be read [px]."""
INK, PAPER = (20, 20, 24), (255, 255, 255, 190)

Pose = tuple[np.ndarray, np.ndarray]
"""Position `[3]` [m] and orientation `[4]`, quaternion xyzw, of the frame a camera is given in."""


def draw_over(
    picture: np.ndarray,
    camera: CameraSpec,
    primitives: Sequence[DebugPrimitive] = (),
    caption: str = "",
    place: Pose | None = None,
) -> np.ndarray:
    """A picture with shapes and a line of text over it.

    Args:
        picture: uint8 `[height, width, 3]`, of this camera; it stays as it is.
        camera: What it was taken with.
        primitives: Shapes, in the frame of the environment.
        caption: Text for its upper left corner.
        place: Where the link is that the camera moves with; None: the camera stands still.

    Returns:
        uint8 `[height, width, 3]`.
    """
    if not primitives and not caption:
        return picture
    image = Image.fromarray(np.ascontiguousarray(picture))
    draw = ImageDraw.Draw(image, "RGBA")
    ends_of = [np.array([each.start, each.end or each.start], float) for each in primitives]
    seen = [(_in_camera(camera, ends, place), each) for ends, each in zip(ends_of, primitives, strict=True)]
    for ends, primitive in sorted(seen, key=lambda pair: pair[0][:, 2].mean()):  # the farthest first
        _DRAW[primitive.kind](draw, camera, ends, primitive)
    if caption:
        _write(draw, caption, camera.width, camera.height)
    return np.asarray(image)


def _in_camera(camera: CameraSpec, points: np.ndarray, place: Pose | None) -> np.ndarray:
    """Points `[K, 3]` of the environment's frame in the camera's: right, up, backward [m]."""
    if place is not None:
        position, turned = place
        points = points - position
        if camera.turns:
            points = points @ _matrix(turned)
    seen: np.ndarray = (points - np.array(camera.position)) @ np.array(camera.axes).T
    return seen


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix of a quaternion xyzw."""
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _pixel(camera: CameraSpec, point: np.ndarray) -> tuple[float, float]:
    """Column and row of a point in front of the camera."""
    scale = camera.focal_length / -point[2]
    return camera.width / 2 + scale * float(point[0]), camera.height / 2 - scale * float(point[1])


def _visible(ends: np.ndarray) -> np.ndarray | None:
    """The part of a line from `ends[0]` to `ends[1]` that is in front of the camera; None: nothing."""
    start, end = ends
    if max(-start[2], -end[2]) <= NEAR:
        return None
    for this, other in ((0, 1), (1, 0)):
        if -ends[this][2] < NEAR:
            share = (NEAR + ends[this][2]) / (ends[this][2] - ends[other][2])
            ends = ends.copy()
            ends[this] = ends[this] + share * (ends[other] - ends[this])
    return ends


def _sphere(draw: Any, camera: CameraSpec, ends: np.ndarray, primitive: DebugPrimitive) -> None:
    center = ends[0]
    if -center[2] <= NEAR:
        return
    x, y = _pixel(camera, center)
    radius = max(1.0, camera.focal_length * primitive.size / -center[2])
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_color(primitive))


def _line(draw: Any, camera: CameraSpec, ends: np.ndarray, primitive: DebugPrimitive) -> None:
    if (seen := _visible(ends)) is not None:
        pixels = [_pixel(camera, point) for point in seen]
        draw.line(pixels, fill=_color(primitive), width=_thickness(camera, seen, primitive))


def _arrow(draw: Any, camera: CameraSpec, ends: np.ndarray, primitive: DebugPrimitive) -> None:
    if (seen := _visible(ends)) is None:
        return
    (x0, y0), (x1, y1) = (_pixel(camera, point) for point in seen)
    thickness = _thickness(camera, seen, primitive)
    length = math.hypot(x1 - x0, y1 - y0)
    if length > 0:
        ahead, head = ((x1 - x0) / length, (y1 - y0) / length), min(length, 4.0 * thickness + 4.0)
        neck = (x1 - head * ahead[0], y1 - head * ahead[1])
        draw.line([(x0, y0), neck], fill=_color(primitive), width=thickness)
        side = (-ahead[1] * head / 2, ahead[0] * head / 2)
        corners = [(x1, y1), (neck[0] + side[0], neck[1] + side[1]), (neck[0] - side[0], neck[1] - side[1])]
        draw.polygon(corners, fill=_color(primitive))


_DRAW = {"sphere": _sphere, "line": _line, "arrow": _arrow}


def _thickness(camera: CameraSpec, ends: np.ndarray, primitive: DebugPrimitive) -> int:
    return max(1, round(camera.focal_length * primitive.size / -float(ends[:, 2].mean())))


def _color(primitive: DebugPrimitive) -> tuple[int, ...]:
    return tuple(round(255 * part) for part in primitive.color)


def _write(draw: Any, text: str, width: int, height: int) -> None:
    """A line in the upper left corner, in letters that fit; nothing in a picture that is too narrow for any."""
    margin, size = 3, min(20, max(LEAST_LETTERS, height // 16))
    while size > LEAST_LETTERS and draw.textlength(text, font=_font(size)) > width - 4 * margin:
        size -= 1
    if draw.textlength(text, font=_font(size)) > width - 4 * margin:
        return
    left, top, right, bottom = draw.textbbox((2 * margin, 2 * margin), text, font=_font(size))
    draw.rectangle((left - margin, top - margin, right + margin, bottom + margin), fill=PAPER)
    draw.text((2 * margin, 2 * margin), text, fill=INK, font=_font(size))


@lru_cache(maxsize=8)
def _font(size: int) -> Any:
    """The font that Pillow brings along."""
    return ImageFont.load_default(size)
