"""Recording single steps (runtime and play) in batches, so that the journal costs the measured loop next to nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Steps
from benchmark_app.profiling.worker.timing import Timing

FLUSH_PERIOD_S = 0.5


class StepRecorder:
    """Collects step times and appends them to the journal now and then, between two timed steps.

    Args:
        journal: Where the batches go.
        count_frames: Whether each step comes with its own number of frames.
        timing: How the steps are timed.
        kernel_loads: Says how many kernel modules this process has compiled or loaded so far.
    """

    def __init__(
        self,
        journal: JournalWriter,
        *,
        count_frames: bool,
        timing: Timing | None = None,
        kernel_loads: Callable[[], int] = lambda: 0,
    ) -> None:
        self._journal = journal
        self._count_frames = count_frames
        self._simulation = None if timing is None else timing.simulation
        if self._simulation is not None:
            self._simulation.take()  # whatever was stepped before is none of these steps
        self._rendering = None if timing is None else timing.rendering
        if self._rendering is not None:
            self._rendering.take()
        self._kernel_loads = kernel_loads
        self._loaded = kernel_loads()
        self._first = 0
        self._clear()

    def _clear(self) -> None:
        self._step_s: list[float] = []
        self._env_step_s: list[float] = []
        self._frames: list[int] = []
        self._simulation_s: list[float] = []
        self._simulation_calls: list[int] = []
        self._render_s: list[float] = []
        self._render_frames: list[int] = []
        self._loading: list[int] = []
        self._flushed_at = time.monotonic()

    def add(self, step_s: float, env_step_s: float, frames: int | None = None) -> None:
        """Take in one step: its wall time, that of `TorchEnv.step` in it, and the rows that counted."""
        if (loaded := self._kernel_loads()) != self._loaded:
            self._loaded = loaded
            self._loading.append(len(self._step_s))
        self._step_s.append(step_s)
        self._env_step_s.append(env_step_s)
        if frames is not None:
            self._frames.append(frames)
        if self._simulation is not None:
            seconds, calls = self._simulation.take()
            self._simulation_s.append(seconds)
            self._simulation_calls.append(calls)
        if self._rendering is not None:
            seconds, drawn = self._rendering.take()
            self._render_s.append(seconds)
            self._render_frames.append(drawn)
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
                frames=self._frames if self._count_frames else None,
                simulation_s=self._simulation_s if self._simulation is not None else None,
                simulation_calls=self._simulation_calls if self._simulation is not None else None,
                render_s=self._render_s if self._rendering is not None else None,
                render_frames=self._render_frames if self._rendering is not None else None,
                loading=self._loading,
            )
            self._journal.append(batch)
            self._first += len(self._step_s)
        self._clear()
