"""Finished episodes, and the seeds of those to come."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch


def stream_seed(stream: str, seed: int) -> int:
    """A 31-bit seed for one stream of random numbers, so that streams with the same user's seed have nothing in common.

    Args:
        stream: Name of the stream.
        seed: The user's seed, any integer.
    """
    return int.from_bytes(hashlib.blake2s(f"{stream}:{seed}".encode()).digest()[:4], "little") >> 1


@dataclass(frozen=True)
class Episodes:
    """Finished episodes, in the order in which they finished, on the CPU. Columns are made when they are asked for.

    Attributes:
        tally: float64 `[3 + M, K]`: lengths, returns, numbers, then the metrics of the ending step.
        metric_names: The metrics' names, M of them.
        succeeded: bool `[K]`, or None where the task reports none.
        played_in: The rows that played them, in parts.
        dropped: Episodes that finished earlier but were lost, because nobody asked for so long.
    """

    tally: np.ndarray
    metric_names: tuple[str, ...]
    succeeded: np.ndarray | None
    played_in: list[np.ndarray]
    dropped: int

    def __len__(self) -> int:
        return int(self.tally.shape[1])

    @property
    def lengths(self) -> torch.Tensor:
        """int64 `[K]`, control steps."""
        return torch.from_numpy(self.tally[0]).long()

    @property
    def returns(self) -> torch.Tensor:
        """float32 `[K]`, undiscounted sum of rewards."""
        return torch.from_numpy(self.tally[1]).float()

    @property
    def index(self) -> torch.Tensor:
        """int64 `[K]`, numbers of the episodes: row r plays r, r+N, r+2N, … from the last seeding on."""
        return torch.from_numpy(self.tally[2]).long()

    @property
    def metrics(self) -> dict[str, torch.Tensor]:
        """What the task measured: name to float32 `[K]`, NaN where an episode has no value."""
        return dict(zip(self.metric_names, torch.from_numpy(self.tally[3:]).float(), strict=True))

    @property
    def success(self) -> torch.Tensor | None:
        """bool `[K]`, or None where the task reports none."""
        return None if self.succeeded is None else torch.from_numpy(self.succeeded)

    @property
    def rows(self) -> torch.Tensor:
        """int64 `[K]`, the rows that played them."""
        return torch.from_numpy(np.concatenate([np.empty(0, dtype=np.int64), *self.played_in]))


class EpisodeLog:
    """Finished episodes waiting to be asked for. Their numbers stay on the device until then.

    Args:
        capacity: Episodes kept at least; the oldest beyond it are dropped, and counted.
        metrics: Names of the metrics that come with each.
    """

    def __init__(self, capacity: int, metrics: tuple[str, ...] = ()) -> None:
        self._capacity = capacity
        self._metrics = metrics
        self._chunks: deque[tuple[np.ndarray, torch.Tensor, torch.Tensor | None]] = deque()
        self._size = 0
        self._dropped = 0

    def append(self, rows: np.ndarray, tally: torch.Tensor, success: torch.Tensor | None) -> None:
        """Add episodes.

        Args:
            rows: The rows `[K]` that played them.
            tally: float64 `[3 + M, K]` on the device: lengths, returns, numbers, metrics.
            success: bool `[K]` on the device, or None.
        """
        self._chunks.append((rows, tally, success))
        self._size += len(rows)
        while self._size - len(self._chunks[0][0]) >= self._capacity:
            lost = len(self._chunks.popleft()[0])
            self._size -= lost
            self._dropped += lost

    def drain(self) -> Episodes:
        """Take everything out: one read of the device."""
        chunks, dropped = list(self._chunks), self._dropped
        self._chunks.clear()
        self._size = self._dropped = 0
        rows = [rows for rows, _, _ in chunks]
        height = 3 + len(self._metrics)
        flags = [success for _, _, success in chunks if success is not None]
        if chunks and chunks[0][1].is_cuda:  # one read of the device for both
            parts = torch.cat([tally for _, tally, _ in chunks], 1)
            if flags:
                parts = torch.cat((parts, torch.cat(flags).unsqueeze(0)))
            read = parts.cpu().numpy()
            return Episodes(read[:height], self._metrics, read[height] != 0 if flags else None, rows, dropped)
        # NumPy joins small pieces in a fraction of torch's time, and this runs in every iteration of a training.
        tally = np.concatenate([np.empty((height, 0)), *(tally.numpy() for _, tally, _ in chunks)], 1)
        succeeded = np.concatenate([flag.numpy() for flag in flags]) if flags else None
        return Episodes(tally, self._metrics, succeeded, rows, dropped)
