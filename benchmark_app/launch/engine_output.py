"""Watching what an engine prints for warnings that mean wrong physics."""

from __future__ import annotations

import re
import time
from pathlib import Path

from benchmark_app.journal.events import EngineWarned
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.physics.cfg import EngineCfg

CHUNK = 2**20
"""Bytes looked at in one go: a worker that floods its log must not keep the supervisor from its signals."""
LONGEST_LINE = 2**16
SHOWN = 300
PERIOD_S = 5.0
"""Lines of a warning already reported are counted, and told this often."""


class EngineOutput:
    """Reads a worker's log while it grows, each part once, and knows the warnings of the engine in use.

    Args:
        log: The worker's output; it exists already.
        physics: The engine and the warnings that are allowed.
        setting: The setting that allows them.
    """

    def __init__(self, log: Path, physics: EngineCfg, setting: str = "physics.allow") -> None:
        self._file = log.open("rb", buffering=0)
        self._warnings = ENGINES[physics.name].warnings
        self._allow, self._setting = physics.allow, setting
        # One pass for all: the group that matched says which warning it was.
        self._find = re.compile(
            "|".join(
                f"(?P<{name}>{warning.pattern})" for name, warning in self._warnings.items() if warning.pattern
            ).encode()
            or rb"(?!)"
        )
        self._rest = b""
        self._counts: dict[str, int] = {}
        self._lines: dict[str, str] = {}
        self._told: set[str] = set()
        self._told_at = 0.0

    def read(self) -> list[EngineWarned]:
        """Look at what was added since the last call, at most `CHUNK` bytes of it.

        Returns:
            A warning's first line at once, and how often those known came again every `PERIOD_S`.
        """
        data = self._file.read(CHUNK)
        if data:
            self._look_through(data)
        due = time.monotonic() - self._told_at >= PERIOD_S
        return self._tell([name for name in self._counts if due or name not in self._told])

    def finish(self) -> list[EngineWarned]:
        """Look at all that is left, now that nothing will be added, and tell what was not told yet."""
        while data := self._file.read(CHUNK):
            self._look_through(data)
        self._look_through(b"\n")
        self._file.close()
        return self._tell(list(self._counts))

    def _look_through(self, data: bytes) -> None:
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        if len(data) - end > LONGEST_LINE:  # no engine writes such a line
            end = len(data)
        self._rest = data[end:]
        seen_to = 0
        for match in self._find.finditer(data, 0, end):
            if match.start() < seen_to:
                continue  # the same line again
            line_end = data.find(b"\n", match.end(), end)
            seen_to = end if line_end < 0 else line_end
            name = str(match.lastgroup)
            self._counts[name] = self._counts.get(name, 0) + 1
            if name not in self._lines:
                start = data.rfind(b"\n", 0, match.start()) + 1
                self._lines[name] = data[start:seen_to].decode(errors="replace").strip()[:SHOWN]

    def _tell(self, names: list[str]) -> list[EngineWarned]:
        if not names:
            return []
        now = self._told_at = time.monotonic()
        self._told.update(names)
        return [
            EngineWarned(
                t=now,
                name=name,
                meaning=self._warnings[name].meaning,
                count=self._counts.pop(name),
                line=self._lines.pop(name),
                setting=self._setting,
                allowed=name in self._allow,
            )
            for name in names
        ]
