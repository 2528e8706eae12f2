"""Signals to the supervisor: noted first, acted upon in its loop, passed on once the results are on disk."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self

WARNINGS = (signal.SIGUSR1, signal.SIGUSR2)
"""How SLURM, through submitit, says that a job is to end soon: it is preempted, or its time is nearly over."""
WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, *WARNINGS)


class StopSignals:
    """Notes the signals that ask a run to stop, for as long as the context lasts.

    Args:
        passes_on: Handlers that were there before get their turn at the end.

    Attributes:
        first: The first signal that came, None while none has.
        count: How often a person or a system asked; the second time means "now". A scheduler's warning comes before or
            after its SIGTERM and hurries nobody: it keeps the time itself, and kills.
    """

    def __init__(self, *, passes_on: bool = True) -> None:
        self._passes_on = passes_on
        self.first: signal.Signals | None = None
        self.count = 0
        self._came: list[signal.Signals] = []  # each once
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in WATCHED:
            self._previous[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        came = signal.Signals(number)
        self.first = self.first or came
        if came not in self._came:
            self._came.append(came)
        if came not in WARNINGS:
            self.count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        # Python's default handlers would only raise.
        for number in self._came if self._passes_on else ():
            handler = self._previous.get(number)
            if callable(handler) and handler is not signal.default_int_handler:
                handler(int(number), None)

    @property
    def warned(self) -> bool:
        """Whether a scheduler's warning came."""
        return any(number in self._came for number in WARNINGS)

    @property
    def exit_status(self) -> int:
        """Conventional exit status of the signal that came: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + int(self.first) if self.first else 0
