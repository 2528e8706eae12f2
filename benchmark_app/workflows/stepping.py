"""Recording single steps (runtime and play) in batches, so that the journal costs the measured loop next to nothing."""

from __future__ import annotations

import time

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Steps

FLUSH_PERIOD_S = 0.5


class StepRecorder:
    """Collects step times and appends them to the journal now and then, between two timed steps.

    Args:
        journal: Where the batches go.
        count_frames: Whether each step comes with its own number of frames.
    """

    def __init__(self, journal: JournalWriter, *, count_frames: bool) -> None:
        self._journal = journal
        self._frames: list[int] | None = [] if count_frames else None
        self._step_s: list[float] = []
        self._env_step_s: list[float] = []
        self._first = 0
        self._flushed_at = time.monotonic()

    def add(self, step_s: float, env_step_s: float, frames: int | None = None) -> None:
        """Take in one step: its wall time, that of `TorchEnv.step` in it, and the rows that counted."""
        self._step_s.append(step_s)
        self._env_step_s.append(env_step_s)
        if self._frames is not None and frames is not None:
            self._frames.append(frames)
        if time.monotonic() - self._flushed_at > FLUSH_PERIOD_S:
            self.flush()

    def flush(self) -> None:
        """Append what was collected."""
        if self._step_s:
            batch = Steps(
                t=time.monotonic(),
                first_index=self._first,
                step_s=self._step_s,
                env_step_s=self._env_step_s,
                frames=self._frames,
            )
            self._journal.append(batch)
            self._first += len(self._step_s)
            self._step_s, self._env_step_s = [], []
            self._frames = None if self._frames is None else []
        self._flushed_at = time.monotonic()
