"""What a process that holds environments does, started by `worker/__main__.py`. It imports torch only where it must.

It ends with the process that started it: the kernel ends it with that one, and a socket that closes ends it, too.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import socket
import sys
import traceback
from typing import Any

from benchmark_app.execution.awake import Watch
from benchmark_app.execution.description import Board
from benchmark_app.execution.host import EnvHost
from benchmark_app.execution.hosting import make_host
from benchmark_app.execution.link import told
from benchmark_app.parent_link import die_with_parent

from .messages import DONE, EndOfLink, receive, send, send_bytes


def main(fd: int) -> int:
    """Build environments as the first frame says, and do what is asked until the other end closes.

    Args:
        fd: This end of the socket.

    Returns:
        Exit status: 0 the other end closed.
    """
    sock = socket.socket(fileno=fd)
    sock.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # in a terminal, whoever started us decides
    die_with_parent()
    try:
        request = receive(sock)
        assert request is not None, "what comes first is a frame"
        host = _open(sock, request)
        if host is None:
            return 1
        try:
            _serve(sock, host)
        finally:
            host.close()
    except EndOfLink:
        pass
    return 0


def _open(sock: socket.socket, request: dict[str, Any]) -> EnvHost | None:
    """Build the environments, and answer with what they are; None, if they cannot be built."""
    if request["cores"]:
        os.sched_setaffinity(0, request["cores"])
    sys.path += [path for path in request["path"] if path not in sys.path]
    try:
        host = make_host(**request["environments"])
    except Exception as error:
        _answer(sock, {"error": told(error)})
        traceback.print_exception(error)
        return None
    environments, parts = request["environments"], request["parts"]
    first, total = environments["first_row"], environments["total_rows"]
    size = Board.size(host.description, total, parts)
    os.ftruncate(request["memory"], size)  # the same in every part
    buffer = mmap.mmap(request["memory"], size)
    part = range(first, first + host.rows)
    host.board = Board(host.description, total, buffer, part=part, number=request["number"], parts=parts)
    os.close(request["memory"])
    gc.freeze()  # what was made so far stays: no collection needs to look at it again
    gc.enable()
    _answer(sock, {"description": host.description.to_plain(), "pid": os.getpid()})
    return host


def _serve(sock: socket.socket, host: EnvHost) -> None:
    watch = Watch(sock)
    while True:
        asked = receive(sock)
        try:
            if asked is None:
                host.step()
                send_bytes(sock, DONE)
                watch.stay_awake()  # the next step mostly comes at once
            else:
                _answer(sock, {"answer": host.command(asked["name"], asked["arguments"])})
        except EndOfLink:
            raise
        except Exception as error:
            traceback.print_exception(error)
            _answer(sock, {"error": told(error)})


def _answer(sock: socket.socket, message: dict[str, Any]) -> None:
    sys.stdout.flush()  # what was printed of it is in the log before the other end knows
    sys.stderr.flush()
    send(sock, message)
