"""Finding events by type, and the part of each worker process in a journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchmark_app.journal.events import Event, HostFacts, RunClosed, WorkerSpawned

E = TypeVar("E", bound=Event)
WARMING = "warming"
"""The part of a start-up that only compiles kernels: nothing of it is measured."""


@dataclass
class Pass:
    """The events from the spawn of one worker process to the next one's; startup and equivalence have several.

    `part` says which process of its workflow it is, "" where that has but one.
    """

    part: str = ""
    profiled: bool = False
    events: list[Event] = field(default_factory=list)


def in_order(events: Iterable[Event]) -> list[Event]:
    """The events by time; those of the same instant stay as they came."""
    return sorted(events, key=lambda event: event.t)


def every(events: Iterable[Event], cls: type[E]) -> list[E]:
    """All events of a type."""
    return [event for event in events if isinstance(event, cls)]


def first(events: Iterable[Event], cls: type[E]) -> E | None:
    """The first event of a type."""
    return next((event for event in events if isinstance(event, cls)), None)


def last(events: Sequence[Event], cls: type[E]) -> E | None:
    """The last event of a type."""
    return first(reversed(events), cls)


def without_profile(events: Iterable[Event]) -> list[Event]:
    """The events up to the spawn of a profiled pass, with all that concerns no worker: how its run was closed."""
    found: list[Event] = []
    profiled = False
    for event in events:
        profiled = profiled or (isinstance(event, WorkerSpawned) and event.profiled)
        if not profiled or isinstance(event, RunClosed | HostFacts):
            found.append(event)
    return found


def passes(events: Iterable[Event]) -> list[Pass]:
    """Cut a run into its worker processes. What precedes the first spawn belongs to the first."""
    result = [Pass()]
    spawned = False
    for event in events:
        if isinstance(event, WorkerSpawned):
            if spawned:
                result.append(Pass())
            result[-1].part, result[-1].profiled = event.part, event.profiled
            spawned = True
        result[-1].events.append(event)
    return result
