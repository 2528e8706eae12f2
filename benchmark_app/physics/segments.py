"""Recording what surrounds an engine's native calls, which no graph can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import warp as wp


class Segments:
    """Turns a body of Warp launches with native calls among them into graphs, one between any two such calls.

    While a body is recorded, a native call is only noted: the graph begun so far ends before it, and the next begins
    after it. Something must be launched before, between and after the calls: Warp has no empty graphs.

    Args:
        device: Where the launches go.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._parts: list[Callable[[], None]] = []
        self._recording = False

    def record(self, body: Callable[[], None]) -> Callable[[], None]:
        """Record a body without running it.

        On CUDA every kernel it launches must have been loaded before.

        Returns:
            What repeats the body.
        """
        self._parts = parts = []
        self._recording = True
        wp.capture_begin(device=str(self._device))
        try:
            body()
        finally:
            self._recording = False
            last = self._end()
        parts.append(last)

        def replay() -> None:
            for part in parts:
                part()

        return replay

    def call(self, native: Callable[[], None]) -> None:
        """Run a native call here: at once, or at this place whenever the body being recorded is repeated."""
        if not self._recording:
            native()
            return
        self._parts += [self._end(), native]
        wp.capture_begin(device=str(self._device))

    def _end(self) -> Callable[[], None]:
        """End the present graph; what launches it, on CUDA between torch's work on its current stream."""
        graph: Any = wp.capture_end(device=str(self._device))
        if self._device.type == "cpu":
            return lambda: wp.capture_launch(graph)
        device = self._device
        return lambda: wp.capture_launch(graph, stream=wp.stream_from_torch(torch.cuda.current_stream(device)))
