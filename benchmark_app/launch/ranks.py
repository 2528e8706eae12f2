"""Several workers that train one policy: started together, watched together, ended together."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark_app.settings import Settings

from .process import WorkerProcess

APART_S = 60.0  # rank 0 may still be saving when the others have ended; longer than this, it waits for the dead


def rank_environment(rank: int, world_size: int, port: int) -> dict[str, str]:
    """What torch and the libraries read to find the other ranks, all of them on this node."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Ended:
    """How one worker ended.

    Attributes:
        exit_code: Negative for a signal.
        last_words: The failure it reported through its pipe, "" if none.
        killed_by_us: It was still running when all had to end.
        cpu_s: CPU time it used, with the children it collected [s].
        ram_peak_gb: Most resident memory it, or the largest of those children, ever held [GiB]; None if not known.
    """

    exit_code: int
    last_words: str
    killed_by_us: bool
    cpu_s: float | None
    ram_peak_gb: float | None


class Workers:
    """The workers of one pass: one, or the ranks of a distributed training.

    Attributes:
        spawned_at: Instant just before the first spawn [s, monotonic clock].
        command: How the first was started.

    Args:
        settings: Settings of the run.
        specs: By rank, the file that tells a worker what to do.
        logs: By rank, the file for its output.
        options: Options of the Python interpreter.
        variables: Further variables of the environment.
    """

    def __init__(
        self,
        settings: Settings,
        specs: Sequence[Path],
        logs: Sequence[Path],
        *,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        world_size, port = len(specs), free_port() if len(specs) > 1 else 0
        self._workers: list[WorkerProcess] = []
        try:
            for rank, (spec, log) in enumerate(zip(specs, logs, strict=True)):
                own = rank_environment(rank, world_size, port) if world_size > 1 else {}
                own |= variables or {}
                self._workers.append(WorkerProcess(settings, spec, log, own, options))
        except BaseException:  # the ranks that were started would wait for those that were not
            self.close()
            raise
        self.spawned_at, self.command = self._workers[0].spawned_at, self._workers[0].command
        self._first_end = 0.0

    @property
    def pids(self) -> list[int]:
        """Process ids, by rank."""
        return [worker.pid for worker in self._workers]

    def wait(self, seconds: float) -> bool:
        """Wait until something happens, at most so long.

        Returns:
            Whether it is over: all have ended, or one has failed, for which the others would wait for ever.
        """
        running = [worker for worker in self._workers if not worker.wait(0)]
        if running and len(running) == len(self._workers):
            return running[0].wait(seconds) and (not running[1:] or self.wait(0))
        if not running or any(worker.exit_status for worker in self._workers):
            return True
        self._first_end = self._first_end or time.monotonic()
        if time.monotonic() - self._first_end > APART_S:
            return True
        running[0].wait(seconds)
        return False

    def ask_to_stop(self) -> None:
        """Ask every worker to stop; ranks agree among themselves after which iteration."""
        for worker in self._workers:
            worker.ask_to_stop()

    def kill(self) -> None:
        """End every worker and whatever it started, at once."""
        for worker in self._workers:
            worker.kill()

    def close(self) -> list[Ended]:
        """Collect the workers, by rank; those still running are ended first."""
        running = [worker.exit_status is None for worker in self._workers]
        return [
            Ended(worker.close(), worker.last_words, killed, worker.cpu_s, worker.ram_peak_gb)
            for worker, killed in zip(self._workers, running, strict=True)
        ]
