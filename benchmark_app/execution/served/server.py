"""The listening process: lets clients in who know the token, and gives each a session in a process of its own.

It never loads an engine, and touches nothing a client sent but headers of at most 4 KiB, until the client has shown
that it knows the token. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import auth
from .frames import HANDSHAKE, PREFIX_BYTES, PROTOCOL, FrameError, Header, Limits, decode, encode, lengths

HANDSHAKE_S = 5.0
"""How long a client may take to show that it knows the token, and then to say what it wants."""
BUSY_S = 2.0
"""How long one may wait for a session that is about to end."""
GRACE_S = 2.0
"""How long a session may take to close its environment when the server is stopped."""
MOST_WAITING = 16
"""Clients that have no session yet; more are turned away."""
MOST_REMEMBERED = 256
KNOWN = Limits(header=2**16, body=0, arrays=0)
"""Of one who knows the token and has no session yet."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What is served, and how much of it.

    Attributes:
        description: What a client is told, and compares; see `description.py`.
        settings: What a session's process is told.
        max_sessions: Sessions at a time.
        max_envs: Rows of one.
        logs: Folder for what sessions print, and for their NaN dumps; None: where this process prints, and wherever a
            client says.
        environment: Variables of a session's process.
    """

    description: dict[str, Any]
    settings: dict[str, Any]
    max_sessions: int
    max_envs: int
    logs: str | None = None
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass
class _Client:
    """One that has no session yet."""

    sock: socket.socket
    deadline: float
    nonce: str
    known: bool = False
    got: bytearray = field(default_factory=bytearray)
    next_id: int = 0
    asks: Header | None = None  # to open a session, as soon as one is free


class Server:
    """Serves until it is told to stop. One thread does everything, and never waits for any one client.

    Args:
        offer: What is served.
        token: What a client must know.
        host: A loopback address.
        port: The port; 0: any that is free.

    Attributes:
        address: Where it listens.

    Raises:
        OSError: The port is taken.
    """

    def __init__(self, offer: Offer, token: str, host: str, port: int) -> None:
        self._offer, self._token = offer, token
        self._listener = socket.create_server((host, port), family=_family(host), backlog=MOST_WAITING)
        self._listener.setblocking(False)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._clients: dict[int, _Client] = {}
        self._sessions: dict[int, subprocess.Popen[bytes]] = {}
        self._ended: OrderedDict[int, str] = OrderedDict()
        self._last_session = 0
        self._stopping = False

    def stop(self) -> None:
        """End `serve` soon. May be called by a signal handler, and by another thread."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def serve(self) -> None:
        """Serve until `stop`; then every session is closed, and none is left."""
        try:
            while not self._stopping:
                for key, _ in self._selector.select(self._patience()):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is self._woken:
                        self._drain()
                    elif isinstance(key.data, int):
                        self._collect(key.data)
                    elif key.data.sock.fileno() in self._clients:
                        self._hear(key.data)
                self._look_at_the_clock()
        finally:
            self._close()

    def _patience(self) -> float | None:
        """Until when nothing can happen but what wakes us [s from now]."""
        if not self._clients:
            return None
        return max(0.0, min(client.deadline for client in self._clients.values()) - time.monotonic())

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(64)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:  # it left again; or there are no descriptors left, and then others will leave
            time.sleep(0.01)
            return
        if len(self._clients) >= MOST_WAITING:
            sock.close()
            return
        sock.setblocking(False)
        client = _Client(sock, time.monotonic() + HANDSHAKE_S, auth.new_nonce())
        self._clients[sock.fileno()] = client
        self._selector.register(sock, selectors.EVENT_READ, client)
        self._say(client, "hello", {"protocol": PROTOCOL, "nonce": client.nonce})

    def _hear(self, client: _Client) -> None:
        try:
            data = client.sock.recv(2**16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or client.asks is not None:  # gone; or talking on where it was to wait
            self._drop(client)
            return
        client.got += data
        try:
            while client.asks is None and (header := _take(client.got, KNOWN if client.known else HANDSHAKE)):
                self._answer(client, header)
        except FrameError as error:
            self._refuse(client, "malformed", str(error))

    def _answer(self, client: _Client, header: Header) -> None:
        """Answer one request of a client without a session.

        Raises:
            FrameError: It is not the one that was due.
        """
        if header.id != client.next_id:
            raise FrameError(f"request {header.id} where {client.next_id} was due")
        if not client.known:
            self._greet(client, header)
        elif header.kind == "describe":
            self._say(client, "ok", {"description": self._offer.description}, header.id)
            client.deadline = time.monotonic() + HANDSHAKE_S
        elif header.kind == "ended":
            number = header.values.get("session")
            how = self._ended.get(number, "") if type(number) is int else ""
            self._say(client, "ok", {"how": how}, header.id)
        elif header.kind == "open":
            client.asks, client.deadline = header, time.monotonic() + BUSY_S
            self._open(client)
            return
        else:
            raise FrameError(f"{header.kind}: is asked of a session; open one first")
        client.next_id += 1

    def _greet(self, client: _Client, header: Header) -> None:
        """Let a client in who knows the token; of all others nobody says why not."""
        nonce, said = header.values.get("nonce"), header.values.get("proof")
        if header.kind != "hello" or not auth.is_nonce(nonce):
            raise FrameError("hello: must hold a nonce and a proof")
        assert isinstance(nonce, str)
        if not auth.proves(said, self._token, "client", client.nonce, nonce):
            other = "the token is another; name the file that serve was given (execution.token_file)"
            self._refuse(client, "denied", other)
            return
        client.known, client.deadline = True, time.monotonic() + HANDSHAKE_S
        self._say(client, "ok", {"proof": auth.proof(self._token, "server", client.nonce, nonce)}, header.id)

    def _open(self, client: _Client) -> None:
        """Give a client its session, if there is one left."""
        assert client.asks is not None
        rows = client.asks.values.get("num_envs")
        if type(rows) is not int or not 1 <= rows <= self._offer.max_envs:
            self._refuse(client, "refused", f"num_envs={rows}: this server takes 1 to {self._offer.max_envs}")
            return
        if len(self._sessions) >= self._offer.max_sessions:
            return  # until the clock says it waited long enough
        if client.got:
            self._refuse(client, "malformed", "more than a request")
            return
        self._last_session += 1
        number, request = self._last_session, client.asks
        self._forget(client)
        client.sock.setblocking(True)
        spec = {
            "session": number,
            "id": request.id,
            "request": request.values,
            "settings": self._offer.settings,
            "files": self._files(number),
        }
        command = [sys.executable, "-P", str(Path(__file__).with_name("__main__.py")), "session"]
        with client.sock as sock, contextlib.ExitStack() as stack:
            output = stack.enter_context(open(f"{spec['files']}.log", "wb")) if spec["files"] is not None else None
            process = subprocess.Popen(
                [*command, str(sock.fileno())],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                pass_fds=[sock.fileno()],
                env=self._offer.environment,
            )
        self._sessions[number] = process
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it died at once, which its end tells
            # One line; what stays open then ends when we do, and the session with it.
            process.stdin.write(json.dumps(spec).encode() + b"\n")
            process.stdin.flush()
        self._selector.register(os.pidfd_open(process.pid), selectors.EVENT_READ, number)

    def _files(self, number: int) -> str | None:
        """Where a session's own files begin; None: it has none."""
        logs = self._offer.logs
        return None if logs is None else str(Path(logs) / f"session-{os.getpid()}-{number}")

    def _collect(self, number: int) -> None:
        """A session's process ended."""
        process = self._sessions.pop(number)
        code = process.wait()
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        for key in list(self._selector.get_map().values()):
            if key.data == number and isinstance(key.fileobj, int):
                self._selector.unregister(key.fileobj)
                os.close(key.fileobj)
        self._ended[number] = _how(code)
        while len(self._ended) > MOST_REMEMBERED:
            self._ended.popitem(last=False)
        for client in [each for each in self._clients.values() if each.asks is not None]:
            self._open(client)

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        for client in [each for each in self._clients.values() if each.deadline <= now]:
            if client.asks is None:
                self._drop(client)
            else:
                taken = f"all its sessions are taken ({self._offer.max_sessions})"
                self._refuse(client, "busy", f"{taken}; wait, or start it with a larger --max-sessions")

    def _refuse(self, client: _Client, kind: str, message: str) -> None:
        number = client.asks.id if client.asks is not None else client.next_id
        self._say(client, "error", {"kind": kind, "message": message}, number)
        self._drop(client)

    def _say(self, client: _Client, kind: str, values: dict[str, Any], id: int = 0) -> None:
        """Send a small frame; one who makes no room for it is not waited for."""
        with contextlib.suppress(OSError):
            client.sock.send(encode(Header(id, kind, values)))

    def _drop(self, client: _Client) -> None:
        self._forget(client)
        client.sock.close()

    def _forget(self, client: _Client) -> None:
        if self._clients.pop(client.sock.fileno(), None) is not None:
            self._selector.unregister(client.sock)

    def _close(self) -> None:
        for client in list(self._clients.values()):
            self._drop(client)
        self._listener.close()
        for process in self._sessions.values():
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
        deadline = time.monotonic() + GRACE_S
        for process in self._sessions.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._selector.close()
        for end in (self._wake, self._woken):
            end.close()


def with_variables(offer: Offer, **variables: str) -> Offer:
    """The same, with variables for the processes of its sessions; the token is kept from them."""
    kept = {name: value for name, value in offer.environment.items() if name != auth.VARIABLE}
    return replace(offer, environment=kept | variables)


def _take(got: bytearray, limits: Limits) -> Header | None:
    """Take a whole frame without a body out of what arrived; None while it is not all there.

    Raises:
        FrameError: It is no frame.
    """
    if len(got) < PREFIX_BYTES:
        return None
    header_bytes, body_bytes = lengths(bytes(got[:PREFIX_BYTES]), limits)
    end = PREFIX_BYTES + header_bytes
    if len(got) < end:
        return None
    header = decode(bytes(got[PREFIX_BYTES:end]), body_bytes, limits)
    del got[:end]
    return header


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _how(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"
