"""The append-only record of a run. Standard library only, so that any process can write and read it."""

from .events import Event
from .reader import JournalTail, merge, read_journal
from .writer import JournalWriter

__all__ = ["Event", "JournalTail", "JournalWriter", "merge", "read_journal"]
