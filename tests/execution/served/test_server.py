"""The listening process: who is let in, and that nobody keeps it from others."""

import os
import socket
import threading
import time
from contextlib import closing, contextmanager

import pytest

from benchmark_app.execution.served import auth, server
from benchmark_app.execution.served.client import Client, ServerRefusal
from benchmark_app.execution.served.connection import Connection, LostError
from benchmark_app.execution.served.frames import MAGIC, Limits
from benchmark_app.execution.served.server import MOST_WAITING, Offer, Server

TOKEN = auth.new_token()
DESCRIPTION = {"protocol": 1, "task": {"name": "ball", "push": 5.0}, "python": "3.11"}


@contextmanager
def serving(max_sessions=1, max_envs=8):
    made = Server(
        Offer(description=DESCRIPTION, settings={}, max_sessions=max_sessions, max_envs=max_envs), TOKEN, "127.0.0.1", 0
    )
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.stop()
        thread.join(5)
    assert not thread.is_alive()


@pytest.fixture
def served():
    with serving() as made:
        yield made


def connect(made, token=TOKEN):
    return Client(made.address, token, timeout_s=5, start_timeout_s=5)


def raw(made):
    sock = socket.create_connection(made.address, 5)
    sock.settimeout(5)
    return sock


def ends(sock):
    """Whether the other side closes the connection, whatever it says before."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_who_knows_the_token_is_told_what_is_served(served):
    with closing(connect(served)) as client:
        assert client.description() == DESCRIPTION
        assert client.description() == DESCRIPTION


def test_who_does_not_know_it_is_told_nothing(served):
    with pytest.raises(ServerRefusal, match="the token is another"):
        connect(served, auth.new_token())
    with closing(raw(served)) as sock:
        connection = Connection(sock, Limits())
        assert set(connection.receive(5).values) == {"protocol", "nonce"}
        connection.send(0, "describe")
        assert connection.receive(5).kind == "error"
        assert ends(sock)


def test_the_token_never_goes_over_the_wire(served, monkeypatch):
    sent = []
    before = socket.socket.sendall
    monkeypatch.setattr(socket.socket, "sendall", lambda self, data: (sent.append(bytes(data)), before(self, data))[1])
    with closing(connect(served)) as client:
        client.description()
    assert len(sent) == 2
    assert not any(TOKEN.encode() in data for data in sent)


def test_a_proof_holds_once_and_for_one_side_only(served):
    with closing(raw(served)) as sock:
        greeting = Connection(sock, Limits()).receive(5).values
    mine = auth.new_nonce()
    old = auth.proof(TOKEN, "client", greeting["nonce"], mine)
    with closing(raw(served)) as sock:
        connection = Connection(sock, Limits())
        other = connection.receive(5).values["nonce"]
        connection.send(0, "hello", {"nonce": mine, "proof": old})
        assert connection.receive(5).values["kind"] == "denied"
    assert auth.proves(auth.proof(TOKEN, "client", other, mine), TOKEN, "client", other, mine)
    for said in (auth.proof(TOKEN, "server", other, mine), "", None, 5, "é" * 64, old):
        assert not auth.proves(said, TOKEN, "client", other, mine)


def test_a_client_is_not_fooled_by_what_only_listens_on_the_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pretend():
            sock, _ = listener.accept()
            with sock:
                connection = Connection(sock, Limits())
                connection.send(0, "hello", {"protocol": 1, "nonce": auth.new_nonce()})
                connection.receive(5)
                connection.send(0, "ok", {"proof": "0" * 64})

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(ServerRefusal, match="does not know the token"):
            Client(listener.getsockname(), TOKEN, timeout_s=5, start_timeout_s=5)
        thread.join(5)


def test_a_server_of_another_protocol_and_none_at_all_are_refused():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet():
            sock, _ = listener.accept()
            with sock:
                Connection(sock, Limits()).send(0, "hello", {"protocol": 99, "nonce": auth.new_nonce()})

        thread = threading.Thread(target=greet)
        thread.start()
        address = listener.getsockname()
        with pytest.raises(ServerRefusal, match="speaks protocol 99, and this is 1"):
            Client(address, TOKEN, timeout_s=5, start_timeout_s=5)
        thread.join(5)
    with pytest.raises(ServerRefusal, match="nobody serves there"):
        Client(address, TOKEN, timeout_s=5, start_timeout_s=5)


def test_another_environment_is_refused_field_by_field(served):
    ours = {"protocol": 1, "task": {"name": "ball", "push": 4.0, "extra": 1}, "python": "3.14"}
    with pytest.raises(ServerRefusal) as caught:
        connect(served).require(ours)
    assert "task.push: 4.0 here, 5.0 at the server; task.extra: 1 here, null at the server" in str(caught.value)
    assert "python" not in str(caught.value)
    with closing(connect(served)) as client:
        assert client.require(DESCRIPTION) == DESCRIPTION


@pytest.mark.parametrize("rows", [0, 9, -1, "3", None, True, 2**70])
def test_no_more_rows_are_opened_than_are_offered(served, rows):
    with (
        closing(connect(served)) as client,
        pytest.raises((ServerRefusal, ValueError), match=r"num_envs|64 bits|malformed"),
    ):
        client.open({"num_envs": rows, "device": "cpu"})
    assert not served._sessions


def test_requests_out_of_turn_end_the_connection(served):
    for name, number in (("describe", 5), ("step", 1), ("hello", 1)):
        client = connect(served)
        client._connection.send(number, name)
        assert client._connection.receive(5).values["kind"] == "malformed"
        assert ends(client._connection._socket)
        client.close()


def test_one_who_says_nothing_is_dropped_and_others_are_served_meanwhile(served, monkeypatch):
    monkeypatch.setattr(server, "HANDSHAKE_S", 0.5)
    with closing(raw(served)) as silent:
        silent.sendall(MAGIC)
        begin = time.monotonic()
        with closing(connect(served)) as client:
            assert client.description() == DESCRIPTION
        assert time.monotonic() - begin < 0.4
        assert ends(silent)


def test_a_crowd_is_turned_away_and_the_server_goes_on(served):
    crowd = [raw(served) for _ in range(MOST_WAITING)]
    deadline = time.monotonic() + 5
    while len(served._clients) < MOST_WAITING and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(ServerRefusal, match="turns clients away"):
        connect(served)
    for sock in crowd:
        sock.close()
    while served._clients and time.monotonic() < deadline:
        time.sleep(0.01)
    with closing(connect(served)) as client:
        assert client.description() == DESCRIPTION


def test_what_is_no_frame_ends_the_connection_only(served):
    for junk in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 64, MAGIC + b"\xff" * 12, os.urandom(500)):
        with closing(raw(served)) as sock:
            sock.sendall(junk)
            assert ends(sock)
    with closing(connect(served)) as client:
        assert client.description() == DESCRIPTION


def test_a_session_whose_process_dies_at_once_is_told_of():
    """Its settings are none, so that it cannot even begin."""
    with serving() as made, closing(connect(made)) as client:
        with pytest.raises(TypeError, match="task"):
            client.open({"num_envs": 1, "device": "cpu"})
        deadline = time.monotonic() + 10
        while made._sessions and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not made._sessions
        other = connect(made)
        with closing(other):
            assert other._request("ended", {"session": 1}, {}, 5).values == {"how": "exit status 1"}


def test_stopping_closes_every_connection():
    with serving() as made:
        client = connect(made)
        made.stop()
        with pytest.raises(LostError):
            client._connection.receive(5)
        client.close()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_token_file_that_others_may_read_is_refused(tmp_path, mode):
    file = tmp_path / "token"
    auth.write_token(file, TOKEN)
    assert file.stat().st_mode & 0o777 == 0o600
    assert auth.read_token(str(file), "execution.token_file") == TOKEN
    file.chmod(mode)
    with pytest.raises(auth.TokenError, match="chmod 600"):
        auth.read_token(str(file), "execution.token_file")


def test_a_token_is_read_from_a_file_or_else_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(auth.VARIABLE, raising=False)
    assert auth.read_token(None, "x") is None
    monkeypatch.setenv(auth.VARIABLE, TOKEN)
    assert auth.read_token(None, "x") == TOKEN
    monkeypatch.setenv(auth.VARIABLE, "short")
    with pytest.raises(auth.TokenError, match="16 to 512"):
        auth.read_token(None, "x")
    for text in ("", "short", "two words of a token", "x" * 600):
        file = tmp_path / f"token{len(text)}"
        file.write_text(text)
        file.chmod(0o600)
        with pytest.raises(auth.TokenError):
            auth.read_token(str(file), "x")
    with pytest.raises(auth.TokenError, match="cannot be read"):
        auth.read_token(str(tmp_path / "none"), "x")
    with pytest.raises(FileExistsError):
        auth.write_token(tmp_path / "token0", TOKEN)
