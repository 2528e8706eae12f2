"""Recovering a whole sweep: every run of it that nobody closed."""

from __future__ import annotations

from pathlib import Path

from benchmark_app.launch import recover as one
from benchmark_app.launch.heartbeat import is_live
from benchmark_app.refusal import REFUSED, refuse
from benchmark_app.settings import SettingError

from .cases import attempts
from .record import FILE, LOCK, Record
from .state import LOST, RUNNING, settle, state_of_case, state_of_run


def recover(path: Path) -> int:
    """Build every bundle the journals of a run, or of all runs of a sweep, allow.

    Returns:
        0 when all that the journals hold is on disk, 1 when something could not be written, 2 when there is no run, or
        one still goes on.
    """
    if not (path / FILE).is_file():
        return one.recover(path)
    try:
        record = Record.read(path)
    except SettingError as error:
        return refuse(str(error))
    status = 0
    for entry in record.cases:
        for run in attempts(path / entry.case).values() if entry.case else ():
            before = state_of_run(run).status
            if before == RUNNING:
                status = max(status, refuse(f"{run}: the run still goes on; stop it first, or wait for it"))
            elif before == LOST:
                try:
                    settle(run)
                except OSError as error:
                    print(f"{run}: could not be closed: {error.strerror}")
                    status = max(status, 1)
                after = state_of_run(run)
                print(f"{after.status:<12} {run}  {after.reason}".rstrip())
    # Only whoever runs a sweep writes its record; a sweep that is over has nobody else.
    if status < REFUSED and not is_live(path, LOCK):
        for entry in record.current:
            if entry.case:
                entry.take(state_of_case(path / entry.case), path)
        record.status = "failed" if record.failures() else "completed"
        try:
            record.write(path)
        except OSError as error:
            print(f"{path / FILE}: could not be brought up to date: {error.strerror}")
            status = 1
    return status
