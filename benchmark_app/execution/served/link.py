"""A served environment as whoever steps it sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from benchmark_app.execution.description import Board, Description
from benchmark_app.execution.link import EnvLink, LinkError

from .client import Client, ServerError
from .frames import FrameError, Limits
from .owned import OwnedServer
from .plain import apart, together
from .told import ON_THE_BOARD, put_on


class ServedLink(EnvLink):
    """A session with a server. Construction opens it.

    Args:
        client: Connected to a server whose description was found to be the right one; closed with the link.
        rows: Rows of the session.
        device: Torch device of the engine.
        owner: The server, where it is ours to stop.
        served: What the server says of itself.

    Raises:
        ServerRefusal: The server does not take it.
        LinkError: The server was lost, or says of its environments what cannot be.
        Exception: What building them raised.
    """

    def __init__(
        self, client: Client, rows: int, device: str, owner: OwnedServer | None, served: Mapping[str, Any]
    ) -> None:
        self.rows = rows
        self._client, self._owner, self._served = client, owner, served
        self._posted: tuple[str, dict[str, Any]] = ("", {})
        self._reporting = False
        try:
            opened = client.open({"num_envs": rows, "device": device})
            self.description = Description.from_plain(opened["description"])
            self._pid = int(opened["pid"])
            size = Board.size(self.description, rows)
        except ServerError as error:
            raise LinkError(str(error)) from None
        except (KeyError, AttributeError, OverflowError) as error:
            raise LinkError(f"the server says of its environments what cannot be ({error!r})") from None
        if not 0 < size <= (most := Limits().body):  # before memory is taken for it
            raise LinkError(f"a state of {size} bytes; at most {most} are taken from a server")
        self.board = Board(self.description, rows)

    def post_step(self) -> None:
        """Nothing: it is sent when it is waited for, since there is no other to go on meanwhile."""

    def wait_step(self, *, soon: bool = False) -> None:
        """Send the actions, and wait for what came of them."""
        _, arrays = self._call("step", {}, {"actions": self.board["actions"]})
        self._put(arrays)

    def post(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Note what is to be asked."""
        self._posted = name, dict(arguments)

    def wait(self) -> dict[str, Any]:
        """Ask it, and wait for the answer."""
        name, given = self._posted
        arguments, sent = apart(given)
        values, arrays = self._call("command", {"name": name, "arguments": arguments}, sent)
        answer = values.get("answer")
        if not isinstance(answer, dict):
            raise LinkError(f"{name}: the server's answer is none")
        if name == "reporting":
            self._reporting = bool(given["enabled"])
        if name in ON_THE_BOARD:
            self._put({key: array for key, array in arrays.items() if not key.startswith("@")}, reporting=False)
        try:
            found: dict[str, Any] = together(answer, arrays)
        except FrameError as error:
            raise LinkError(f"{name}: the server's answer is none ({error})") from None
        return found

    def facts(self) -> dict[str, Any]:
        """Server, process, and what the server computes with."""
        return {"pid": self._pid, "rows": self.rows, "python": self._served["python"], "engine": self._served["engine"]}

    def close(self) -> None:
        """End the session; and the server, where it is ours."""
        self._client.close()
        if self._owner is not None:
            self._owner.close()

    def _call(self, kind: str, values: dict[str, Any], arrays: Mapping[str, Any]) -> Any:
        try:
            return self._client.call(kind, values, arrays)
        except ServerError as error:
            raise LinkError(str(error)) from None
        except FrameError as error:  # of ours: nothing was sent
            raise ValueError(str(error)) from None

    def _put(self, arrays: Mapping[str, Any], *, reporting: bool | None = None) -> None:
        try:
            put_on(self.board, arrays, reporting=self._reporting if reporting is None else reporting)
        except FrameError as error:
            with contextlib.suppress(ServerError):
                self._client.give_up(f"malformed: {error}")
            raise LinkError(f"the server's answer is none ({error})") from None
