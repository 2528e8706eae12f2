"""Ending a training that has learned what it was to learn: one rule for every library."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class EarlyStop:
    """Reached once the last `window` finished episodes are there and at least `success` of them succeeded.

    It is looked at between iterations only, so that every library stops at the same boundary.

    Args:
        success: Share of successes, in (0, 1].
        window: Finished episodes it is taken over.
    """

    def __init__(self, success: float, window: int) -> None:
        self._success = success
        self._recent: deque[bool] = deque(maxlen=window)

    def add(self, succeeded: Iterable[bool]) -> None:
        """Take in episodes, in the order they finished."""
        self._recent.extend(succeeded)

    @property
    def reached(self) -> bool:
        """Whether the rule holds now."""
        window = self._recent.maxlen
        assert window is not None
        return len(self._recent) == window and sum(self._recent) >= self._success * window

    @property
    def reason(self) -> str:
        """What was reached, in one line."""
        return f"{sum(self._recent)} of the last {len(self._recent)} episodes succeeded (asked for {self._success:g})"
