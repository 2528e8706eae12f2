"""A socket that carries frames, one at a time in each direction. NumPy is imported with the first array."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark_app.execution.awake import Watch

from .frames import PREFIX_BYTES, Header, Limits, decode, encode, lengths

if TYPE_CHECKING:
    import numpy as np

CHUNK = 2**20
"""Bytes made room for at a time: memory grows with what arrives, not with what is announced."""


class LostError(ConnectionError):
    """The other side is gone."""


@dataclass(frozen=True)
class Message:
    """A frame that arrived.

    Attributes:
        id: Number of the request.
        kind: What is asked for; of a reply `ok` or `error`.
        values: Plain values.
        arrays: Arrays by name, the receiver's own.
    """

    id: int
    kind: str
    values: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Connection:
    """Frames over a stream socket.

    Args:
        sock: The socket, connected; closed with this.
        limits: How large a frame that is received may be.
        may_mark: Which arrays, by name, need not be finite.
    """

    def __init__(
        self, sock: socket.socket, limits: Limits, may_mark: Callable[[str], bool] = lambda name: False
    ) -> None:
        self.limits = limits
        self._socket = sock
        self._may_mark = may_mark
        self._got = bytearray()
        self._watch: Watch | None = None
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a step is one small frame each way

    def send(
        self,
        id: int,
        kind: str,
        values: Mapping[str, Any] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Send a frame.

        Args:
            id: Number of the request.
            kind: What is asked for, or `ok` or `error`.
            values: Plain values.
            arrays: Arrays by name; read before this returns.
            timeout: How long the other side may take to make room for it [s]; None: for ever.

        Raises:
            FrameError: Something in it cannot be sent; nothing was.
            LostError: The other side is gone.
            TimeoutError: It reads nothing.
        """
        self.send_bytes(self.frame(id, kind, values, arrays), timeout)

    def frame(
        self,
        id: int,
        kind: str,
        values: Mapping[str, Any] | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
    ) -> bytes:
        """A frame, for `send_bytes`.

        Raises:
            FrameError: Something in it cannot be sent.
        """
        if not arrays:
            return encode(Header(id, kind, dict(values or {})))
        from .arrays import pack

        specs, body = pack(arrays, self._may_mark)
        return encode(Header(id, kind, dict(values or {}), specs)) + body

    def send_bytes(self, data: bytes, timeout: float | None = None) -> None:
        """Send what `frame` made; see `send`."""
        self._socket.settimeout(timeout)
        try:
            self._socket.sendall(data)
        except TimeoutError:
            raise
        except OSError as error:
            raise LostError(error.strerror or str(error)) from None

    def stay_awake(self) -> None:
        """Look for a frame for a moment, where one is due, before `receive` sleeps until it comes."""
        if self._watch is None:
            self._watch = Watch(self._socket)
        if not self._got:
            self._watch.stay_awake()

    def receive(self, timeout: float | None, rest: float | None = None) -> Message:
        """Receive a frame.

        Args:
            timeout: How long to wait for it [s]; None: for ever.
            rest: How long what is left of a frame that has begun may take [s]; None: what is left of `timeout`.

        Raises:
            FrameError: What came is no frame, or too large a one.
            LostError: The other side is gone.
            TimeoutError: Nothing came, or not all.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._got:
            self._more(1, deadline)
        if rest is not None:
            deadline = time.monotonic() + rest
        self._more(PREFIX_BYTES, deadline)
        header_bytes, body_bytes = lengths(bytes(self._got[:PREFIX_BYTES]), self.limits)
        self._more(PREFIX_BYTES + header_bytes, deadline)
        text = bytes(self._got[PREFIX_BYTES : PREFIX_BYTES + header_bytes])
        header = decode(text, body_bytes, self.limits)
        del self._got[: PREFIX_BYTES + header_bytes]
        if not header.arrays:
            return Message(header.id, header.kind, header.values, {})
        from .arrays import unpack

        arrays = unpack(header, self._body(body_bytes, deadline), self._may_mark)
        return Message(header.id, header.kind, header.values, arrays)

    @property
    def readable(self) -> bool:
        """Whether something came that nobody asked for: a last word, or the end."""
        if self._got:
            return True
        self._socket.settimeout(0)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def close(self) -> None:
        """Close the socket. Calling it twice is harmless."""
        self._socket.close()

    def _more(self, count: int, deadline: float | None) -> None:
        """Have at least so many bytes at hand."""
        while len(self._got) < count:
            self._wait_until(deadline)
            self._got += self._arrived(lambda: self._socket.recv(2**16))

    def _body(self, count: int, deadline: float | None) -> bytearray:
        """The next bytes, in memory of their own: it begins where memory is given out, so that arrays are aligned."""
        body = bytearray(min(count, CHUNK))
        filled = min(count, len(self._got))
        body[:filled] = self._got[:filled]
        del self._got[:filled]
        while filled < count:
            if filled == len(body):
                body += bytes(min(CHUNK, count - filled))
            self._wait_until(deadline)
            with memoryview(body) as view, view[filled:] as rest:
                filled += self._arrived(lambda rest=rest: self._socket.recv_into(rest))  # type: ignore[misc]
        return body

    def _wait_until(self, deadline: float | None) -> None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    @staticmethod
    def _arrived(read: Callable[[], Any]) -> Any:
        try:
            found = read()
        except TimeoutError:
            raise
        except OSError as error:
            raise LostError(error.strerror or str(error)) from None
        if not found:
            raise LostError("the connection was closed")
        return found
