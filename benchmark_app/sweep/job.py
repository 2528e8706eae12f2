"""What a launcher starts for each case: one attempt, which never raises and leaves its outcome in the case's folder.

It runs in whatever process the launcher made: this one, one of joblib's or ray's, a job of SLURM.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig

from benchmark_app.journal.events import Scalar
from benchmark_app.launch.application import run
from benchmark_app.launch.placement import Machine, StoppedWaitingError, placed
from benchmark_app.launch.run_directory import JOURNAL
from benchmark_app.launch.signals import WATCHED, StopSignals
from benchmark_app.settings import SettingError

from .cases import Case, attempt, attempts
from .requeue import continued, hand_back
from .state import PLANNED, RUNNING, close_unbegun, settle, state_of_run
from .stop import asked_to_stop

LOG = "attempt-{number}.log"
TICK_S = 0.5


@dataclass(frozen=True)
class Outcome:
    """What the launcher carries back; the case's folder says more.

    Attributes:
        status: As in `State.status`; planned: it was not begun, because the sweep was stopped.
        reason: Why it is not `completed`.
    """

    status: str
    reason: str = ""


@dataclass(frozen=True)
class CaseJob:
    """The function a launcher calls for each case.

    Args:
        numbers: Case → number of the attempt to make.
        apart: It runs in a process of the launcher's, without a terminal of its own.
        machine: What the runs share that go on side by side on this machine; None where they do not.
    """

    numbers: dict[str, int]
    apart: bool
    machine: Machine | None = None

    def __call__(self, composed: Any) -> Outcome:
        """Make the attempt whose case Hydra's output directory names."""
        folder = Path(HydraConfig.get().runtime.output_dir)
        return run_case(folder, self.numbers[folder.name], apart=self.apart, machine=self.machine)


def run_case(folder: Path, number: int, *, apart: bool, machine: Machine | None = None) -> Outcome:
    """Make one attempt of a case.

    Called again for the same attempt (by a launcher that repeats what it lost, or what a scheduler ended), it makes the
    next one under `run.requeue=true`; otherwise it does not run again, and tells what the first call left.

    Args:
        folder: The case's folder.
        number: Number of the attempt.
        apart: Keep what it prints in a file, and watch for a sweep that was stopped.
        machine: What it shares with runs beside it.
    """
    if asked_to_stop(folder.parent):
        return Outcome(PLANNED, "the sweep was stopped before it")
    try:
        case = Case.read(folder)
    except OSError as error:
        return Outcome("refused", f"{folder}: cannot be read ({error.strerror})")
    if not apart:
        return _attempts(case, folder, number, {})
    # Handlers of the launcher's would end this process, or have it queued again, before the results are told.
    with _apart(folder, number), StopSignals(passes_on=False) as signals:
        earlier = attempts(folder)
        if earlier and max(earlier) >= number:
            outcome = _left_by(earlier[max(earlier)], signals)
            if not case.settings.run.requeue or outcome.status not in ("interrupted", "crashed"):
                return outcome
            number = max(earlier) + 1
        try:
            with placed(machine, case.settings, lambda: signals.first is not None) as place:
                outcome = _attempts(case, folder, number, place)
        except StoppedWaitingError:
            outcome = Outcome(PLANNED, f"stopped by {signals.first.name} before it" if signals.first else "")
    if signals.warned and case.settings.run.requeue and outcome.status in ("interrupted", PLANNED):
        try:
            hand_back()
        except Exception as error:  # it stays interrupted
            print(f"benchmark_app: not queued again: {error}", file=sys.stderr)
    return outcome


def _left_by(path: Path, signals: StopSignals) -> Outcome:
    """What became of an attempt whose process is gone; on another machine it takes a while until it counts as gone."""
    while (state := state_of_run(path)).status == RUNNING and signals.first is None:
        time.sleep(TICK_S)
    settle(path)
    state = state_of_run(path)
    return Outcome(state.status, state.reason)


def _attempts(case: Case, folder: Path, number: int, place: dict[str, Scalar]) -> Outcome:
    """Make an attempt, and another one after each crash for as long as `run.retries` allows."""
    for again in range(case.settings.run.retries + 1):
        outcome = _attempt(case, folder, number + again, place)
        if outcome.status != "crashed" or asked_to_stop(folder.parent):
            break
    return outcome


def _attempt(case: Case, folder: Path, number: int, place: dict[str, Scalar]) -> Outcome:
    """Make one attempt, here and now."""
    path = attempt(folder, number)
    settings, facts = continued(case.settings, attempts(folder).values())
    again: dict[str, Scalar] = {"repeat": case.repeat, "repeats": case.settings.repeats} if case.repeat else {}
    try:
        path.mkdir()
    except OSError as error:
        return Outcome("refused", f"{path}: cannot be written ({error.strerror})")
    try:
        run(settings, path, case.record, {**facts, **again, **place})
    except SettingError as error:
        return _close(path, "refused", str(error))
    except BaseException as error:
        traceback.print_exc(file=sys.stderr)
        return _close(path, "crashed", f"{type(error).__name__}: {error}")
    state = state_of_run(path)
    return Outcome(state.status, state.reason)


def _close(path: Path, status: str, reason: str) -> Outcome:
    """Write down the end of an attempt that its run did not close itself."""
    with contextlib.suppress(OSError):  # told by the launcher then, if it can
        path.mkdir(exist_ok=True)  # a refused run takes back what it made
        if (path / JOURNAL).is_dir():
            settle(path)
        else:
            close_unbegun(path, status, reason)
    return Outcome(status, reason)


@contextlib.contextmanager
def _apart(folder: Path, number: int) -> Iterator[None]:
    """Keep what is printed in a file beside the attempt, and pass a stop of the sweep on to this process."""
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(folder.parent, ended), name="stop", daemon=True)
    with (
        (folder / LOG.format(number=number)).open("a", encoding="utf-8") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
    ):
        before = signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)  # ray starts its processes with SIGINT blocked
        watch.start()
        try:
            yield
        finally:
            ended.set()
            watch.join()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(sweep: Path, ended: threading.Event) -> None:
    passed_on = 0
    while not ended.wait(TICK_S):
        stop = asked_to_stop(sweep)
        while stop is not None and passed_on < stop.count:
            passed_on += 1
            os.kill(os.getpid(), stop.signal)
