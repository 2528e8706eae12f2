"""How anything is refused: one line on stderr, exit status 2."""

from __future__ import annotations

import sys

REFUSED = 2


def refuse(message: str) -> int:
    """Print why nothing was done, and return the exit status that says so."""
    print(f"benchmark_app: error: {' '.join(message.splitlines())}", file=sys.stderr)
    return REFUSED
