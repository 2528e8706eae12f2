"""Reading journals back, also those a power cut left."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

from .events import KINDS, Event


class UnreadableLineError(ValueError):
    """A line is not an event."""


def _parse(line: bytes) -> Event | None:
    """Turn one line into its event; None for a kind only a newer version knows."""
    try:
        record = json.loads(line)
        cls = KINDS.get(record.pop("kind"))
        if cls is None:
            return None
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in record.items() if key in known})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableLineError(str(error)) from error


class JournalTail:
    """Reads a journal while it is being written: each `read` returns the complete lines added since the last one.

    It stops for good at the first line that is no event: what follows such a line cannot be trusted. `dropped` then
    says what was left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = ""
        self._offset = 0
        self._line = 0

    def read(self) -> list[Event]:
        """Return the events added since the last call; none while the file does not exist."""
        if self.dropped:
            return []
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except (FileNotFoundError, IsADirectoryError):
            return []
        complete = data[: data.rfind(b"\n") + 1]
        events = []
        for line in complete.splitlines():
            self._line += 1
            try:
                event = _parse(line)
            except UnreadableLineError as error:
                self.dropped = f"{self.path.name}: everything from line {self._line} on is unreadable ({error})"
                break
            if event is not None:
                events.append(event)
        self._offset += len(complete)
        return events

    @property
    def partial(self) -> bool:
        """Whether the file ends in the middle of a line."""
        return self.path.is_file() and self.path.stat().st_size > self._offset


def read_journal(path: Path) -> tuple[list[Event], str]:
    """Read a whole journal.

    Returns:
        The events up to the first unreadable line, and what was dropped ("" when nothing was).
    """
    tail = JournalTail(path)
    events = tail.read()
    if not tail.dropped and tail.partial:
        return events, f"{path.name}: the last line is incomplete"
    return events, tail.dropped


def merge(*journals: Iterable[Event]) -> list[Event]:
    """Merge journals by their common clock; events of one instant keep the order they are given in."""
    return sorted((event for journal in journals for event in journal), key=lambda event: event.t)
