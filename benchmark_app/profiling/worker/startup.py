"""Start-up phases: their wall time from process spawn, and in a pass of its own the functions that took it."""

from __future__ import annotations

import cProfile
import pstats
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Phase

_ROOTS = sorted({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}, key=len, reverse=True)


class StartupPhases:
    """Times the phases one after the other; each begins where the one before it ended.

    Args:
        journal: Where each phase is recorded as it ends.
        spawned_at: When this process was started [s, monotonic clock]: the first phase begins there.
        profile_top_n: Rows of the profile kept per phase; 0 times without a profiler, as a user's run would go.
    """

    def __init__(self, journal: JournalWriter, spawned_at: float, profile_top_n: int = 0) -> None:
        self._journal = journal
        self._mark = spawned_at
        self._top_n = profile_top_n

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Everything up to the end of the block belongs to this phase."""
        profile = cProfile.Profile() if self._top_n else None
        if profile is not None:
            profile.enable()
        try:
            yield
        finally:
            if profile is not None:
                profile.disable()
        now = time.monotonic()
        rows = None if profile is None else top_functions(profile, self._top_n)
        self._journal.append(Phase(t=now, name=name, duration_s=now - self._mark, top_functions=rows))
        # Reading the profile out is nobody's start-up time.
        self._mark = now if profile is None else time.monotonic()


def top_functions(profile: cProfile.Profile, count: int) -> list[dict[str, Any]]:
    """The functions with the most time of their own: `name`, `own_time_s`, `cum_time_s`, `calls`."""
    stats: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    ranked = sorted(stats.items(), key=lambda item: item[1][2], reverse=True)[:count]
    return [
        {"name": _label(*function), "own_time_s": own, "cum_time_s": cumulative, "calls": calls}
        for function, (_, calls, own, cumulative, _) in ranked
    ]


def _label(file: str, line: int, function: str) -> str:
    """`package.module:function`, the full dotted path below the folder Python imports it from."""
    if file == "~":
        return function
    path = Path(file)
    for root in _ROOTS:
        if root and path.is_relative_to(root):
            path = path.relative_to(root)
            break
    return ".".join(path.with_suffix("").parts).lstrip("/.") + f":{function}"
