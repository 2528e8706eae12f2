"""The glider's environment once more, slow and obvious: plain Python, one row after the other.

Numbers are float32 scalars, so that rounding is the same; copying the whole object is a checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

ZERO = np.float32(0)


@dataclass
class Row:
    """One glider in one episode."""

    episode: int
    position: np.float32
    velocity: np.float32 = ZERO
    steps: int = 0
    returned: np.float32 = ZERO
    ended: bool = False


class Shown(NamedTuple):
    """What a step shows of one row; `last` is its position and velocity before any reset."""

    position: float
    velocity: float
    reward: float
    terminated: bool
    truncated: bool
    steps: int
    frozen: bool
    last: tuple[float, float]


@dataclass
class Reference:
    """What `GliderEnv` does.

    Args:
        num_envs: Rows.
        limit: A position beyond it terminates.
        longest: Steps until the time limit.
        starts: First position of each episode, by its number.
    """

    num_envs: int
    limit: float
    longest: int
    starts: list[float]
    autoreset: bool = True
    finished: list[tuple[int, int, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = [self._begin(number) for number in range(self.num_envs)]

    def _begin(self, episode: int) -> Row:
        return Row(episode, np.float32(self.starts[episode]))

    def reset(self, rows: list[int]) -> None:
        """Abandon whatever these rows do, and begin their next episodes."""
        for number in rows:
            self.rows[number] = self._begin(self.rows[number].episode + self.num_envs)

    def waiting(self) -> list[int]:
        """Rows that ended and were not reset."""
        return [number for number, row in enumerate(self.rows) if row.ended]

    def step(self, efforts: list[float]) -> list[Shown]:
        """Take a step in every row that has not ended."""
        return [self._step_row(number, np.float32(effort)) for number, effort in enumerate(efforts)]

    def _step_row(self, number: int, effort: np.float32) -> Shown:
        row = self.rows[number]
        reward, terminated, truncated, frozen = ZERO, False, False, row.ended
        if not frozen:
            row.velocity += effort
            row.position += row.velocity
            row.steps += 1
            reward = effort
            row.returned += reward
            terminated = bool(row.position > self.limit)
            truncated = row.steps == self.longest and not terminated
        last = (float(row.position), float(row.velocity))
        if terminated or truncated:
            self.finished.append((number, row.episode, row.steps, float(row.returned)))
            row.ended = True
            if self.autoreset:
                self.reset([number])
                row = self.rows[number]
        now = (float(row.position), float(row.velocity))
        return Shown(*now, float(reward), terminated, truncated, row.steps, frozen, last)

    def drain(self) -> list[tuple[int, int, int, float]]:
        """Row, number, length and return of the episodes finished since the last call."""
        found, self.finished = self.finished, []
        return found
