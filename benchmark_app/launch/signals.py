"""Signals to the supervisor: noted first, acted upon in its loop, passed on once the results are on disk."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

WATCHED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class StopSignals:
    """Notes the signals that ask a run to stop, for as long as the context lasts.

    Attributes:
        first: The first signal that came, None while none has.
        count: How many came; the second one means "now".
    """

    def __init__(self) -> None:
        self.first: signal.Signals | None = None
        self.count = 0
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        for number in WATCHED:
            self._previous[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.first = self.first or signal.Signals(number)
        self.count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        handler = self._previous.get(self.first) if self.first else None
        # A launcher's own handler (submitit's, say) still gets its turn; Python's default ones would only raise.
        if callable(handler) and handler is not signal.default_int_handler:
            handler(int(self.first), None)  # type: ignore[arg-type]

    @property
    def exit_status(self) -> int:
        """Conventional exit status of the signal that came: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + int(self.first) if self.first else 0
