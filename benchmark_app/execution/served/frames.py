"""The frames that a served environment and its client exchange. Standard library only.

A frame is a prefix of 16 bytes, a header in JSON and a body of raw arrays:

    magic `BAE1` · header length, uint32 · body length, uint64 · header · body          (little-endian)

The header says what the frame is (`kind`), which request it belongs to (`id`), plain values, and for each array its
name, type and shape. Arrays stand in that order in the body, in C order, each from a multiple of eight bytes on.
Nothing in a frame is ever executed or looked up: there is no pickle, and a type is one of a table.
"""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"BAE1"
PROTOCOL = 1
"""What both sides speak; it grows with every change that the other side could not read."""
ALIGNMENT = 8
ITEM_BYTES = {"bool": 1, "uint8": 1, "int32": 4, "int64": 8, "float32": 4, "float64": 8}
"""The types of arrays, with the bytes of a number."""
MOST_LETTERS = 200  # of a name

MOST_HEADERS, MOST_REMEMBERED = 64, 2**12
"""Headers that are remembered, and bytes of one: those of steps are the same again and again, but for their number."""

_PREFIX = struct.Struct("<4sIQ")
_ID = re.compile(rb'\{"id":(0|[1-9][0-9]{0,17}),')
PREFIX_BYTES = _PREFIX.size


class FrameError(ValueError):
    """Bytes that are no frame, or a frame beyond a limit. Whoever sent them is not to be listened to any more."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large a frame may be. A length is looked at before anything of that length is made.

    Attributes:
        header: Bytes of the header.
        body: Bytes of all arrays.
        arrays: Arrays in a frame.
        rank: Dimensions of an array.
    """

    header: int = 2**18
    body: int = 2**28
    arrays: int = 512
    rank: int = 5


HANDSHAKE = Limits(header=2**12, body=0, arrays=0)
"""Before the other side has shown that it knows the token."""


@dataclass(frozen=True)
class ArraySpec:
    """An array as the header announces it.

    Attributes:
        name: Its name, once in a frame.
        dtype: One of `ITEM_BYTES`.
        shape: Its dimensions.
        marked: Not all its numbers are finite: a byte of marks for each follows it; see `arrays.py`.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    marked: bool

    @property
    def size(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in the body, marks included, to the next multiple of eight."""
        return padded(self.size * ITEM_BYTES[self.dtype]) + (padded(self.size) if self.marked else 0)


@dataclass(frozen=True)
class Header:
    """What the header of a frame says.

    Attributes:
        id: Number of the request, which its reply bears too.
        kind: What is asked for; of a reply `ok` or `error`.
        values: Plain values, every number finite.
        arrays: The arrays of the body, in order.
    """

    id: int
    kind: str
    values: dict[str, Any] = field(default_factory=dict)
    arrays: tuple[ArraySpec, ...] = ()

    @property
    def body_bytes(self) -> int:
        """Length of the body."""
        return sum(spec.nbytes for spec in self.arrays)


_decoded: dict[tuple[bytes, int, Limits], Header] = {}
"""Headers without values that were found to be good, by all of their text but the number it begins with."""


def padded(count: int) -> int:
    """The next multiple of eight."""
    return -(-count // ALIGNMENT) * ALIGNMENT


def encode(header: Header) -> bytes:
    """Prefix and header of a frame; the body goes behind them.

    Raises:
        FrameError: A value is no plain JSON, or not finite.
    """
    arrays = [[spec.name, spec.dtype, spec.shape, spec.marked] for spec in header.arrays]
    plain = {"id": header.id, "kind": header.kind, "values": header.values, "arrays": arrays}
    try:
        text = json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise FrameError(f"{header.kind}: cannot be sent ({error})") from None
    return _PREFIX.pack(MAGIC, len(text), header.body_bytes) + text


def lengths(prefix: bytes, limits: Limits) -> tuple[int, int]:
    """Bytes of the header and of the body, by the first 16 bytes of a frame.

    Raises:
        FrameError: It is no frame, or a length is beyond its limit.
    """
    magic, header, body = _PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise FrameError(f"no frame: it begins with {magic!r} instead of {MAGIC!r}")
    if header > limits.header:
        raise FrameError(f"a header of {header} bytes; at most {limits.header} are taken")
    if body > limits.body:
        raise FrameError(f"a body of {body} bytes; at most {limits.body} are taken")
    return header, body


def decode(text: bytes, body_bytes: int, limits: Limits) -> Header:
    """Read a header, and check it against the length of its body.

    Raises:
        FrameError: It is none, or what it says does not fit.
    """
    begin = _ID.match(text)
    same = None if begin is None else _decoded.get((text[begin.end() :], body_bytes, limits))
    if begin is not None and same is not None:  # a step like the last one: only its number is another
        return Header(int(begin[1]), same.kind, {}, same.arrays)
    try:
        plain = json.loads(
            text.decode(),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
        if b"\\u" in text:  # half a letter can be written so, and could not be printed
            json.dumps(plain, ensure_ascii=False).encode()
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a header that is no JSON ({type(error).__name__})") from None
    if not isinstance(plain, dict) or plain.keys() != {"id", "kind", "values", "arrays"}:
        raise FrameError("a header without exactly id, kind, values and arrays")
    if type(plain["id"]) is not int or plain["id"] < 0:
        raise FrameError("id: must be a whole number of at least 0")
    if not _is_name(plain["kind"]):
        raise FrameError("kind: must be a name")
    if not isinstance(plain["values"], dict):
        raise FrameError("values: must be an object")
    header = Header(plain["id"], plain["kind"], plain["values"], _specs(plain["arrays"], limits))
    if header.body_bytes != body_bytes:
        raise FrameError(f"a body of {body_bytes} bytes; its header announces {header.body_bytes}")
    if begin is not None and not header.values and len(text) <= MOST_REMEMBERED:
        if len(_decoded) >= MOST_HEADERS:
            _decoded.clear()
        _decoded[text[begin.end() :], body_bytes, limits] = header
    return header


def _specs(found: Any, limits: Limits) -> tuple[ArraySpec, ...]:
    if not isinstance(found, list) or len(found) > limits.arrays:
        raise FrameError(f"arrays: must be a list of at most {limits.arrays}")
    specs = tuple(_spec(each, limits) for each in found)
    if len({spec.name for spec in specs}) != len(specs):
        raise FrameError("arrays: a name stands there twice")
    return specs


def _spec(found: Any, limits: Limits) -> ArraySpec:
    if not isinstance(found, list) or len(found) != 4:
        raise FrameError("an array: must be name, type, shape and whether it is marked")
    name, dtype, shape, marked = found
    if not _is_name(name):
        raise FrameError("an array: its name must be a name")
    if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
        raise FrameError(f"{name}: its type must be one of {', '.join(ITEM_BYTES)}")
    if not isinstance(shape, list) or len(shape) > limits.rank:
        raise FrameError(f"{name}: its shape must be a list of at most {limits.rank}")
    if not all(type(length) is int and 0 <= length <= limits.body for length in shape):
        raise FrameError(f"{name}: its shape must be whole numbers from 0 to {limits.body}")
    if not isinstance(marked, bool) or (marked and not dtype.startswith("float")):
        raise FrameError(f"{name}: only numbers that need not be finite have marks")
    if math.prod(max(1, length) for length in shape) > limits.body:  # also where another dimension is 0
        raise FrameError(f"{name}: too large")
    return ArraySpec(name, dtype, tuple(shape), marked)


def _is_name(found: Any) -> bool:
    return isinstance(found, str) and 0 < len(found) <= MOST_LETTERS and found.isprintable()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FrameError("a header in which a key stands twice")
    return found


def _integer(text: str) -> int:
    if len(text) > 20:
        raise FrameError("a whole number beyond 64 bits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FrameError("a number that is not finite")
    return number


def _no_constant(text: str) -> float:
    raise FrameError(f"{text}, which is no number")
