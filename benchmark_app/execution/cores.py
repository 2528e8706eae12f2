"""Where this very thread runs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable


def current_core() -> int:
    """The core this thread is running on; -1 where that is not known."""
    return int(_sched_getcpu())


_sched_getcpu: Callable[[], int] = getattr(ctypes.CDLL(None), "sched_getcpu", lambda: -1)
