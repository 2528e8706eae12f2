"""Pictures of several environments in one frame, side by side. Importing this imports nothing heavy."""

from __future__ import annotations

import math
from dataclasses import dataclass

LEAST_TILE = 16
"""Pixels on a side: in anything smaller nothing is seen."""


@dataclass(frozen=True)
class Grid:
    """A frame divided into pictures of one size, row by row.

    Attributes:
        frame: Width and height of the frame [px].
        columns: Pictures side by side.
        rows: Pictures one above the other.
        gap: Pixels between two of them.
    """

    frame: tuple[int, int]
    columns: int
    rows: int
    gap: int

    @property
    def tile(self) -> tuple[int, int]:
        """Width and height of a picture [px]."""
        (width, height), gap = self.frame, self.gap
        return (width - gap * (self.columns - 1)) // self.columns, (height - gap * (self.rows - 1)) // self.rows

    def corner(self, index: int) -> tuple[int, int]:
        """Column and row [px] of the upper left pixel of a picture."""
        row, column = divmod(index, self.columns)
        return column * (self.tile[0] + self.gap), row * (self.tile[1] + self.gap)


def arrange(count: int, width: int, height: int) -> Grid:
    """Divide a frame for so many pictures.

    At least as many stand above one another as side by side: a camera's field of view is that of its picture's height,
    so that a wide picture shows more and a narrow one cuts something off.

    Raises:
        ValueError: The pictures would be too small to show anything.
    """
    columns = math.isqrt(count)
    rows = math.ceil(count / columns)
    grid = Grid(frame=(width, height), columns=columns, rows=rows, gap=0 if count == 1 else 2)
    if min(grid.tile) < LEAST_TILE:
        raise ValueError(
            f"{count} pictures in a frame of {width} x {height} pixels would have {max(grid.tile[0], 0)} x "
            f"{max(grid.tile[1], 0)} each: too small to show anything"
        )
    return grid
