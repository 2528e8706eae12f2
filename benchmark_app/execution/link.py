"""The way to a host, as whoever steps its environments sees it. NumPy only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NoReturn

from benchmark_app.physics import UnsupportedSceneError

from .description import Board, Description
from .host import EnvHost

CARRIED: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ValueError, TypeError, RuntimeError, NotImplementedError, UnsupportedSceneError)
}
"""Errors that keep their type on the way; of any other, the message names the type."""
MOST_LETTERS = 8000


class LinkError(RuntimeError):
    """The host is gone, or does not answer: nothing more can be done with its environments."""


class EnvLink(ABC):
    """The way to one host. Something is posted, then waited for; several links are posted to before any is waited for.

    Attributes:
        description: What the environments are.
        rows: How many there are.
        board: Where a step is told. What the host wrote stays until the next post.
        core: The core of this machine the host keeps to; None: any.
    """

    description: Description
    rows: int
    board: Board
    core: int | None = None

    @abstractmethod
    def post_step(self) -> None:
        """Have the host take a step with the board's `actions`.

        Raises:
            LinkError: The host is gone.
        """

    @abstractmethod
    def wait_step(self, *, soon: bool = False) -> None:
        """Wait until the step is on the board.

        Args:
            soon: It is expected at any moment.

        Raises:
            LinkError: The host is gone, or does not answer in time.
            Exception: What the step raised there.
        """

    @abstractmethod
    def post(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Have the host do one of `host.COMMANDS`.

        Raises:
            LinkError: The host is gone.
        """

    @abstractmethod
    def wait(self) -> dict[str, Any]:
        """Wait for the answer.

        Raises:
            LinkError: The host is gone, or does not answer in time.
            Exception: What the command raised there.
        """

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Where the environments run, as plain JSON."""

    @abstractmethod
    def close(self) -> None:
        """Close the environments and leave nothing running. Calling it twice is harmless."""


class DirectLink(EnvLink):
    """A host in this very process.

    Args:
        host: The host. It is closed with the link.
    """

    def __init__(self, host: EnvHost) -> None:
        self._host = host
        self.description, self.rows = host.description, host.rows
        self.board = host.board = Board(host.description, host.rows)
        self._posted: tuple[str, Mapping[str, Any]] = ("", {})

    def post_step(self) -> None:
        """Nothing; the step is taken when it is waited for."""

    def wait_step(self, *, soon: bool = False) -> None:
        """Take the step."""
        self._host.step()

    def post(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Note what is to be done."""
        self._posted = name, arguments

    def wait(self) -> dict[str, Any]:
        """Do what was posted."""
        return self._host.command(*self._posted)

    def facts(self) -> dict[str, Any]:
        """Nothing beyond this process."""
        return {}

    def close(self) -> None:
        """Close the host."""
        self._host.close()


def told(error: Exception) -> dict[str, Any]:
    """An error as plain data, which `raise_told` raises again."""
    kind, message = type(error).__name__, str(error)
    if CARRIED.get(kind) is not type(error):
        kind, message = "RuntimeError", f"{kind}: {message}" if message else kind
    notes = [str(note)[:MOST_LETTERS] for note in getattr(error, "__notes__", [])]
    return {"kind": kind, "message": message[:MOST_LETTERS], "notes": notes}


def raise_told(data: Mapping[str, Any]) -> NoReturn:
    """Raise the error that `told` described."""
    error = CARRIED.get(str(data.get("kind")), RuntimeError)(str(data.get("message")))
    for note in data.get("notes", []):
        error.add_note(str(note))
    raise error
