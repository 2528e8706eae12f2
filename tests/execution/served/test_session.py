"""A session: requests are numbered, what fails stays failed, and an environment's own errors arrive as they were."""

import socket
import threading
import time

import numpy as np
import pytest

from benchmark_app.execution.link import LinkError
from benchmark_app.execution.served import session
from benchmark_app.execution.served.client import ServerError, ServerRefusal
from benchmark_app.execution.served.connection import Connection
from benchmark_app.execution.served.frames import FrameError, Limits
from benchmark_app.execution.served.printed import printed_warnings
from benchmark_app.execution.served.told import may_mark

from .made import ACTIONS, DESCRIPTION, ROWS, CountingHost, a_session, linked, talking_to


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def ask(link, name, **arguments):
    link.post(name, arguments)
    return link.wait()


def step(link, value=0.5):
    link.board["actions"][:] = value
    link.post_step()
    link.wait_step()


def test_steps_and_commands_go_there_and_their_outcome_comes_back():
    with a_session() as (sock, host, returned):
        link = linked(talking_to(sock))
        assert link.description == host.description
        ask(link, "init")
        for number in range(1, 6):
            step(link)
            assert (link.board["obs.policy"] == number).all()
            assert (link.board["obs.pixels"] == number).all()
            assert link.board["reward"].tolist() == [0.5 * ACTIONS] * ROWS
            assert bool(link.board.number("has_final")) == (number == 5)
        assert (link.board["final.policy"] == -5).all()
        assert link.board["final_mask"].all()
        drained = ask(link, "drain")
        assert drained["tally"].tolist() == np.arange(6.0).reshape(2, 3).tolist()
        assert np.isnan(drained["measured"]).all()
        assert ask(link, "diagnostics") == {"available": True, "nested": {"list": [1, 2.5, "x", None]}, "blocked": []}
        ask(link, "reporting", enabled=True)
        step(link)
        assert np.isnan(link.board["metrics"]).all()
        link.close()
    assert (host.closed, returned) == (True, [0])


def test_an_environments_own_error_arrives_as_it_was_and_ends_nothing():
    with a_session() as (sock, host, _):
        link = linked(talking_to(sock))
        with pytest.raises(ValueError, match="actions not finite in row 0"):
            step(link, np.nan)
        assert np.isnan(host.taken[0]).all()
        step(link)
        assert (link.board["obs.policy"] == 1).all()


@pytest.mark.parametrize(("name", "arguments"), [("seed", {"seed": -1}), ("warnings", {})])
def test_what_no_environment_says_fails_the_session_for_good(name, arguments):
    """An error of another kind, and an answer that cannot be sent."""
    with a_session() as (sock, _, _):
        link = linked(talking_to(sock))
        with pytest.raises(RuntimeError, match=r"KeyError|cannot be sent"):
            ask(link, name, **arguments)
        for _ in range(2):
            with pytest.raises(LinkError, match=r"an earlier request failed|cannot be sent"):
                step(link)


def test_an_unknown_command_and_arguments_that_are_none_end_nothing_else():
    with a_session() as (sock, _, _):
        link = linked(talking_to(sock))
        with pytest.raises(TypeError, match="unexpected"):
            ask(link, "seed", seed=1, more=2)
        step(link)
        with pytest.raises(LinkError, match="malformed"):
            ask(link, "__init__")


def test_a_request_is_taken_once():
    """One that bears the number of an earlier one is not taken again, and neither is any other after it."""
    with a_session() as (sock, host, returned):
        client = talking_to(sock)
        link = linked(client)
        step(link)
        client._id -= 1
        with pytest.raises(LinkError, match="request 2 where 3 was due"):
            step(link)
        with pytest.raises(LinkError, match="request 2 where 3 was due"):
            step(link)
    assert host.count == 1
    assert (host.closed, returned) == (True, [1])


def test_a_client_that_goes_away_closes_its_environments():
    with a_session() as (sock, host, returned):
        linked(talking_to(sock))
        sock.close()
        deadline = time.monotonic() + 5
        while not returned and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (host.closed, returned) == (True, [0])


@pytest.mark.parametrize("wanted", [{}, {"num_envs": "3", "device": "cpu"}, {"num_envs": 3, "device": "cpu", "x": 1}])
def test_a_request_to_open_that_asks_for_something_else_builds_nothing(wanted, pair):
    ours, theirs = pair
    spec = {"session": 1, "id": 1, "request": wanted, "settings": {}, "files": None}
    built = []
    before, session.make_host = session.make_host, lambda **_: built.append(1)
    try:
        assert session.Session(Connection(theirs, Limits(), may_mark), spec).run() == 1
    finally:
        session.make_host = before
    assert Connection(ours, Limits()).receive(5).kind == "error"
    assert not built


def test_an_environment_that_cannot_be_built_says_why():
    with a_session() as (sock, _, returned):

        def fail(**_):
            raise ValueError("task.max_effort=-1: must be greater than 0")

        session.make_host = fail
        with pytest.raises(ValueError, match="max_effort=-1"):
            linked(talking_to(sock))
    assert returned == [1]


class Scripted:
    """A server that answers each request with what it is told to."""

    def __init__(self, sock, *answers):
        self.connection = Connection(sock, Limits(), may_mark)
        self.answers = answers
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        for answer in self.answers:
            message = self.connection.receive(5)
            answer(self.connection, message.id)


def opened(connection, number):
    connection.send(number, "ok", {"session": 1, "description": DESCRIPTION.to_plain(), "pid": 1})


def test_a_server_that_does_not_answer_is_waited_for_only_so_long(pair):
    ours, theirs = pair
    Scripted(theirs, opened)
    link = linked(talking_to(ours, timeout_s=0.2))
    begin = time.monotonic()
    with pytest.raises(LinkError, match=r"no answer within 0.2 s"):
        step(link)
    assert time.monotonic() - begin < 3
    with pytest.raises(LinkError, match=r"no answer within 0.2 s"):
        step(link)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda there, number: there.close(), "environments were lost"),
        (lambda there, number: there.send(number + 1, "ok"), "to request 2"),
        (lambda there, number: there.send(number, "maybe"), "answered maybe"),
        (lambda there, number: there.send(number, "bye", {"message": "the server was stopped"}), "was stopped"),
        (lambda there, number: there.send(number, "ok"), "numbers: are missing"),
        (lambda there, number: there.send(number, "ok", {}, {"numbers": np.zeros(3)}), "numbers: float64"),
        (lambda there, number: there.send(number, "ok", {}, {"numbers": np.zeros(6)}), "a step that tells"),
        (lambda there, number: there._socket.sendall(b"HTTP/1.1 200 OK\r\n\r\n"), "malformed"),
    ],
)
def test_an_answer_that_is_none_fails_the_session_for_good(answer, said, pair):
    ours, theirs = pair
    Scripted(theirs, opened, answer)
    link = linked(talking_to(ours))
    before = {name: array.copy() for name, array in link.board.arrays.items() if name != "actions"}
    with pytest.raises(LinkError, match=said):
        step(link)
    for name, array in before.items():
        assert np.array_equal(link.board[name], array), f"{name} was written though the answer was refused"
    with pytest.raises(LinkError):
        step(link)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ({"shape": [4], "dtype": "float64"}, "must be one of float32, uint8"),
        ({"shape": [4], "dtype": "1,f4"}, "must be one of float32, uint8"),
        ({"shape": [0], "dtype": "float32"}, "one to three dimensions"),
        ({"shape": [1] * 5, "dtype": "float32"}, "one to three dimensions"),
        ({"shape": [2**40], "dtype": "uint8"}, "at most 268435456 are taken"),
        ({"shape": [2**62, 2**62], "dtype": "uint8"}, "what cannot be|are taken"),
        ({"dtype": "uint8"}, "what cannot be"),
    ],
)
def test_a_server_that_tells_of_impossible_observations_is_not_believed(pair, group, said):
    ours, theirs = pair
    described = {**DESCRIPTION.to_plain(), "groups": {"policy": group}}
    values = {"session": 1, "description": described, "pid": 1}
    Scripted(theirs, lambda there, number: there.send(number, "ok", values))
    with pytest.raises((LinkError, ValueError), match=said):
        linked(talking_to(ours))


def test_a_last_word_is_heard_before_the_next_request(pair):
    ours, theirs = pair
    server = Scripted(theirs, opened)
    link = linked(talking_to(ours))
    server.thread.join(5)
    server.connection.send(2, "bye", {"message": "the server was stopped"})
    server.connection.close()
    with pytest.raises(LinkError, match="the server was stopped"):
        step(link)


def test_what_cannot_be_sent_is_refused_and_ends_nothing():
    with a_session() as (sock, host, _):
        client = talking_to(sock)
        linked(client)
        for values in ({"x": object()}, {"x": float("nan")}):
            with pytest.raises(FrameError):
                client.call("step", values, {})
        assert client.call("command", {"name": "diagnostics", "arguments": {}}, {})
        assert not host.taken


def test_a_server_cannot_have_any_other_error_raised_than_those_of_environments(pair):
    ours, theirs = pair
    data = {"kind": "SystemExit", "message": "0", "notes": "no list"}
    Scripted(theirs, opened, lambda there, n: there.send(n, "error", {"kind": "raised", "error": data}))
    link = linked(talking_to(ours))
    with pytest.raises(RuntimeError, match="0"):
        step(link)
    for kind in (ServerError, ServerRefusal):
        assert issubclass(kind, Exception)


def test_what_an_engine_only_printed_is_counted_where_no_run_watches(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"all is well \xff\nnefc overflow - please increase njmax beyond 33\n" * 3 + b"overflow\n")
    assert printed_warnings(log, "newton_mjwarp") == {"constraint_overflow": 3}
    log.write_bytes(b"all is well\n")
    assert printed_warnings(log, "newton_mjwarp") == {}


def test_a_guard_writes_where_the_server_says_and_not_where_a_client_does(tmp_path):
    given = {}

    class Guarded(CountingHost):
        def do_guard(self, settings):
            given.update(settings)

        def do_warnings(self):
            return {"counts": {"x": 1}}

    files = tmp_path / "session-1-1"
    files.with_suffix(".log").write_text("nothing\n")
    with a_session(Guarded(), files=str(files)) as (sock, _, _):
        link = linked(talking_to(sock))
        ask(link, "guard", settings={"directory": "/etc", "history": 16})
        assert ask(link, "warnings")["counts"] == {"x": 1}
        assert given == {"directory": str(files), "history": 16}
        assert files.is_dir()
    assert not files.exists(), "an empty folder is left"
