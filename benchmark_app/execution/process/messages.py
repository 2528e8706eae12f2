"""What goes through the socket between two processes of ours: a byte for a step, and frames for all else. NumPy only.

A frame is its letter, the lengths of its header and of its body, the header in JSON, and the body: arrays as they stand
in memory. An array in the header is `{"array": [type, shape]}`; they follow each other in the body in that order.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

import numpy as np

STEP, DONE, FRAME = b"s", b"d", b"f"
_LENGTHS = struct.Struct("<QQ")
_KEY = "array"


class EndOfLink(Exception):
    """The other end is gone."""


def send(sock: socket.socket, message: dict[str, Any]) -> None:
    """Send a frame.

    Args:
        sock: Connected; its timeout holds.
        message: Plain data; dictionaries have text for keys, and none is `array` alone.

    Raises:
        EndOfLink: The other end is gone.
    """
    arrays: list[np.ndarray] = []
    header = json.dumps(_without_arrays(message, arrays)).encode()
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    send_bytes(sock, FRAME + _LENGTHS.pack(len(header), len(body)) + header + body)


def send_bytes(sock: socket.socket, data: bytes) -> None:
    """Send bytes as they are.

    Raises:
        EndOfLink: The other end is gone.
    """
    try:
        sock.sendall(data)
    except TimeoutError:
        raise
    except OSError as error:
        raise EndOfLink(error.strerror) from None


def receive(sock: socket.socket) -> dict[str, Any] | None:
    """Wait for what comes next.

    Returns:
        The message of a frame; None for a byte about a step.

    Raises:
        EndOfLink: The other end is gone.
        TimeoutError: Nothing came in the socket's time.
    """
    if _exactly(sock, 1) != FRAME:
        return None
    header_bytes, body_bytes = _LENGTHS.unpack(_exactly(sock, _LENGTHS.size))
    header, body = json.loads(_exactly(sock, header_bytes)), _exactly(sock, body_bytes)
    found: dict[str, Any] = _with_arrays(header, body, [0])
    return found


def _exactly(sock: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    view, at = memoryview(data), 0
    while at < count:
        try:
            got = sock.recv_into(view[at:])
        except TimeoutError:
            raise
        except OSError as error:
            raise EndOfLink(error.strerror) from None
        if not got:
            raise EndOfLink("closed")
        at += got
    return data


def _without_arrays(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_KEY: [value.dtype.str, value.shape]}
    if isinstance(value, dict):
        return {key: _without_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(part, arrays) for part in value]
    return value


def _with_arrays(value: Any, body: bytearray, at: list[int]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_KEY}:
            kind, shape = value[_KEY]
            count = int(np.prod(shape))
            # A copy, so that it is aligned, and keeps nothing else alive.
            array = np.frombuffer(body, np.dtype(kind), count, at[0]).reshape(shape).copy()
            at[0] += array.nbytes
            return array
        return {key: _with_arrays(part, body, at) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_arrays(part, body, at) for part in value]
    return value
