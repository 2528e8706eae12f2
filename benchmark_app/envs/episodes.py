"""Where episodes start, and what became of them."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch


def episode_uniforms(seed: int, index: int, size: int) -> np.ndarray:
    """Random numbers that depend on the seed and the episode's number only.

    They come from a hash (SHAKE-128), so no library's generator, version or device can change them.

    Args:
        seed: Seed of the evaluation.
        index: Number of the episode.
        size: How many numbers.

    Returns:
        `[size]` float32 in [0, 1), on a grid of 2⁻²⁴.
    """
    digest = hashlib.shake_128(f"{seed}:{index}".encode()).digest(4 * size)
    return (np.frombuffer(digest, "<u4") >> 8).astype(np.float32) * np.float32(2.0**-24)


class EpisodeStarts:
    """The random numbers that episodes start from.

    Either one stream for all rows (training), or numbered episodes (evaluation): row r plays the episodes r, r+N,
    r+2N, …, and each starts from numbers of its own, whatever N and whatever the other rows did.

    Args:
        num_envs: Rows N.
        size: Numbers an episode needs.
        device: Where they are used.
    """

    def __init__(self, num_envs: int, size: int, device: torch.device) -> None:
        self._num_envs = num_envs
        self._size = size
        self._device = device
        self._generator = torch.Generator(device)
        self._evaluation_seed: int | None = None
        self._index = np.zeros(num_envs, dtype=np.int64)
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Draw from one stream, starting it anew."""
        self._generator.manual_seed(seed)
        self._evaluation_seed = None

    def seed_episodes(self, seed: int) -> None:
        """Number the episodes from now on: the next one to start in row r is episode r."""
        self._evaluation_seed = seed
        self._index = np.arange(self._num_envs, dtype=np.int64) - self._num_envs

    def index_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Numbers of the episodes that rows `[K]` are playing; None when episodes are not numbered."""
        return None if self._evaluation_seed is None else self._index[rows]

    def draw(self, rows: np.ndarray) -> torch.Tensor:
        """Numbers `[K, size]` in [0, 1) for the next episode of each of the rows `[K]`."""
        if self._evaluation_seed is None:
            return torch.rand(len(rows), self._size, generator=self._generator, device=self._device)
        self._index[rows] += self._num_envs
        numbers = [episode_uniforms(self._evaluation_seed, int(index), self._size) for index in self._index[rows]]
        return torch.from_numpy(np.stack(numbers)).to(self._device)


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """Finished episodes, in the order in which they finished. All tensors are on the CPU.

    Attributes:
        returns: float32 `[K]`, undiscounted sum of rewards.
        lengths: int64 `[K]`, control steps.
        success: bool `[K]`, or None where the task reports none.
        rows: int64 `[K]`, the rows that played them.
        index: int64 `[K]`, numbers of the episodes, or None when they are not numbered (training).
        dropped: Episodes that finished earlier but were lost, because nobody asked for so long.
    """

    returns: torch.Tensor
    lengths: torch.Tensor
    success: torch.Tensor | None
    rows: torch.Tensor
    index: torch.Tensor | None
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
        self._chunks: deque[tuple[torch.Tensor, torch.Tensor | None, np.ndarray, np.ndarray | None]] = deque()
        self._size = 0
        self._dropped = 0

    def append(
        self, tally: torch.Tensor, success: torch.Tensor | None, rows: np.ndarray, index: np.ndarray | None
    ) -> None:
        """Add episodes.

        Args:
            tally: float32 `[2, K]` on the device: lengths and returns.
            success: bool `[K]` on the device, or None.
            rows: The rows `[K]` that played them.
            index: Their numbers `[K]`, or None.
        """
        self._chunks.append((tally, success, rows, index))
        self._size += len(rows)
        while self._size - len(self._chunks[0][2]) >= self._capacity:
            lost = len(self._chunks.popleft()[2])
            self._size -= lost
            self._dropped += lost

    def drain(self) -> Episodes:
        """Take everything out: one read of the device."""
        chunks, dropped = list(self._chunks), self._dropped
        self._chunks.clear()
        self._size = self._dropped = 0
        tallies = [tally for tally, _, _, _ in chunks] or [torch.empty(2, 0)]
        flags = [success for _, success, _, _ in chunks if success is not None]
        numbers = [index for _, _, _, index in chunks if index is not None]
        facts = torch.cat(tallies, 1)
        if flags:
            facts = torch.cat((facts, torch.cat(flags).float().unsqueeze(0)))
        facts = facts.cpu()
        return Episodes(
            lengths=facts[0].long(),
            returns=facts[1],
            success=facts[2].bool() if flags else None,
            rows=torch.from_numpy(np.concatenate([np.empty(0, dtype=np.int64), *(rows for _, _, rows, _ in chunks)])),
            index=torch.from_numpy(np.concatenate(numbers)) if numbers else None,
            dropped=dropped,
        )
