"""What an engine printed in a session's process, for servers whose output no run watches. Standard library only."""

from __future__ import annotations

import re
from pathlib import Path

from benchmark_app.physics.catalogue import ENGINES

LONGEST_LINE = 2**16


def printed_warnings(log: Path, engine: str) -> dict[str, int]:
    """Lines of a log that say the physics was wrong, by the warning's name.

    Args:
        log: What the process has printed so far.
        engine: Its engine.
    """
    patterns = {name: warning.pattern for name, warning in ENGINES[engine].warnings.items() if warning.pattern}
    # One pass for all: the group that matched says which warning it was.
    find = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items()).encode() or rb"(?!)")
    counts: dict[str, int] = {}
    with log.open("rb") as lines:
        while line := lines.readline(LONGEST_LINE):
            if match := find.search(line):
                name = str(match.lastgroup)
                counts[name] = counts.get(name, 0) + 1
    return counts
