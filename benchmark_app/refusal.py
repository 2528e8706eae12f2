"""How anything is refused: one line on stderr, exit status 2."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection

REFUSED = 2


def refuse(message: str) -> int:
    """Print why nothing was done, and return the exit status that says so."""
    print(f"benchmark_app: error: {' '.join(message.splitlines())}", file=sys.stderr)
    return REFUSED


def unknown_key(key: str, known: Collection[str], of: str = "") -> str:
    """One line for a setting that does not exist, with the nearest ones that do.

    Args:
        key: Its path as it was typed, with its value or without: `agent.gama=0.5`.
        known: Paths of all settings and groups there are.
        of: What lacks it, where that is a choice: the name of an engine.
    """
    name = key.partition("=")[0]
    group, _, leaf = name.rpartition(".")
    level = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == group}
    near = [level[word] for word in difflib.get_close_matches(leaf, level, n=3, cutoff=0.6)]
    if not near:  # in another group, or the group itself is misspelt
        near = [other for other in known if leaf != "name" and other.rpartition(".")[2] == leaf]
    if not level:
        near = near or difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        level = {other: other for other in known if "." not in other}
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(level.values()))}"
    return f"{key}: no such setting{f' of {of}' if of else ''}; {hint}"
