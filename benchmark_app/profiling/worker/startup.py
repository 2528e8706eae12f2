"""Start-up phases: their wall time from process spawn, and in a pass of its own the functions that took it."""

from __future__ import annotations

import cProfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Phase

from .flame import Sampler
from .profile_rows import rows

FLAME = "flame.speedscope.json"


@dataclass(frozen=True, kw_only=True)
class Profiled:
    """What the profiled pass keeps.

    Attributes:
        top_n: Functions per phase, where the whitelist has none for it.
        whitelist: Phase → `fnmatch` patterns of functions to keep instead.
        own: Modules that count as our code beside this package.
        flame: File for the flame graph.
    """

    top_n: int
    flame: Path
    whitelist: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: Sequence[str] = ()


class StartupPhases:
    """Times the phases one after the other; each begins where the one before it ended.

    Args:
        journal: Where each phase is recorded as it ends.
        spawned_at: When this process was started [s, monotonic clock]: the first phase begins there.
        profiled: What to profile; None times without a profiler, as a user's run would go.
    """

    def __init__(self, journal: JournalWriter, spawned_at: float, profiled: Profiled | None = None) -> None:
        self._journal = journal
        self._mark = spawned_at
        self._profiled = profiled
        self._sampler = Sampler()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Everything up to the end of the block belongs to this phase."""
        if self._profiled is None:
            yield
            self._ended(name, time.monotonic(), None)
            return
        profile = cProfile.Profile()
        self._sampler.start(name)
        profile.enable()
        try:
            yield
        finally:
            profile.disable()
            now = time.monotonic()
            self._sampler.stop()
            self._sampler.write(self._profiled.flame)  # now, because a later phase may end the process
        wanted = self._profiled
        kept = rows(profile, count=wanted.top_n, patterns=wanted.whitelist.get(name), own=wanted.own)
        self._ended(name, now, kept)
        # Reading the profile out is nobody's start-up time.
        self._mark = time.monotonic()

    def _ended(self, name: str, now: float, functions: list[dict[str, Any]] | None) -> None:
        self._journal.append(Phase(t=now, name=name, duration_s=now - self._mark, top_functions=functions))
        self._mark = now
