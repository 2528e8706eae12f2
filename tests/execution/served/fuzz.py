"""Frames that are none any more: bytes and headers changed at random, but reproducibly."""

import json
import random
import struct
import sys
from contextlib import contextmanager

from benchmark_app.execution.served.frames import MAGIC

PREFIX = struct.Struct("<4sIQ")
ODD = (
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        2**31,
        2**63,
        2**64,
        -(2**63),
        1e308,
        -0.0,
        0.5,
        "",
        "x",
        "x" * 300,
        "@0",
        "\0",
        "é",
    ),
    *(
        [],
        {},
        [[]],
        {"@": "@0"},
        {"@": 5},
        [1] * 100,
        {"id": 1},
        "__class__",
        "os.system",
        "../../etc/passwd",
        "cos\nsystem",
    ),
    *("float32", "object", "float16", "O", "|V8", [2**40], [-1], [0, 2**62], [1, 1, 1, 1, 1, 1, 1, 1]),
)
CONSTANTS = (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"00", b"1" * 400, b"'", b"\xff", b"\\ud800", b"[" * 3000)
PICKLE = b"\x80\x04cos\nsystem\nX\x04\x00\x00\x00true\x85R."
EDGES = (0, 1, 7, 15, 16, 2**12, 2**18, 2**18 + 1, 2**28, 2**28 + 8, 2**31, 2**32 - 1)


def mutated(frame: bytes, rng: random.Random) -> bytes:
    """The frame, changed in one way or several."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        frame = rng.choice(WAYS)(frame, rng)
    return frame


def _flip(frame, rng):
    data = bytearray(frame or b"\0")
    for _ in range(rng.choice((1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _cut(frame, rng):
    return frame[: rng.randrange(len(frame) + 1)]


def _slice(frame, rng):
    a, b = sorted(rng.randrange(len(frame) + 1) for _ in range(2))
    return rng.choice((frame[:a] + frame[b:], frame[:b] + frame[a:], frame[:a] + rng.randbytes(b - a) + frame[b:]))


def _insert(frame, rng):
    at = rng.randrange(len(frame) + 1)
    return frame[:at] + rng.choice((rng.randbytes(rng.randrange(1, 40)), PICKLE, *CONSTANTS)) + frame[at:]


def _lengths(frame, rng):
    sizes = rng.choice(EDGES), rng.choice((*EDGES, 2**62))
    return PREFIX.pack(rng.choice((MAGIC, MAGIC, MAGIC, b"BAE2", b"\x80\x04co")), *sizes) + frame[PREFIX.size :]


def _header(frame, rng):
    """Something else somewhere in the header, and lengths that are right."""
    try:
        magic, header_bytes, _ = PREFIX.unpack(frame[: PREFIX.size])
        plain = json.loads(frame[PREFIX.size : PREFIX.size + header_bytes].decode())
    except (struct.error, ValueError, RecursionError):
        return _insert(frame, rng)
    body = frame[PREFIX.size + header_bytes :]
    plain = _elsewhere(plain, rng)
    text = json.dumps(plain).encode()
    if rng.random() < 0.2:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(CONSTANTS) + text[at:]
    if rng.random() < 0.3:
        body = rng.choice((body + bytes(8), body[:-8], b"", rng.randbytes(len(body)), b"\xff" * len(body)))
    return PREFIX.pack(magic, len(text), len(body)) + text + body


def _elsewhere(node, rng):
    """The node with one thing in it replaced, added or taken out."""
    if isinstance(node, dict) and node and rng.random() < 0.85:
        key = rng.choice(list(node))
        way = rng.random()
        if way < 0.1:
            return {name: value for name, value in node.items() if name != key}
        if way < 0.2:
            return {**node, rng.choice(("more", "@", "", "id")): rng.choice(ODD)}
        return {**node, key: _elsewhere(node[key], rng)}
    if isinstance(node, list) and node and rng.random() < 0.85:
        at = rng.randrange(len(node))
        if rng.random() < 0.15:
            return node[:at] + node[at + 1 :] if rng.random() < 0.5 else node + node[at : at + 1]
        return [*node[:at], _elsewhere(node[at], rng), *node[at + 1 :]]
    return rng.choice(ODD)


WAYS = (_flip, _cut, _slice, _insert, _lengths, _header, _header, _header, _header)

# What would be a sign of code that was executed. The hook stays for the life of the process, and sleeps.
EXECUTED = (
    "exec",
    "compile",
    "import",
    "os.system",
    "os.exec",
    "subprocess.Popen",
    "pickle.find_class",
    "ctypes.dlopen",
)
_watching: list[list[str]] = []
_hooked = False


@contextmanager
def nothing_executed():
    """Raise at the end if any code was compiled, imported or executed meanwhile, or a program started."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_note)
        _hooked = True
    seen: list[str] = []
    _watching.append(seen)
    try:
        yield
    finally:
        _watching.remove(seen)
    assert not seen, seen


def _note(event, arguments):
    if _watching and event in EXECUTED:
        for seen in _watching:
            seen.append(f"{event} {arguments!r:.200}")


def resident_bytes():
    """Memory of this process that is in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
