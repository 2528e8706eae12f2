"""A server and a client that are sent what is no frame: neither crashes, hangs, grows, or executes anything.

By default a few hundred frames for each; `make test-slow` sends more than ten thousand.
"""

import gc
import random
import socket
import threading
import time
import traceback
from contextlib import closing

import numpy as np
import pytest

from benchmark_app.execution.link import CARRIED, LinkError
from benchmark_app.execution.served import auth, server, session
from benchmark_app.execution.served.client import ServerError, ServerRefusal
from benchmark_app.execution.served.connection import Connection, LostError
from benchmark_app.execution.served.frames import FrameError, Limits
from benchmark_app.execution.served.plain import apart
from benchmark_app.execution.served.told import may_mark, of_a_state

from .fuzz import mutated, nothing_executed, resident_bytes
from .made import ACTIONS, DESCRIPTION, ROWS, CountingHost, a_session, linked, talking_to
from .test_server import TOKEN, connect, raw, serving

FEW, MANY = 250, 5500
AMOUNTS = [FEW, pytest.param(MANY, marks=pytest.mark.slow)]
ENDS_S = 10.0
GROWTH = 12 * 2**20
ALLOWED = (ServerError, ServerRefusal, LinkError, *CARRIED.values())


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """No tracebacks: they read and compile source files, and there would be thousands."""
    monkeypatch.setattr(traceback, "print_exception", lambda *_: None)
    monkeypatch.setattr(server, "MOST_WAITING", 10**6)


def frame_of(kind, values=None, arrays=None, number=2):
    with socket.socket() as unused:
        return Connection(unused, Limits(), may_mark).frame(number, kind, values, arrays)


OPENING = frame_of("ok", {"session": 1, "description": DESCRIPTION.to_plain(), "pid": 1}, number=1)


def requests():
    actions = np.full((ROWS, ACTIONS), 0.5, dtype=np.float32)
    rows, arrays = apart({"rows": np.array([0, 2])})
    return [
        frame_of("step", {}, {"actions": actions}),
        frame_of("command", {"name": "reset", "arguments": rows}, arrays),
        frame_of("command", {"name": "seed_episodes", "arguments": {"seed": 1, "count": None}}),
        frame_of("command", {"name": "drain", "arguments": {}}),
        frame_of("close"),
    ]


def answers():
    host = CountingHost()
    host.board["actions"][:] = 0.5
    host.step()
    values, arrays = apart(host.do_drain())
    told = {"kind": "ValueError", "message": "actions not finite", "notes": ["see the log"]}
    return [
        frame_of("ok", {}, of_a_state(host.board, reporting=False)),
        frame_of("ok", {}, of_a_state(host.board, reporting=True)),
        frame_of("ok", {"answer": {**values, "blocked": []}}, arrays),
        frame_of("error", {"kind": "raised", "message": "x", "error": told}),
        frame_of("bye", {"message": "the server was stopped"}),
    ]


def read_to_the_end(sock):
    sock.settimeout(ENDS_S)
    try:
        while sock.recv(2**16):
            pass
    except ConnectionError:
        pass


def watch_growth(number, amount, marks):
    if number in (amount // 2, amount - 1):
        gc.collect()
        marks.append(resident_bytes())


@pytest.mark.parametrize("amount", AMOUNTS)
def test_a_session_survives_or_ends_whatever_it_is_sent(amount):
    rng, valid, marks = random.Random(11), requests(), []
    with a_session() as (sock, _, _):  # imports what is imported once
        step_once(linked(talking_to(sock)))
    with nothing_executed():
        for number in range(amount):
            watch_growth(number, amount, marks)
            data = mutated(rng.choice(valid), rng)
            with a_session() as (sock, host, returned):
                talking_to(sock).open({"num_envs": ROWS, "device": "cpu"})
                sock.settimeout(ENDS_S)
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                read_to_the_end(sock)
            assert returned in ([0], [1]), f"case {number}: {data!r}"
            assert host.closed, f"case {number}: {data!r}"
            assert all(actions.shape == (ROWS, ACTIONS) for actions in host.taken)
    assert marks[1] - marks[0] < GROWTH


@pytest.mark.parametrize("amount", AMOUNTS)
def test_the_listening_process_goes_on_whatever_it_is_sent(amount, monkeypatch):
    """Before a client has shown that it knows the token, and after."""
    monkeypatch.setattr(server, "HANDSHAKE_S", 60.0)
    rng, marks = random.Random(12), []
    known = [frame_of("describe", number=1), frame_of("ended", {"session": 1}, number=1)]
    with serving(max_sessions=0) as made, closing(connect(made)) as patient, nothing_executed():
        for number in range(amount):
            watch_growth(number, amount, marks)
            if number % 2:
                client = connect(made)
                sock, data = client._connection._socket, mutated(rng.choice(known), rng)
            else:
                sock = raw(made)
                nonce = auth.new_nonce()
                greeting = Connection(sock, Limits()).receive(ENDS_S).values["nonce"]
                proof = auth.proof(TOKEN, "client", greeting, nonce)
                data = mutated(frame_of("hello", {"nonce": nonce, "proof": proof}, number=0), rng)
            with closing(sock):
                sock.settimeout(ENDS_S)
                try:
                    sock.sendall(data)
                    sock.shutdown(socket.SHUT_WR)
                except OSError:
                    continue
                read_to_the_end(sock)
        assert patient.description()["task"]["name"] == "ball"
        deadline = time.monotonic() + 5
        while len(made._clients) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(made._clients) == 1, "connections that were closed are kept"
    assert marks[1] - marks[0] < GROWTH


def step_once(link):
    link.board["actions"][:] = 0.5
    link.post_step()
    link.wait_step()


@pytest.mark.parametrize("amount", [FEW, pytest.param(2 * MANY, marks=pytest.mark.slow)])
def test_a_client_raises_one_of_its_own_errors_whatever_it_is_answered(amount):
    rng, valid, marks = random.Random(13), answers(), []
    client_of(OPENING, valid[0])()
    with nothing_executed():
        for number in range(amount):
            watch_growth(number, amount, marks)
            if rng.random() < 0.3:
                first, second = mutated(OPENING, rng), valid[0]
            else:
                first, second = OPENING, mutated(rng.choice(valid), rng)
            try:
                client_of(first, second)()
            except ALLOWED:
                continue
            except BaseException as error:
                raise AssertionError(f"case {number}: {first!r} {second!r}") from error
    assert marks[1] - marks[0] < GROWTH


def client_of(first, second):
    """What opens a session and takes a step with a server that answers so."""
    ours, theirs = socket.socketpair()
    ours.settimeout(ENDS_S)

    def answer():
        with theirs:
            connection = Connection(theirs, Limits(), may_mark)
            for data, is_last in ((first, first is not OPENING), (second, True)):
                try:
                    connection.receive(ENDS_S)
                    theirs.sendall(data)
                    if is_last:
                        theirs.shutdown(socket.SHUT_WR)
                except (LostError, FrameError, OSError):
                    return

    def run():
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        link = None
        try:
            link = linked(talking_to(ours, timeout_s=ENDS_S))
            before = {name: (array.shape, array.dtype) for name, array in link.board.arrays.items()}
            begin = time.monotonic()
            try:
                if len(second) % 2:
                    step_once(link)
                else:
                    link.post("drain", {})
                    link.wait()
            finally:
                assert time.monotonic() - begin < ENDS_S
                assert before == {name: (array.shape, array.dtype) for name, array in link.board.arrays.items()}
        finally:
            ours.close()
            thread.join(ENDS_S)

    return run


def test_the_frames_that_are_mutated_are_good_ones():
    with a_session() as (sock, _, returned):
        talking_to(sock).open({"num_envs": ROWS, "device": "cpu"})
        connection = Connection(sock, Limits(), may_mark)
        for number, data in enumerate(requests(), 2):
            head, _, tail = data.partition(b'"id":2')
            sock.sendall(head + f'"id":{number}'.encode() + tail)
            assert connection.receive(ENDS_S).kind == "ok"
    assert returned == [0]
    assert len({session.FRAME_S, session.REPLY_S}) == 2


def test_mutations_are_reproducible_and_nearly_always_change_something():
    valid = requests()[0]
    found = [mutated(valid, random.Random(seed)) for seed in range(200)]
    assert found == [mutated(valid, random.Random(seed)) for seed in range(200)]
    assert sum(data != valid for data in found) > 190
