"""The two ways a run's time is taken (`profiling.mode`), and the clock everything in a worker's loop is timed by."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

HOST_RETURN, SERIALIZED = "host_return", "serialized_synchronized"
MODES = (HOST_RETURN, SERIALIZED)

Clock = Callable[[], float]


class Drawing(Protocol):
    """What is told of a renderer: `rendering.base.Renderer` counts it."""

    seconds: float
    frames: int
    drain: Callable[[], None] | None


class Timing:
    """How time is taken at the boundaries of a loop's parts.

    In `host_return` a boundary is a look at the clock: a part ends when its call returns, whatever the device still has
    to do. In `serialized_synchronized` the device is drained first, and the engine's share of an environment step is
    taken apart, so that parts add up to the whole; on a CPU the work of a call is done when it returns, and there is
    nothing to drain.

    Attributes:
        mode: `host_return` or `serialized_synchronized`.
        now: Called at every boundary; gives seconds of a clock that only runs forwards.
        simulation: Times the engine's share; None in `host_return`.
        rendering: Tells what the renderer took, once `watch_renderer` was called; None: nothing is drawn.

    Args:
        mode: Likewise.
        drain: Waits for all that was launched on the devices in use; None where nothing outlasts its call.
        clock: The clock [s].
    """

    def __init__(
        self, mode: str = HOST_RETURN, drain: Callable[[], None] | None = None, clock: Clock = time.perf_counter
    ) -> None:
        self.mode = mode
        self.now: Clock = clock
        self.simulation: SimulationShare | None = None
        self.rendering: RenderShare | None = None
        self._drain = drain if mode == SERIALIZED else None
        if mode == SERIALIZED:
            if drain is not None:
                self.now = _drained(drain, clock)
            self.simulation = SimulationShare(self.now)

    def watch_renderer(self, renderer: Drawing) -> None:
        """Have what a renderer takes told apart; in `serialized_synchronized` the device is drained around it."""
        renderer.drain = self._drain
        self.rendering = RenderShare(renderer)


class RenderShare:
    """How long a renderer took, and what it drew.

    Args:
        renderer: It counts both for itself.
    """

    def __init__(self, renderer: Drawing) -> None:
        self._renderer = renderer
        self._seconds, self._frames = renderer.seconds, renderer.frames

    def take(self) -> tuple[float, int]:
        """Seconds of drawing and pictures drawn since this was last asked."""
        seconds, frames = self._renderer.seconds, self._renderer.frames
        taken = seconds - self._seconds, frames - self._frames
        self._seconds, self._frames = seconds, frames
        return taken


class SimulationShare:
    """How long the engine took; what `TorchEnv.set_simulation_watch` is given.

    Args:
        now: Seconds, called at both ends of the engine's part of a step.
    """

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._seconds = 0.0
        self._calls = 0

    def __call__(self, simulate: Callable[[], None]) -> None:
        """Run the engine's part of a step, timed."""
        begin = self._now()
        simulate()
        self._seconds += self._now() - begin
        self._calls += 1

    def add(self, seconds: float, calls: int) -> None:
        """Add what was timed elsewhere."""
        self._seconds += seconds
        self._calls += calls

    def take(self) -> tuple[float, int]:
        """Seconds in the engine, and its calls, since this was last asked."""
        taken = self._seconds, self._calls
        self._seconds, self._calls = 0.0, 0
        return taken


def _drained(drain: Callable[[], None], clock: Clock) -> Clock:
    def now() -> float:
        drain()
        return clock()

    return now
