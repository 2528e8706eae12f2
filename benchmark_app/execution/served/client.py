"""A client's side of a session. Light; NumPy comes with the first array."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from . import auth
from .agreement import differences, told
from .connection import Connection, LostError, Message
from .frames import HANDSHAKE, PROTOCOL, FrameError, Limits

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray"]

HANDSHAKE_S = 5.0
AFTERWARDS_S = 2.0
"""How long a server may take to say how a session ended."""
DESCRIPTION = Limits(header=2**18, body=0, arrays=0)


class ServerError(RuntimeError):
    """A server, or a session with one, that cannot be used any more; one line."""


class ServerRefusal(ValueError):
    """A server does not take this client, or is not the one it wants; one line. Nothing was started."""


class Client:
    """A connection to a server, and at most one session over it.

    Requests are numbered and sent once: after anything that leaves open whether one was carried out, the session has
    failed for good, and every later call raises the same reason.

    Args:
        address: Host and port.
        token: What the server knows too.
        timeout_s: How long an answer may take [s].
        start_timeout_s: How long it may until the environment stands, kernels compiled [s].
        may_mark: Which arrays, by name, need not be finite.
        epitaph: Says how the server itself ended, "" where that is not known.

    Raises:
        ServerRefusal: Nobody listens there, the token is another, or it speaks another protocol.
    """

    def __init__(
        self,
        address: tuple[str, int],
        token: str,
        *,
        timeout_s: float,
        start_timeout_s: float,
        may_mark: Callable[[str], bool] = lambda _: False,
        epitaph: Callable[[], str] = lambda: "",
    ) -> None:
        self._address, self._token = address, token
        self._timeout_s, self._start_timeout_s = timeout_s, start_timeout_s
        self._may_mark, self._epitaph = may_mark, epitaph
        self._id = 0
        self._session = 0
        self._failed = ""
        self._closed = False
        self._connection = _connect(address, token, may_mark)

    def description(self) -> dict[str, Any]:
        """What the server serves.

        Raises:
            ServerError: It does not answer.
        """
        self._connection.limits = DESCRIPTION
        found = self._request("describe", {}, {}, HANDSHAKE_S).values.get("description")
        if not isinstance(found, dict):
            self._fail("describe", "its description is none")
        return found

    def require(self, described: dict[str, Any]) -> dict[str, Any]:
        """Have the server serve exactly what is described.

        Returns:
            Its description.

        Raises:
            ServerRefusal: It serves something else; every field that differs is named.
            ServerError: It does not answer.
        """
        theirs = self.description()
        if found := differences(described, theirs):
            self.close()
            raise ServerRefusal(f"serves another environment: {told(found)}")
        return theirs

    def open(self, values: dict[str, Any]) -> dict[str, Any]:
        """Open the session.

        Args:
            values: What is wanted: `num_envs` and what the host asks for.

        Returns:
            What the host says of its environment.

        Raises:
            ServerRefusal: The server does not take it; nothing was started, or the environment cannot be built.
            ServerError: It was lost meanwhile.
        """
        self._connection.limits = Limits()
        message = self._request("open", values, {}, self._start_timeout_s)
        session = message.values.pop("session", None)
        if type(session) is not int:
            self._fail("open", "its answer names no session")
        self._session = session
        return message.values

    def call(self, method: str, values: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask the environment for something, and wait.

        Args:
            method: What.
            values: Plain values.
            arrays: Arrays by name.

        Returns:
            Values and arrays of the answer, the arrays the caller's own.

        Raises:
            ValueError, TypeError, RuntimeError: What the environment raised (`link.CARRIED`).
            ServerError: The session failed, now or earlier.
            FrameError: Something in it cannot be sent; nothing was.
        """
        message = self._request(method, values, arrays, self._timeout_s)
        return message.values, message.arrays

    def give_up(self, why: str) -> NoReturn:
        """Never use the session again: what it said cannot be believed.

        Raises:
            ServerError: Always.
        """
        self._fail("its last answer", why)

    def close(self) -> None:
        """End the session. Calling it twice is harmless, and so is it after a failure."""
        if self._closed:
            return
        if self._session and not self._failed:
            with contextlib.suppress(Exception):  # whatever it says: it is over
                self._request("close", {}, {}, self._timeout_s)
        self._closed = True
        self._connection.close()

    def _request(self, kind: str, values: dict[str, Any], arrays: Arrays, timeout: float) -> Message:
        if self._failed:
            raise ServerError(self._failed)
        if self._closed:
            raise ServerError("the session is closed")
        data = self._connection.frame(self._id + 1, kind, values, arrays)
        self._id += 1
        try:
            if self._connection.readable:  # nothing was asked: it is a last word, or the end
                self._last_word(kind)
            self._connection.send_bytes(data, timeout)
            message = self._connection.receive(timeout)
        except TimeoutError:
            self._fail(kind, f"no answer within {timeout:g} s (execution.timeout_s and execution.start_timeout_s)")
        except LostError as error:
            self._fail(kind, str(error), lost=True)
        except FrameError as error:
            self._fail(kind, f"malformed: {error}")
        if message.kind == "bye":
            self._fail(kind, _text(message.values.get("message")))
        if message.id != self._id or message.kind not in ("ok", "error"):
            self._fail(kind, f"answered {message.kind} {message.id} to request {self._id}")
        if message.kind == "error":
            self._raise(kind, message.values)
        return message

    def _last_word(self, kind: str) -> NoReturn:
        message = self._connection.receive(HANDSHAKE_S)
        said = _text(message.values.get("message")) if message.kind == "bye" else "it spoke out of turn"
        self._fail(kind, said)

    def _raise(self, kind: str, values: dict[str, Any]) -> NoReturn:
        """Raise what the other side refused or raised."""
        what, message = values.get("kind"), _text(values.get("message"))
        if what == "raised" and isinstance(data := values.get("error"), dict):
            if not self._session:
                self.close()
            from benchmark_app.execution.link import raise_told

            raise_told({**data, "notes": data["notes"] if isinstance(data.get("notes"), list) else []})
        if not self._session:
            self._failed = message
            self.close()
            raise ServerRefusal(message)
        self._fail(kind, message)

    def _fail(self, kind: str, why: str, *, lost: bool = False) -> NoReturn:
        """Never use the session again."""
        self._connection.close()
        self._closed = True
        how = self._how_it_ended() if lost else ""
        self._failed = f"the served environments were lost: {how or why}"
        raise ServerError(self._failed)

    def _how_it_ended(self) -> str:
        """How the session's process ended, if the server still knows; else how the server did."""
        if said := self._epitaph():
            return said
        if not self._session:
            return ""
        with contextlib.suppress(ServerRefusal, ConnectionError, TimeoutError, FrameError):
            other = _connect(self._address, self._token, self._may_mark, AFTERWARDS_S)
            with contextlib.closing(other):
                other.send(1, "ended", {"session": self._session}, timeout=AFTERWARDS_S)
                how = other.receive(AFTERWARDS_S).values.get("how")
                return f"its process, {_text(how)}" if how else ""
        return self._epitaph() or "the server is gone too"


def _connect(
    address: tuple[str, int], token: str, may_mark: Callable[[str], bool], timeout: float = HANDSHAKE_S
) -> Connection:
    """Connect, and show one another the token.

    Raises:
        ServerRefusal: It cannot be.
    """
    try:
        sock = socket.create_connection(address, timeout)
    except OSError as error:
        why = error.strerror or error
        raise ServerRefusal(f"nobody serves there ({why}); start a server, see `serve --help`") from None
    connection = Connection(sock, HANDSHAKE, may_mark)
    try:
        greeting = connection.receive(timeout)
        nonce, protocol = greeting.values.get("nonce"), greeting.values.get("protocol")
        if greeting.kind != "hello" or not auth.is_nonce(nonce):
            raise FrameError("no greeting")
        if protocol != PROTOCOL:
            raise ServerRefusal(f"it speaks protocol {_text(protocol)}, and this is {PROTOCOL}")
        ours = auth.new_nonce()
        said = auth.proof(token, "client", str(nonce), ours)
        connection.send(0, "hello", {"nonce": ours, "proof": said}, timeout=timeout)
        answer = connection.receive(timeout)
        if answer.kind == "error":
            raise ServerRefusal(_text(answer.values.get("message")))
        if not auth.proves(answer.values.get("proof"), token, "server", str(nonce), ours):
            raise ServerRefusal("what listens there does not know the token")
    except (TimeoutError, LostError, FrameError) as error:
        connection.close()
        raise ServerRefusal(
            f"what listens there is no server of this kind, or turns clients away ({error or 'no answer'})"
        ) from None
    except ServerRefusal:
        connection.close()
        raise
    return connection


def _text(found: object) -> str:
    """What the other side said, as one line that is not too long."""
    return " ".join(str(found).split())[:1000]
