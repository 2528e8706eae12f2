"""What a listening process is told to serve, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from typing import Any

from benchmark_app.execution.hosting import task_of
from benchmark_app.parent_link import die_with_parent

from .agreement import describe
from .owned import HOST
from .server import Offer, Server, with_variables

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def make_offer(settings: dict[str, Any], *, max_envs: int, max_sessions: int, logs: str | None = None) -> Offer:
    """What is served.

    Args:
        settings: Keyword arguments of `hosting.make_host`, but for rows and device.
        max_envs: Rows of a session.
        max_sessions: Sessions at a time.
        logs: Folder for what sessions print, and for their NaN dumps; None: they print where this process does, and
            dump wherever a client says, because it is who started the server.

    Raises:
        ValueError: The settings cannot be used.
    """
    described = describe(
        task_of(settings["task"]), settings["physics"], settings["physics_settings"], settings.get("rendering")
    )
    described["max_envs"] = max_envs  # told, so that a run that wants more is refused before it starts
    offer = Offer(description=described, settings=settings, max_envs=max_envs, max_sessions=max_sessions, logs=logs)
    threads = dict.fromkeys(THREAD_VARIABLES, str(settings["threads"]))
    return with_variables(offer, PYTHONUNBUFFERED="1", **threads)


def main(fd: int) -> None:
    """Be the server of the process that started this one, until that closes the pipe.

    Args:
        fd: Where to say the port.
    """
    # What asks a run to stop is the supervisor's to judge; SLURM sends its signals to every process of a job.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(fd, False)
    die_with_parent()
    spec = json.loads(sys.stdin.buffer.readline())
    offer = make_offer(spec["settings"], max_envs=spec["max_envs"], max_sessions=spec["max_sessions"])
    server = Server(offer, spec["token"], HOST, 0)

    def watch() -> None:
        sys.stdin.buffer.read()
        server.stop()

    threading.Thread(target=watch, daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        os.write(fd, json.dumps({"port": server.address[1]}).encode() + b"\n")
    os.close(fd)
    server.serve()
