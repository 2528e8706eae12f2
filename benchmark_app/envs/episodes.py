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


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """Finished episodes, in the order in which they finished. All tensors are on the CPU.

    Attributes:
        returns: float32 `[K]`, undiscounted sum of rewards.
        lengths: int64 `[K]`, control steps.
        success: bool `[K]`, or None where the task reports none.
        rows: int64 `[K]`, the rows that played them.
        index: int64 `[K]`, numbers of the episodes: row r plays r, r+N, r+2N, … from the last seeding on.
        dropped: Episodes that finished earlier but were lost, because nobody asked for so long.
    """

    returns: torch.Tensor
    lengths: torch.Tensor
    success: torch.Tensor | None
    rows: torch.Tensor
    index: torch.Tensor
    dropped: int

    def __len__(self) -> int:
        return len(self.returns)


class EpisodeLog:
    """Finished episodes waiting to be asked for. Their numbers stay on the device until then.

    Args:
        capacity: Episodes kept at least; the oldest beyond it are dropped, and counted.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._chunks: deque[tuple[np.ndarray, torch.Tensor, torch.Tensor | None]] = deque()
        self._size = 0
        self._dropped = 0

    def append(self, rows: np.ndarray, tally: torch.Tensor, success: torch.Tensor | None) -> None:
        """Add episodes.

        Args:
            rows: The rows `[K]` that played them.
            tally: float64 `[3, K]` on the device: lengths, returns, numbers.
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
        if not chunks:
            none = torch.empty(0, dtype=torch.int64)
            return Episodes(returns=none.float(), lengths=none, success=None, rows=none, index=none, dropped=dropped)
        tally = torch.cat([tally for _, tally, _ in chunks], 1)
        flags = [success for _, _, success in chunks if success is not None]
        if flags:
            tally = torch.cat((tally, torch.cat(flags).unsqueeze(0)))
        tally = tally.cpu()
        return Episodes(
            lengths=tally[0].long(),
            returns=tally[1].float(),
            index=tally[2].long(),
            success=tally[3].bool() if flags else None,
            rows=torch.from_numpy(np.concatenate([rows for rows, _, _ in chunks])),
            dropped=dropped,
        )
