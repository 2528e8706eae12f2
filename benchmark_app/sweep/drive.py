"""Running what a sweep has to run, on whatever launcher, and finding out afterwards what really became of it."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra.core.plugins import Plugins
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf

from benchmark_app.launch.placement import Machine
from benchmark_app.launch.signals import StopSignals

from .cases import attempt, next_attempt
from .job import CaseJob, Outcome
from .outlived import jobs_go_on
from .record import Record
from .state import ENDED, LOST, PLANNED, RUNNING, State, settle, state_of_case
from .stop import Stop, ask_to_stop
from .table import counts, progress_line

REFRESH_S = 5.0
TICK_S = 0.5
OUTLIVED_S = 1.0  # between two looks at jobs that outlived their launcher: SLURM does not like to be asked often
KILLED_S = 10.0
BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"


class SweepSignals(StopSignals):
    """Notes what asks a sweep to stop; the second time it also leaves a launcher that is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        super()._note(number, frame)
        if self.waiting and self.count > 1:
            raise KeyboardInterrupt


class CaseLoader:
    """Stands in for Hydra's loader in a launcher: every job gets the sweep's configuration and the folder of its case.

    What a case runs was composed and checked with the plan and lies in its folder; composing it again, perhaps hours
    later and from other files, could only make it something else.
    """

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: Sequence[str]) -> DictConfig:
        """The configuration of a job.

        Args:
            master_config: The sweep's.
            sweep_overrides: The name of the case, alone.
        """
        config = copy.deepcopy(master_config)
        OmegaConf.set_readonly(config.hydra, False)  # a launcher numbers its jobs there
        (config.hydra.sweep.subdir,) = sweep_overrides
        return config


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How runs are started.

    Attributes:
        config: The sweep's composed configuration; `hydra.sweep.dir` is absolute.
        machine: What runs share that go on side by side on this machine; None where they do not.
    """

    config: DictConfig
    machine: Machine | None = None

    @property
    def apart(self) -> bool:
        """Whether runs have processes of the launcher's own; otherwise they are run in this one, one by one."""
        return str(self.config.hydra.launcher._target_) != BASIC

    @property
    def takes_others_along(self) -> bool:
        """Whether the launcher ends all its processes when one of them dies."""
        return str(self.config.hydra.launcher._target_).endswith("JoblibLauncher")

    def __call__(self, numbers: dict[str, int], first: int) -> dict[str, Outcome]:
        """Start cases, and wait for them.

        Args:
            numbers: Case → number of the attempt to make.
            first: Number of the first job.

        Returns:
            What the launcher carried back.

        Raises:
            Exception: Whatever the launcher fails with, such as a process of its own that was killed.
        """
        loader: Any = CaseLoader()
        context = HydraContext(config_loader=loader, callbacks=Callbacks(self.config))
        job = CaseJob(numbers, apart=self.apart, machine=self.machine)
        launcher = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=job, config=self.config)
        returned = launcher.launch([[case] for case in numbers], initial_job_idx=first)
        found = {}
        for case, job_return in zip(numbers, returned, strict=True):
            if isinstance(value := getattr(job_return, "_return_value", None), Outcome):
                found[case] = value
        return found


class Drive:
    """Runs the cases of a sweep that are left to run.

    Args:
        sweep: The sweep's folder, claimed.
        record: Its record; kept up to date.
        launch: Starts cases.
        signals: What asks the sweep to stop.
    """

    def __init__(self, sweep: Path, record: Record, launch: Launch, signals: SweepSignals) -> None:
        self._sweep, self._record, self._launch, self._signals = sweep, record, launch, signals
        self._entries = {entry.case: entry for entry in record.current if entry.case}
        self._lock = threading.RLock()  # over entries, and the look that brings each up to date
        self._unwritten = ""
        self._started = 0
        self._lost: set[str] = set()
        self._total = 0

    def run(self, cases: list[str]) -> str:
        """Run cases, each once.

        Returns:
            Why `sweep.json` could not be brought up to date the last time, "" if it was.
        """
        self._total = len(cases)
        if self._launch.apart:
            self._run_apart(cases)
        else:
            for case in cases:
                if self._signals.first is not None:
                    break
                self._run_here(case)
        return self._unwritten

    def _run_here(self, case: str) -> None:
        entry = self._entries[case]
        self._started += 1
        print(progress_line(self._started, self._total, entry, self._record), flush=True)
        entry.status = RUNNING
        self._save()
        numbers = self._numbers([case])
        self._find_out(numbers, *self._try_launch(numbers))
        self._save()

    def _run_apart(self, cases: list[str]) -> None:
        """Have a launcher run cases in processes of its own; those it lost before they began are given to it again."""
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(ended,), name="sweep", daemon=True)
        watch.start()
        try:
            while cases and self._signals.first is None:
                numbers = self._numbers(cases)
                outcomes, failure = self._try_launch(numbers)
                self._wait_for(cases)
                left = [case for case in cases if case not in outcomes and not self._begun(case, numbers[case])]
                if not failure or len(left) == len(cases):  # it would fail again
                    left = []
                if failure and self._launch.takes_others_along:
                    left += self._lost_for_the_first_time(cases)
                self._find_out({case: numbers[case] for case in cases if case not in left}, outcomes, failure)
                cases = left
        finally:
            ended.set()
            watch.join()
        self._save()

    def _numbers(self, cases: list[str]) -> dict[str, int]:
        return {case: next_attempt(self._sweep / case) for case in cases}

    def _try_launch(self, numbers: dict[str, int]) -> tuple[dict[str, Outcome], str]:
        """Launch; the second value says why the launcher failed, "" if it did not."""
        self._signals.waiting = self._launch.apart
        first, self._started = self._started, self._started + (len(numbers) if self._launch.apart else 0)
        try:
            return self._launch(numbers, first), ""
        except KeyboardInterrupt:
            return {}, "stopped"
        except Exception as error:  # a launcher fails in ways of its own
            text = " ".join(str(error).split())
            return {}, f"{type(error).__name__}: {text}"
        finally:
            self._signals.waiting = False

    def _lost_for_the_first_time(self, cases: list[str]) -> list[str]:
        """Cases whose process is gone: one is to blame and will be lost again, the others go on in a new attempt."""
        lost = []
        for case in cases:
            state = state_of_case(self._sweep / case)
            if state.status == LOST and state.run is not None and case not in self._lost:
                with contextlib.suppress(OSError):
                    settle(state.run)
                lost.append(case)
        self._lost.update(lost)
        return lost

    def _begun(self, case: str, number: int) -> bool:
        return attempt(self._sweep / case, number).exists()

    def _wait_for(self, cases: list[str]) -> None:
        """Wait for runs and jobs that outlived their launcher, and once they are killed not longer than that takes."""
        killed_at = None
        while any(state_of_case(self._sweep / case).status == RUNNING for case in cases) or (
            killed_at is None and jobs_go_on(self._launch.config.hydra.launcher)
        ):
            time.sleep(OUTLIVED_S)
            if self._signals.count > 1:
                killed_at = killed_at or time.monotonic()
                if time.monotonic() - killed_at > KILLED_S:
                    return

    def _find_out(self, numbers: dict[str, int], outcomes: dict[str, Outcome], failure: str) -> None:
        """Bring entries up to date from the cases' folders; runs whose process is gone are closed there first."""
        with self._lock:
            for case, number in numbers.items():
                folder = self._sweep / case
                state = state_of_case(folder)
                if state.status == LOST and state.run is not None:
                    with contextlib.suppress(OSError):
                        settle(state.run)
                    state = state_of_case(folder)
                if not self._begun(case, number):
                    told = outcomes.get(case)
                    if told is not None and told.status != PLANNED:  # nothing could be written into its folder
                        state = State(status=told.status, reason=told.reason, attempts=state.attempts)
                    elif failure and self._signals.first is None:
                        reason = f"the launcher failed: {failure}"
                        state = State(status="crashed", reason=reason, attempts=state.attempts)
                self._entries[case].take(state, self._sweep)

    def _watch(self, ended: threading.Event) -> None:
        """While a launcher is waited for: pass signals on, keep the record up to date, and tell what has ended."""
        passed_on, due = 0, time.monotonic() + REFRESH_S
        while not ended.wait(TICK_S):
            count = max(self._signals.count, self._signals.first is not None)  # a scheduler's warning counts as no call
            if self._signals.first is not None and count > passed_on:
                passed_on = count
                with contextlib.suppress(OSError):
                    ask_to_stop(self._sweep, Stop(int(self._signals.first), passed_on))
            if time.monotonic() >= due:
                due = time.monotonic() + REFRESH_S
                self._refresh()

    def _refresh(self) -> None:
        with self._lock:
            for case, entry in self._entries.items():
                if entry.status in (PLANNED, RUNNING, LOST):
                    entry.take(state_of_case(self._sweep / case), self._sweep)
                    if entry.status in ENDED:
                        print(f"{counts(self._record)} · {entry.status} {case} {entry.reason}".rstrip(), flush=True)
            self._save()

    def _save(self) -> None:
        with self._lock:
            try:
                self._record.write(self._sweep)
                self._unwritten = ""
            except OSError as error:
                self._unwritten = f"sweep.json could not be brought up to date: {error.strerror}"
