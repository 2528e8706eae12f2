"""One worker process: spawned in a session of its own, reached through a pipe, never left behind."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import benchmark_app
from benchmark_app.parent_link import STOP
from benchmark_app.profiling.host.process_tree import look_at
from benchmark_app.settings import Settings

from .signals import WATCHED

# Set by launchers for distributed runs. A library that sees them would wait for ranks that never come.
DISTRIBUTED_VARIABLES = ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
# The same of SLURM, MPI and their process managers: libraries that know them count the tasks of the job as ranks.
TASK_VARIABLES = re.compile(
    r"SLURM_(N?TASKS|NPROCS|PROCID|LOCALID|GTIDS|STEP|SRUN|MPI|DISTRIBUTION)|PMIX?_|OMPI_|MPI_LOCAL|MV2_|I_MPI_"
    r"|TORCHELASTIC_|(GROUP|ROLE)_(RANK|WORLD_SIZE)|JAX_(COORDINATOR|NUM_PROCESSES|PROCESS_ID)"
)
CACHE_VARIABLE = "WARP_CACHE_PATH"  # read by Warp when it starts
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def worker_environment(settings: Settings) -> dict[str, str]:
    """Environment variables of a worker: the user's, with the settings for threads and compiled kernels applied."""
    dropped = {*DISTRIBUTED_VARIABLES, "HYDRA_FULL_ERROR"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped and not TASK_VARIABLES.match(name)}
    threads = dict.fromkeys(THREAD_VARIABLES, str(settings.threads))
    cache = {} if settings.kernel_cache is None else {CACHE_VARIABLE: settings.kernel_cache}
    # It holds for C's standard output, too: what an engine's native code prints is in the log at once, and to the last
    # line even if the worker is killed.
    return {**kept, **threads, **cache, "PYTHONUNBUFFERED": "1"}


def worker_program(settings: Settings) -> Path:
    """The program a worker runs: ours, or the one the user named."""
    return Path(settings.worker.program or Path(benchmark_app.__file__).parent / "worker" / "__main__.py").resolve()


class WorkerProcess:
    """A running worker.

    Attributes:
        spawned_at: Instant just before the spawn [s, monotonic clock].
        command: What was started.
        last_words: The failure the worker reported through the pipe, "" if none.
        cpu_s: CPU time it used, with the children it collected [s]; None before `close`.
        ram_peak_gb: Most resident memory it, or the largest of those children, ever held [GiB]; None before `close`,
            and where it is not known.

    Args:
        settings: Settings of the run.
        spec: File that tells the worker what to do.
        log: File for its output, that of native code included.
        variables: Further variables of its environment.
        options: Options of the Python interpreter.
    """

    def __init__(
        self,
        settings: Settings,
        spec: Path,
        log: Path,
        variables: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.last_words = ""
        self.cpu_s: float | None = None
        self.ram_peak_gb: float | None = None
        self._inherited_peak = _own_peak()
        self._socket, theirs = socket.socketpair()
        debug = settings.worker.debug
        python = settings.worker.python or sys.executable
        with theirs, log.open("wb") as output:
            self.spawned_at = time.monotonic()
            # -P: the folder the user is in must not shadow modules of the worker.
            self.command = [
                *(python, "-P", *options, str(worker_program(settings)), str(spec)),
                *(str(theirs.fileno()), repr(self.spawned_at)),
            ]
            if not debug:
                # What asks a run to stop is the supervisor's to judge, and a child inherits what is blocked here: SLURM
                # sends its signals to every process of a job, and between the fork and its own session the child
                # still belongs to the terminal. What comes meanwhile reaches us after the spawn.
                before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
            self._process = subprocess.Popen(
                self.command,
                stdin=None if debug else subprocess.DEVNULL,
                stdout=None if debug else output,
                stderr=None if debug else subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                # A session of its own: Ctrl-C in the terminal reaches the supervisor alone, which then decides.
                start_new_session=not debug,
                env={**worker_environment(settings), **(variables or {})},
            )
            if not debug:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._own_group = not debug

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def wait(self, seconds: float) -> bool:
        """Wait until something happens, at most so long.

        Returns:
            Whether the worker has ended.
        """
        if self.exit_status is not None:
            return True
        readable, _, _ = select.select([self._socket], [], [], seconds)
        if not readable:
            return False
        try:
            data = self._socket.recv(4096)
        except ConnectionError:
            data = b""
        self.last_words += data.decode(errors="replace")
        if not data:
            time.sleep(min(seconds, 0.01))  # the pipe closes a moment before the process ends
        return self.exit_status is not None

    @property
    def exit_status(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs.

        The process is not collected yet, so that its group cannot become another's meanwhile.
        """
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def ask_to_stop(self) -> None:
        """Ask the worker to stop at its next step."""
        with contextlib.suppress(OSError):
            self._socket.sendall(STOP)

    def kill(self) -> None:
        """End the worker and whatever it started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._own_group:
                os.killpg(self.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> int:
        """Collect the ended worker, and end what it may have left running.

        Returns:
            Its exit code, negative for a signal.
        """
        self.kill()
        if self._process.returncode is None:
            _, status, usage = os.wait4(self.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_s = usage.ru_utime + usage.ru_stime
            if usage.ru_maxrss * _MAXRSS_UNIT > self._inherited_peak:
                self.ram_peak_gb = usage.ru_maxrss * _MAXRSS_UNIT / 2**30
        code: int = self._process.returncode
        with contextlib.suppress(OSError):
            self._socket.setblocking(False)
            while data := self._socket.recv(4096):
                self.last_words += data.decode(errors="replace")
        self._socket.close()
        return code


def _own_peak() -> int:
    """Most resident memory [bytes] that a child has in its account before it has done anything.

    The kernel gives a child the mark of the memory it was spawned from. That is not our own account's, in which our
    parent's may stand, however large it is.
    """
    seen = look_at(os.getpid())
    if seen is not None and seen.high_water is not None:
        return seen.high_water
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT
