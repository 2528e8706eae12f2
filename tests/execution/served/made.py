"""Environments that cost nothing, and both ends of a session with them in one process."""

import socket
import threading
from contextlib import contextmanager

import numpy as np

from benchmark_app.execution.description import Board, Description, Group
from benchmark_app.execution.host import EnvHost
from benchmark_app.execution.served import session
from benchmark_app.execution.served.client import Client
from benchmark_app.execution.served.connection import Connection
from benchmark_app.execution.served.frames import Limits
from benchmark_app.execution.served.link import ServedLink
from benchmark_app.execution.served.told import may_mark
from benchmark_app.physics.capabilities import BackendCapabilities

ROWS, WIDTH, ACTIONS = 3, 4, 2
DESCRIPTION = Description(
    task={},
    conventions={},
    simulator="counting",
    groups={"policy": Group(shape=(WIDTH,)), "pixels": Group(shape=(2, 2, 3), dtype="uint8")},
    action_low=(-1.0,) * ACTIONS,
    action_high=(1.0,) * ACTIONS,
    capabilities=BackendCapabilities(
        devices=("cpu",),
        row_reset=True,
        row_independent=True,
        deterministic=True,
        graph_replay=False,
        floating_base=False,
        contacts=False,
    ),
    reward_terms=("alive",),
    metrics=("height",),
)


class CountingHost(EnvHost):
    """Observes the sum of its actions so far; a row ends every fifth step."""

    def __init__(self, rows=ROWS):
        self.description, self.rows = DESCRIPTION, rows
        self.board = Board(DESCRIPTION, rows)
        self.reporting = False
        self.closed = False
        self.taken = []
        self.count = 0

    def step(self):
        actions = self.board["actions"]
        self.taken.append(actions.copy())
        if not np.isfinite(actions).all():
            raise ValueError(f"actions not finite in row {np.flatnonzero(~np.isfinite(actions).all(1))[0]}")
        self.count += 1
        board = self.board
        board["obs.policy"][:] = self.count
        board["obs.pixels"][:] = self.count
        board["reward"][:] = actions.sum(1)
        board["terminated"][:] = self.count % 5 == 0
        board["steps"][:] = self.count
        board["metrics"][:] = np.nan
        board["final_mask"][:] = board["terminated"]
        board["final.policy"][:] = -self.count
        board.tell(has_final=self.count % 5 == 0)

    def blocked(self):
        return []

    def do_init(self):
        self.count = 0
        self.board["obs.policy"][:] = 0
        self.board.tell(has_final=0)

    def do_reset(self, rows):
        self.do_init()

    def do_autoreset(self, enabled):
        pass

    def do_reporting(self, enabled):
        self.reporting = enabled

    def do_seed(self, seed):
        if seed < 0:
            raise KeyError(seed)  # nothing an environment says

    def do_seed_episodes(self, seed, count):
        pass

    def do_drain(self):
        return {"tally": np.arange(6.0).reshape(2, 3), "measured": np.full((1, 3), np.nan), "rows": [], "dropped": 0}

    def do_diagnostics(self):
        return {"available": True, "nested": {"list": [1, 2.5, "x", None]}}

    def do_warnings(self):
        return {"counts": {"what": float("inf")}}  # nothing that can be sent

    def close(self):
        self.closed = True


@contextmanager
def a_session(host=None, limits=None, files=None):
    """A session in a thread.

    Yields:
        The client's end of the socket, the host, and what the session returned, in a list.
    """
    host = host or CountingHost()
    ours, theirs = socket.socketpair()
    before, session.make_host = session.make_host, lambda **_: host
    returned = []

    def serve():
        connection = Connection(theirs, limits or Limits(), may_mark)
        request = connection.receive(10)  # which the listening process would have received
        spec = {"session": 1, "id": request.id, "request": request.values, "files": files}
        spec["settings"] = {"physics": "newton_mjwarp"}
        returned.append(session.Session(connection, spec).run())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield ours, host, returned
    finally:
        ours.close()
        thread.join(5)
        session.make_host = before
    assert not thread.is_alive(), "the session outlives its client"


def talking_to(sock, *, timeout_s=5.0):
    """A client whose connection is this socket, past the handshake."""
    client = object.__new__(Client)
    client._address, client._token = ("127.0.0.1", 1), "no token was ever told"
    client._timeout_s = client._start_timeout_s = timeout_s
    client._may_mark, client._epitaph = may_mark, lambda: "it was a test"
    client._id = client._session = 0
    client._failed, client._closed = "", False
    client._connection = Connection(sock, Limits(), may_mark)
    return client


def linked(client, rows=ROWS):
    return ServedLink(client, rows, "cpu", None, {"python": "3", "engine": {}})
