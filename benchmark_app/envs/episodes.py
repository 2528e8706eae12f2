"""Finished episodes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import torch

from .numbering import TALLY


@dataclass(frozen=True)
class Episodes:
    """Finished episodes, in the order in which they finished, on the CPU. Columns are made when they are asked for.

    Attributes:
        tally: float64 `[4 + T, K]`: the lines of `TALLY`, and the sum of every term of the reward over the episode.
        measured: float32 `[M, K]`: the metrics of its ending step.
        term_names: The terms' names, T of them.
        metric_names: The metrics' names, M of them.
        succeeded: bool `[K]`, or None where the task reports none.
        played_in: The rows that played them, in parts.
        dropped: Episodes that finished earlier but were lost, because nobody asked for so long.
    """

    tally: np.ndarray
    measured: np.ndarray
    term_names: tuple[str, ...]
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
    def largest_rewards(self) -> torch.Tensor:
        """float32 `[K]`, the largest reward of a single step."""
        return torch.from_numpy(self.tally[3]).float()

    @property
    def term_sums(self) -> dict[str, torch.Tensor]:
        """Each term of the reward, summed over the episode: name to float32 `[K]`."""
        sums = self.tally[len(TALLY) :]
        return dict(zip(self.term_names, torch.from_numpy(sums).float(), strict=True))

    @property
    def metrics(self) -> dict[str, torch.Tensor]:
        """What the task measured: name to float32 `[K]`, NaN where an episode has no value."""
        return dict(zip(self.metric_names, torch.from_numpy(self.measured), strict=True))

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
        terms: Names of the reward's terms whose sums come with each.
        metrics: Names of the metrics that come with each.
    """

    def __init__(self, capacity: int, terms: tuple[str, ...] = (), metrics: tuple[str, ...] = ()) -> None:
        self._capacity = capacity
        self._terms = terms
        self._metrics = metrics
        self._chunks: deque[tuple[np.ndarray, torch.Tensor, torch.Tensor, torch.Tensor | None]] = deque()
        self._size = 0
        self._dropped = 0

    def append(
        self, rows: np.ndarray, tally: torch.Tensor, measured: torch.Tensor, success: torch.Tensor | None
    ) -> None:
        """Add episodes; nothing is joined or converted before someone asks, since this runs at nearly every step.

        Args:
            rows: The rows `[K]` that played them.
            tally: float64 `[4 + T, K]` on the device, as in `Episodes`.
            measured: float32 `[M, K]` on the device, likewise.
            success: bool `[K]` on the device, or None.
        """
        self._chunks.append((rows, tally, measured, success))
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
        rows = [chunk[0] for chunk in chunks]
        flags = [success for *_, success in chunks if success is not None]
        height = len(TALLY) + len(self._terms)
        if chunks and chunks[0][1].is_cuda:  # one read of the device for all
            parts = [torch.cat([tally for _, tally, _, _ in chunks], 1)]
            parts.append(torch.cat([measured for _, _, measured, _ in chunks], 1).double())
            parts += [torch.cat(flags).double().unsqueeze(0)] if flags else []
            tally, measured, last = np.split(torch.cat(parts).cpu().numpy(), [height, height + len(self._metrics)])
            measured, succeeded = measured.astype(np.float32), last[0] != 0 if flags else None
        else:  # NumPy joins small pieces in a fraction of torch's time, and this runs in every iteration of a training
            tally = np.concatenate([np.empty((height, 0)), *(chunk[1].numpy() for chunk in chunks)], 1)
            nothing = np.empty((len(self._metrics), 0), dtype=np.float32)
            measured = np.concatenate([nothing, *(chunk[2].numpy() for chunk in chunks)], 1)
            succeeded = np.concatenate([flag.numpy() for flag in flags]) if flags else None
        return Episodes(tally, measured, self._terms, self._metrics, succeeded, rows, dropped)
