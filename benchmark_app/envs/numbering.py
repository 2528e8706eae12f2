"""Which episode is played in which row, and from which seed. NumPy only."""

from __future__ import annotations

import hashlib

import numpy as np

TALLY = ("length", "return", "number", "largest reward")
"""What is recorded of every episode, whatever the task, in this order."""


def stream_seed(stream: str, seed: int) -> int:
    """A 31-bit seed for one stream of random numbers, so that streams with the same user's seed have nothing in common.

    Args:
        stream: Name of the stream.
        seed: The user's seed, any integer.
    """
    return int.from_bytes(hashlib.blake2s(f"{stream}:{seed}".encode()).digest()[:4], "little") >> 1


class Deal:
    """A fixed number of episodes, dealt to rows: row r plays r, r+N, r+2N, … as long as they are below the number.

    Args:
        num_envs: Rows.
        count: Episodes, numbered from 0.
        first_row: Number r of the first row, where they are a part of more.
        total_rows: Rows N in all; None: `num_envs`.
    """

    def __init__(self, num_envs: int, count: int, first_row: int = 0, total_rows: int | None = None) -> None:
        # Not yet begun, by row; below 0 once a row has begun one that is not among them.
        rows = first_row + np.arange(num_envs)
        self._left = np.maximum(0, -((rows - count) // (total_rows or num_envs)))

    def begin(self, rows: np.ndarray) -> np.ndarray:
        """Begin the next episode in `rows` `[K]`; return those of them that had none left."""
        self._left[rows] -= 1
        beyond: np.ndarray = rows[self._left[rows] < 0]
        return beyond

    def has_more(self, rows: np.ndarray) -> np.ndarray:
        """Whether each of `rows` has an episode that has not begun: bool `[K]`."""
        more: np.ndarray = self._left[rows] > 0
        return more
