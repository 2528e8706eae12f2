"""`sweep.json`: what a sweep was asked for and what became of it, written at the start and kept up to date."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_app import __version__
from benchmark_app.bundle.write import write_json_file
from benchmark_app.launch.heartbeat import Heartbeat, is_live, last_beat
from benchmark_app.settings import SettingError

from .state import COMPLETED, State

FILE = "sweep.json"
LOCK = "sweep.lock"
GOOD = (COMPLETED, "skipped")


@dataclass(kw_only=True)
class Entry:
    """One combination in the record.

    Attributes:
        case: Name of its folder; "" where it has none, because it was refused or skipped.
        overrides: The settings that make it.
        status: planned, running, lost, completed, interrupted, crashed, refused or skipped.
        reason: Why it is not `completed`.
        attempts: How often it was begun.
        run: The newest attempt's folder, relative to the sweep's; None where there is none.
        numbers: What was measured, by name.
        log: The last lines of a failed run's log.
        job: What SLURM's accounting says about its job; empty where there is none.
        left_out: It belongs to an earlier plan of this sweep and not to the newest; it does not count.
    """

    case: str
    overrides: list[str]
    status: str = "planned"
    reason: str = ""
    attempts: int = 0
    run: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    job: dict[str, str] = field(default_factory=dict)
    left_out: bool = False

    def take(self, state: State, sweep: Path) -> None:
        """Bring it up to date."""
        self.status, self.reason, self.attempts = state.status, state.reason, state.attempts
        self.run = None if state.run is None else str(state.run.relative_to(sweep))
        self.numbers, self.log = state.numbers, state.log


@dataclass(kw_only=True)
class Record:
    """The content of `sweep.json`.

    Attributes:
        status: running, completed, failed or interrupted.
        options: Options of the command line that decide what is composed, such as `--config-dir`.
        overrides: The settings that were typed, all of them.
        suite: The suite's name, None where there is none.
        launcher: What starts the runs.
        cases: Every combination, in order.
    """

    options: list[str]
    overrides: list[str]
    launcher: str
    suite: str | None = None
    status: str = "running"
    exit_status: int | None = None
    started_utc: str = ""
    ended_utc: str | None = None
    host: str = field(default_factory=socket.gethostname)
    cwd: str = field(default_factory=os.getcwd)
    benchmark_app: str = __version__
    cases: list[Entry] = field(default_factory=list)

    @property
    def current(self) -> list[Entry]:
        """The combinations of the newest plan."""
        return [entry for entry in self.cases if not entry.left_out]

    @property
    def command(self) -> str:
        """What was typed."""
        return shlex.join(["python", "-m", "benchmark_app", "-m", *self.options, *self.overrides])

    def failures(self) -> list[Entry]:
        """What was asked for and did not complete."""
        return [entry for entry in self.current if entry.status not in GOOD]

    def write(self, sweep: Path) -> None:
        """Write `sweep.json`, whole or not at all.

        Raises:
            OSError: It cannot be written; an older one is intact.
        """
        content = {"command": self.command, **vars(self), "cases": [vars(entry) for entry in self.cases]}
        write_json_file(content, sweep / FILE)

    @classmethod
    def read(cls, sweep: Path) -> Record:
        """Read it back.

        Raises:
            SettingError: There is none, or it cannot be read.
        """
        try:
            content: dict[str, Any] = json.loads((sweep / FILE).read_text(encoding="utf-8"))
            content.pop("command")
            return cls(**{**content, "cases": [Entry(**entry) for entry in content["cases"]]})
        except OSError as error:
            raise SettingError(f"{sweep}: holds no sweep ({FILE}: {error.strerror})") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SettingError(f"{sweep / FILE}: is no record of a sweep ({error})") from error


def utc_now() -> str:
    """The present instant, ISO 8601 with its zone."""
    return datetime.datetime.now(datetime.UTC).isoformat()


@contextlib.contextmanager
def claimed(sweep: Path) -> Iterator[None]:
    """Hold a sweep's folder for as long as the context lasts: one process at a time starts runs in it.

    Raises:
        SettingError: Another one does, here or on another machine, or it cannot be written.
    """
    try:
        sweep.mkdir(parents=True, exist_ok=True)
        fd = os.open(sweep / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SettingError(f"hydra.sweep.dir={sweep}: cannot be written ({error.strerror}); name another") from error
    try:
        if not _taken(sweep, fd):
            beat = last_beat(sweep)
            where = f" (process {beat.pid} on {beat.host})" if beat is not None else ""
            raise SettingError(
                f"hydra.sweep.dir={sweep}: another sweep is running in it{where}; wait for it, or name another"
            )
        with Heartbeat(sweep):
            yield
    finally:
        os.close(fd)


def _taken(sweep: Path, fd: int) -> bool:
    """Take the lock; False where somebody has it."""
    if is_live(sweep, LOCK):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
