"""A sweep from its plan to its exit status."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from hydra._internal.callbacks import Callbacks
from omegaconf import DictConfig

from benchmark_app.launch import report
from benchmark_app.launch.placement import clear, shared_machine
from benchmark_app.refusal import refuse
from benchmark_app.settings import SettingError, SweepCfg

from .accounts import add_accounting
from .cases import FILE as CASE_FILE
from .cases import attempts
from .drive import Drive, Launch, SweepSignals
from .plan import Plan
from .record import FILE, Entry, Record, claimed, utc_now
from .state import COMPLETED, LOST, RUNNING, settle, state_of_case
from .stop import forget_stop
from .table import counts, table

FAILED = 1


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a sweep was asked for.

    Attributes:
        plan: The combinations, checked.
        config: Hydra's configuration of the sweep.
        options: Options of the command line that decide what is composed.
        overrides: The settings that were typed.
        suite: The suite's name, None where there is none.
        settings: `sweep.*`.
        report: Write report.html at the end.
    """

    plan: Plan
    config: DictConfig
    options: list[str]
    overrides: list[str]
    suite: str | None
    settings: SweepCfg
    report: bool


def check_folder(sweep: Path, *, resume: bool) -> None:
    """Keep a new sweep out of a folder that holds one, before it takes the trouble of planning.

    Raises:
        SettingError: It holds one, and `sweep.resume` is not set.
    """
    if (sweep / FILE).exists() and not resume:
        raise SettingError(
            f"hydra.sweep.dir={sweep}: already holds a sweep; add sweep.resume=true to go on with it, or name another"
        )


def run_sweep(asked: Asked) -> int:
    """Run what a plan leaves to run, and say what became of everything.

    Returns:
        Exit status: 0 if all completed, but for `sweep.allow_failures` of them; 1 otherwise; 2 where there was nothing
        to run; 128 + signal if it was stopped.

    Raises:
        SettingError: The sweep's folder cannot be used; nothing was started.
    """
    sweep = Path(str(asked.config.hydra.sweep.dir))
    plan = asked.plan
    if not plan.cases:
        first, *others = dict.fromkeys(member.reason for member in plan.members)
        return refuse(first + (f" (and {len(others)} other reasons)" if others else ""))
    runs = [case.settings for case in plan.cases]
    machine = shared_machine(asked.config.hydra.launcher, runs, sweep, oversubscribe=asked.settings.oversubscribe)
    with claimed(sweep):
        check_folder(sweep, resume=asked.settings.resume)  # again: another one may have come and gone meanwhile
        try:
            record = _begin(sweep, asked)
        except OSError as error:
            _take_back(sweep, plan)
            raise SettingError(
                f"hydra.sweep.dir={sweep}: cannot be written ({error.strerror}); free some space or name another"
            ) from error
        left = [entry.case for entry in record.current if entry.case and entry.status != COMPLETED]
        _announce(sweep, asked, record, left)
        callbacks = Callbacks(asked.config)
        callbacks.on_multirun_start(config=asked.config, config_name=None)
        with SweepSignals() as signals:
            lost = Drive(sweep, record, Launch(config=asked.config, machine=machine), signals).run(left)
            add_accounting(record, sweep)
            record.ended_utc = utc_now()
            failures = len(record.failures())
            record.exit_status = signals.exit_status or (FAILED if failures > asked.settings.allow_failures else 0)
            stopped = signals.first is not None
            record.status = "interrupted" if stopped else "failed" if failures else "completed"
            try:
                record.write(sweep)
            except OSError as error:
                lost = f"sweep.json could not be brought up to date: {error.strerror}"
        callbacks.on_multirun_end(config=asked.config, config_name=None)
        with contextlib.suppress(OSError):
            forget_stop(sweep)
        clear(machine)
        print("\n".join(["", *table(record), f"{counts(record)} · {_short(sweep)}/"]), flush=True)
        if lost:
            print(f"benchmark_app: lost: {lost}", file=sys.stderr)
        if any(case.repeat for case in plan.cases) and any(entry.numbers for entry in record.current):
            report.summarise(sweep)
        if asked.report and not stopped and any(entry.numbers for entry in record.current):
            report.tell(sweep)
    return record.exit_status or (FAILED if lost else 0)


def _begin(sweep: Path, asked: Asked) -> Record:
    """Write down the plan, and what of it was done before.

    Raises:
        OSError: It cannot be written.
    """
    forget_stop(sweep)
    earlier = Record.read(sweep) if (sweep / FILE).exists() else None
    record = Record(
        options=asked.options,
        overrides=asked.overrides,
        suite=asked.suite,
        launcher=str(asked.config.hydra.runtime.choices.get("hydra/launcher")),
        started_utc=utc_now() if earlier is None else earlier.started_utc,
    )
    for member in asked.plan.members:
        name = "" if member.case is None else member.case.name
        entry = Entry(case=name, overrides=member.overrides, status=member.status, reason=member.reason)
        record.cases.append(entry)
        if member.case is not None:
            member.case.write(sweep)
            _look(entry, sweep)
    if earlier is not None:
        present = {entry.case for entry in record.cases}
        for entry in earlier.cases:
            if entry.case and entry.case not in present:
                entry.left_out = True
                record.cases.append(entry)
    record.write(sweep)
    return record


def _take_back(sweep: Path, plan: Plan) -> None:
    """Remove what was written of a plan that could not be written whole; earlier attempts and others' files stay."""
    for case in plan.cases:
        if not attempts(sweep / case.name):
            with contextlib.suppress(OSError):
                (sweep / case.name / CASE_FILE).unlink(missing_ok=True)
                (sweep / case.name).rmdir()


def _look(entry: Entry, sweep: Path) -> None:
    """See what became of a case in an earlier sweep of this folder, and close what was left open."""
    state = state_of_case(sweep / entry.case)
    if state.status == LOST and state.run is not None:
        settle(state.run)
        state = state_of_case(sweep / entry.case)
    if state.status == RUNNING:
        raise SettingError(f"{state.run}: this run still goes on; stop it first, or wait for it")
    entry.take(state, sweep)


def _announce(sweep: Path, asked: Asked, record: Record, left: list[str]) -> None:
    done = sum(entry.status == COMPLETED for entry in record.current)
    parts = [f"{len(left)} to run"]
    parts += [f"{done} completed earlier"] if done else []
    for status in ("refused", "skipped"):
        if number := sum(entry.status == status for entry in record.current):
            parts.append(f"{number} {status}")
    parts += [f"{asked.plan.merged} asked for twice"] if asked.plan.merged else []
    print(f"{_short(sweep)}/: {', '.join(parts)}", flush=True)


def _short(path: Path) -> str:
    """A path as a person would type it from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
