"""What the ranks of a distributed training add to the report of rank 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmark_app.bundle.facts import WARNINGS
from benchmark_app.journal.events import Event, Extra, Failed, Finished, Refused


def of_rank(events: Iterable[Event], rank: int) -> list[Event]:
    """What counts of another rank's journal: how it ended, and its engine's warnings under its own name.

    Its iterations are rank 0's, seen from elsewhere: counting them would count the work twice.
    """
    kept: list[Event] = []
    for event in events:
        if isinstance(event, Failed | Finished):
            kept.append(replace(event, rank=rank))
        elif isinstance(event, Refused):
            kept.append(event)
        elif isinstance(event, Extra):
            values = {f"rank{rank}.{key}": value for key, value in event.values.items() if key.startswith(WARNINGS)}
            kept += [replace(event, values=values)] if values else []
    return kept
