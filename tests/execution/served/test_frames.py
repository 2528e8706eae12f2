"""Frames: what was sent arrives, and what is none is refused before anything is made of it."""

import json
import socket
import struct
import tracemalloc

import numpy as np
import pytest

from benchmark_app.execution.served.arrays import pack
from benchmark_app.execution.served.connection import Connection, LostError
from benchmark_app.execution.served.frames import MAGIC, FrameError, Header, Limits, decode, encode, lengths
from benchmark_app.execution.served.plain import apart, together

ARRAYS = {
    "obs.policy": np.arange(12, dtype=np.float32).reshape(3, 4),
    "odd": np.array([True, False, True]),
    "steps": np.array([2**62, -1]),
    "pixels": np.arange(27, dtype=np.uint8).reshape(3, 3, 3),
    "none": np.zeros((0, 4), dtype=np.float32),
    "number": np.array(2.5),
    "backwards": np.arange(6.0)[::-1],
}


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield Connection(ours, Limits(), lambda name: name == "marked"), Connection(theirs, Limits(), lambda name: True)
    ours.close()
    theirs.close()


def raw(header, body=b"", *, magic=MAGIC, header_bytes=None, body_bytes=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    sizes = (len(text) if header_bytes is None else header_bytes, len(body) if body_bytes is None else body_bytes)
    return struct.pack("<4sIQ", magic, *sizes) + text + body


def plain(**changes):
    return {"id": 1, "kind": "step", "values": {}, "arrays": [], **changes}


def test_values_and_arrays_arrive_as_they_were_sent_and_are_the_receivers_own(pair):
    here, there = pair
    values = {"text": "naïve ✓", "list": [1, -2.5, None, True], "nested": {"a": {}}}
    here.send(7, "step", values, ARRAYS)
    message = there.receive(5)
    assert (message.id, message.kind, message.values) == (7, "step", values)
    assert list(message.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        found = message.arrays[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.array_equal(found, array)
        assert found.flags.aligned
        assert found.flags.writeable


def test_several_frames_in_one_piece_and_one_frame_in_many(pair):
    here, there = pair
    specs, body = pack(ARRAYS, lambda name: False)
    frame = encode(Header(1, "step", {}, specs)) + body
    here._socket.sendall(frame * 3)
    for _ in range(3):
        assert there.receive(5).arrays["odd"].tolist() == [True, False, True]
    for at in range(0, len(frame), 17):
        here._socket.sendall(frame[at : at + 17])
    assert there.receive(5).arrays["steps"].tolist() == [2**62, -1]


def test_what_need_not_be_finite_arrives_bit_by_bit_and_all_else_is_refused_on_both_sides(pair):
    here, there = pair
    odd = np.array([[np.nan, 1.0], [-np.inf, np.inf]], dtype=np.float32)
    there.send(1, "ok", {}, {"marked": odd})
    assert np.array_equal(here.receive(5).arrays["marked"], odd, equal_nan=True)
    with pytest.raises(FrameError, match="reward: not finite"):
        here.send(1, "ok", {}, {"reward": odd})
    there.send(1, "ok", {}, {"reward": odd})
    with pytest.raises(FrameError, match="reward: not finite"):
        here.receive(5)
    specs, _ = pack({"reward": np.zeros(2)}, lambda name: False)
    here._socket.sendall(encode(Header(1, "ok", {}, specs)) + np.full(2, np.nan).tobytes())
    with pytest.raises(FrameError, match="not finite"):  # not marked, and not finite all the same
        there.receive(5)


@pytest.mark.parametrize("values", [{"x": float("nan")}, {"x": float("inf")}, {"x": object()}, {"x": b"bytes"}])
def test_no_value_is_sent_that_is_not_plain_and_finite(pair, values):
    with pytest.raises(FrameError):
        pair[0].send(1, "step", values)


@pytest.mark.parametrize(
    "frame",
    [
        raw(plain(), magic=b"HTTP"),
        raw(plain(), header_bytes=2**31),
        raw(plain(), body_bytes=2**60),
        raw(b"{"),
        raw(b"[]"),
        raw(b"\xff\xfe"),
        raw(b"[" * 100_000),
        raw(plain(id=-1)),
        raw(plain(id=True)),
        raw(plain(id=1.5)),
        raw(plain(kind="")),
        raw(plain(kind="a\nb")),
        raw(plain(values=[])),
        raw({**plain(), "more": 1}),
        raw(json.dumps(plain()).encode().replace(b'"id": 1', b'"id": 1, "id": 2')),
        raw(json.dumps(plain()).encode().replace(b'"id": 1', b'"id": 1' + b"0" * 5000)),
        raw(json.dumps(plain(values={"x": 1})).encode().replace(b'"x": 1', b'"x": NaN')),
        raw(json.dumps(plain(values={"x": 1})).encode().replace(b'"x": 1', b'"x": 1e999')),
        raw(json.dumps(plain(values={"x": "y"})).encode().replace(b"y", b"\\ud800")),
        raw(plain(arrays=[["a", "float32", [2], False]]), bytes(4)),
        raw(plain(arrays=[["a", "object", [1], False]]), bytes(8)),
        raw(plain(arrays=[["a", "float32", [-1], False]])),
        raw(plain(arrays=[["a", "float32", [2**40, 2**40], False]])),
        raw(plain(arrays=[["a", "float32", [0, 2**27, 2**27, 2**27], False]])),
        raw(plain(arrays=[["a", "float32", [1] * 40, False]]), bytes(8)),
        raw(plain(arrays=[["a", "float32", [1], False]] * 2), bytes(16)),
        raw(plain(arrays=[["a", "int32", [1], True]]), bytes(16)),
        raw(plain(arrays=[["a", "bool", [1], False]]), b"\2" + bytes(7)),
        raw(plain(arrays=[["a", "float32", [1], True]]), bytes(8) + b"\4" + bytes(7)),
        raw(plain(arrays=[["a", "float32", [1], True]]), b"\1" * 4 + bytes(4) + b"\1" + bytes(7)),
        raw(plain(arrays=[["a", "float32", [1], 1]]), bytes(8)),
        raw(plain(arrays=[["a", "float32"]])),
        raw(plain(arrays={})),
        raw(plain(arrays=[[f"a{i}", "bool", [0], False] for i in range(600)])),
    ],
)
def test_what_is_no_frame_is_refused(pair, frame):
    pair[0]._socket.settimeout(5)
    pair[0]._socket.sendall(frame[: 2**17])
    with pytest.raises(FrameError):
        pair[1].receive(5)


def test_memory_grows_with_what_arrives_and_not_with_what_is_announced(pair):
    announced = raw(plain(arrays=[["a", "uint8", [2**27], False]]), body_bytes=2**27)
    pair[0]._socket.sendall(announced + bytes(1000))
    pair[0].close()
    tracemalloc.start()
    with pytest.raises(LostError):
        pair[1].receive(5)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def test_half_a_frame_is_waited_for_only_so_long(pair):
    pair[0]._socket.sendall(raw(plain())[:10])
    with pytest.raises(TimeoutError):
        pair[1].receive(None, rest=0.05)


def test_a_header_seen_before_is_no_way_around_a_check():
    """Only its number may be another, and the number is looked at."""
    good = encode(Header(5, "ok", {}, pack({"a": np.zeros(2)}, lambda name: False)[0]))[16:]
    assert decode(good, 16, Limits()) == decode(good, 16, Limits())
    assert decode(good.replace(b'"id":5', b'"id":6'), 16, Limits()).id == 6
    for bad, body in (
        (good, 8),
        (good.replace(b'"id":5', b'"id":05'), 16),
        (good.replace(b'"id":5', b'"id":-5'), 16),
        (good.replace(b'"id":5', b'"id":5.0'), 16),
        (good.replace(b'"id":5', b'"id":5,"id":5'), 16),
        (good + b" x", 16),
        (good.replace(b"[2]", b"[3]"), 16),
    ):
        with pytest.raises(FrameError):
            decode(bad, body, Limits())
    with pytest.raises(FrameError, match="at most 0"):
        decode(good, 16, Limits(arrays=0))


def test_limits_hold_at_their_edge():
    text = json.dumps(plain()).encode()
    limits = Limits(header=len(text), body=0)
    assert lengths(raw(plain())[:16], limits) == (len(text), 0)
    assert decode(text, 0, limits).kind == "step"
    with pytest.raises(FrameError, match="header"):
        lengths(raw(plain())[:16], Limits(header=len(text) - 1))
    announced = raw(plain(), body_bytes=64)[:16]
    assert lengths(announced, Limits(body=64)) == (len(text), 64)
    with pytest.raises(FrameError, match="a body of 64 bytes; at most 63"):
        lengths(announced, Limits(body=63))


def test_plain_data_with_arrays_in_it_comes_together_again():
    data = {"env": {"a": np.arange(3), "b": [np.zeros(2), None]}, "version": 2, "flag": True}
    values, arrays = apart(data)
    found = together(json.loads(json.dumps(values)), arrays)
    assert found["env"]["a"] is data["env"]["a"]
    assert found["env"]["b"][0] is data["env"]["b"][0]
    assert (found["env"]["b"][1], found["version"], found["flag"]) == (None, 2, True)


@pytest.mark.parametrize("values", [{"@": "@0"}, {"@": 1}, {"@": "@0", "x": 1}, {"a": [{"@": "b"}]}])
def test_an_array_that_is_not_there_is_refused(values):
    with pytest.raises(FrameError):
        together(values, {})


@pytest.mark.parametrize("data", [{"@": 1}, {1: 2}, {"x": {1, 2}}, {"x": object()}])
def test_what_is_no_plain_data_is_not_sent(data):
    with pytest.raises(FrameError):
        apart(data)


def test_what_is_nested_without_end_is_refused():
    deep: list = []
    for _ in range(50):
        deep = [deep]
    for judge in (apart, lambda data: together(data, {})):
        with pytest.raises(FrameError, match="nested"):
            judge(deep)


def test_arrays_of_other_types_are_not_sent():
    for array in (np.array(["text"]), np.array([object()]), np.zeros(2, dtype=np.complex64), np.zeros(2, dtype=">f4")):
        with pytest.raises(FrameError, match="not sent"):
            pack({"a": array}, lambda name: False)
