"""The run directory: taken by one run, once, with a lock and a little disk in reserve."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_app.bundle.write import write_json_file
from benchmark_app.settings import SettingError

LOCK = "run.lock"
MANIFEST = "run.json"
RESERVE = ".reserve"
CHECKPOINTS = "checkpoints"
JOURNAL = "journal"
LOGS = "logs"
VIDEOS = "videos"


@dataclass(frozen=True, kw_only=True)
class HydraRecord:
    """How the run was composed: resolved configuration and Hydra's own as YAML, options and overrides as typed."""

    config: str
    hydra: str
    options: list[str]
    overrides: list[str]


class RunDirectoryBusyError(Exception):
    """The lock is held: a live process is working in this directory."""


class RunDirectory:
    """One run's folder, locked for as long as this object lives.

    Attributes:
        path: The folder, absolute.
        manifest: Content of `run.json`; `save` writes it.
    """

    def __init__(self, path: Path, lock_fd: int) -> None:
        self.path = path
        self.manifest: dict[str, Any] = {}
        self._lock_fd = lock_fd

    @classmethod
    def create(cls, path: Path, record: HydraRecord, manifest: dict[str, Any], reserve_mb: int) -> RunDirectory:
        """Take a folder for a new run, and write down what it is going to be.

        Raises:
            SettingError: The folder already holds a run, cannot be written, or has no space left.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / MANIFEST).exists() or (path / JOURNAL).exists():
                raise FileExistsError
            # Creating the lock decides between two runs that start in the same folder at the same instant.
            fd = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise SettingError(
                f"hydra.run.dir={path}: already holds a run; leave it out for a new folder, or name another"
            ) from None
        except OSError as error:
            raise SettingError(f"hydra.run.dir={path}: cannot be written ({error.strerror}); name another") from error
        fcntl.flock(fd, fcntl.LOCK_EX)
        directory = cls(path, fd)
        directory.manifest = manifest
        try:
            directory.reserve(reserve_mb)
            for name in (JOURNAL, CHECKPOINTS, LOGS, ".hydra"):
                (path / name).mkdir(exist_ok=name == ".hydra")  # in a sweep Hydra may have been told to make it
            (path / ".hydra" / "config.yaml").write_text(record.config, encoding="utf-8")
            (path / ".hydra" / "hydra.yaml").write_text(record.hydra, encoding="utf-8")
            overrides = "".join(f"- {override}\n" for override in record.overrides) or "[]\n"
            (path / ".hydra" / "overrides.yaml").write_text(overrides, encoding="utf-8")
            directory.save()
        except OSError as error:
            directory.discard()
            raise SettingError(
                f"hydra.run.dir={path}: cannot set {reserve_mb} MiB aside ({error.strerror}); free some space or "
                "name another folder"
            ) from error
        return directory

    @classmethod
    def reopen(cls, path: Path) -> RunDirectory:
        """Take over the folder of a run whose process is gone.

        Raises:
            RunDirectoryBusyError: A live process holds its lock.
            FileNotFoundError: There is no run in it.
        """
        fd = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise RunDirectoryBusyError from None
        return cls(path, fd)

    def reserve(self, reserve_mb: int) -> None:
        """Set disk aside.

        Raises:
            OSError: There is not that much left.
        """
        fd = os.open(self.path / RESERVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, reserve_mb * 2**20)
        finally:
            os.close(fd)

    def release_reserve(self) -> None:
        """Give the reserved disk back, to write the last events and the bundle into."""
        (self.path / RESERVE).unlink(missing_ok=True)

    def journal(self, name: str) -> Path:
        """Path of a journal, such as `training.worker`."""
        return self.path / JOURNAL / f"{name}.jsonl"

    def log(self, name: str) -> Path:
        """Path of a worker's full output."""
        return self.path / LOGS / f"{name}.log"

    def latest_log(self, workflow: str) -> Path | None:
        """The output of the last process a workflow started; None where there is none."""
        logs = [*self.log(workflow).parent.glob(f"{workflow}.*log")]  # its own, and those of its parts
        return max(logs, key=lambda log: log.stat().st_mtime, default=None)

    def save(self) -> None:
        """Write `run.json`, whole or not at all."""
        write_json_file(self.manifest, self.path / MANIFEST)

    def discard(self) -> None:
        """Take back everything `create` made: nothing was run here."""
        self.close()
        for name in (JOURNAL, CHECKPOINTS, LOGS, ".hydra"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (MANIFEST, LOCK):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()  # unless it held something else before

    def close(self) -> None:
        """Release the lock; the lock file stays and marks the folder as used."""
        self.release_reserve()
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


def point_latest(root: Path, run: Path) -> None:
    """Let `latest` in the root folder point at the newest run, in one step."""
    link, new = root / "latest", root / f".latest-{os.getpid()}"
    try:
        new.unlink(missing_ok=True)
        new.symlink_to(os.path.relpath(run, root))
        new.replace(link)
    except OSError:
        new.unlink(missing_ok=True)  # a file system without symbolic links: the run itself is complete without it
