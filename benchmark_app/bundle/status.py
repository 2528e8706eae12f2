"""How a run ended, told from its events alone."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from benchmark_app.bundle.pick import WARMING, Pass, every, first, in_order, last, passes, without_profile
from benchmark_app.journal.events import (
    Comparison,
    EngineWarned,
    Event,
    Failed,
    Finished,
    Refused,
    RunClosed,
    RunPlanned,
    StopRequested,
    WorkerExited,
    WorkerSpawned,
)

DONE = ("budget", "early_stop")  # outcomes of a worker whose work is complete


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run; `reason` is one line, empty for a completed one."""

    status: Literal["completed", "interrupted", "crashed", "refused"]
    reason: str


def run_status(events: Iterable[Event]) -> RunOutcome:
    """Judge a run.

    Only the worker's own word that all of its work is done makes a run completed: no exit status does, because a task
    may call `os._exit(0)`, and none undoes it, because closing an engine may end the process. A stop that was asked
    for makes it interrupted, unless the worker had failed before. A warning of the engine that means wrong physics and
    is not allowed makes it crashed, whatever the worker says: its numbers are not those of the robot. A start-up whose
    profiled pass came to nothing by itself is completed: what it measured was complete before (`profile_lost`).
    """
    events = _judged(in_order(events))
    refused = first(events, Refused)
    if refused is not None:
        return RunOutcome("refused", _one_line(refused.message))
    if warned := _forbidden(events):
        error = first(events, Failed)
        return RunOutcome("crashed", _one_line(f"{error.error}; {warned}" if error is not None else warned))
    if _work_done(events):
        return RunOutcome("completed", "")
    stop = first(events, StopRequested)
    if stop is not None and not _failed_before(events, stop.t):
        return RunOutcome("interrupted", _one_line(stop.reason or stop.signal or "the run was asked to stop"))
    return RunOutcome("crashed", _crash_reason(events))


def profile_lost(events: Iterable[Event]) -> str:
    """Why a start-up that was measured lacks its profile, or a part of it; "" if nothing is lost, or it was stopped."""
    events = in_order(events)
    plan, measured = first(events, RunPlanned), without_profile(events)
    if plan is None or plan.workflow != "startup" or plan.top_n == 0 or first(events, RunClosed) is None:
        return ""
    parts = passes(events)
    if not _measured(parts) or not _all_was_done(passes(measured)[-1].events) or _forbidden(events):
        return ""
    if not parts[-1].profiled:
        if first(events, StopRequested) is not None:
            return ""
        exited = last(events, WorkerExited)
        return _one_line(exited.last_words if exited is not None else "") or "the profiled pass was not started"
    of_profile = parts[-1].events
    stop = first(of_profile, StopRequested)
    if _all_was_done(of_profile) or (stop is not None and not _failed_before(of_profile, stop.t)):
        return ""
    refused = first(of_profile, Refused)
    return _one_line(refused.message) if refused is not None else _crash_reason(of_profile)


def _judged(events: list[Event]) -> list[Event]:
    """The events that decide how a run ended."""
    return without_profile(events) if profile_lost(events) else events


def exit_code(events: Iterable[Event]) -> int:
    """The last worker's exit status, negative for a signal; 0 where it is unknown."""
    exited = last(_judged(in_order(events)), WorkerExited)
    return exited.exit_code if exited is not None else 0


def exit_note(events: Iterable[Event]) -> str:
    """What went wrong after a run had completed, `""` if nothing did."""
    events = _judged(in_order(events))
    notes = [_one_line(failed.error) for failed in every(events, Failed)]
    code = exit_code(events)
    if code != 0:
        notes.append(f"{_describe_exit(code)} after it had finished its work")
    return "; ".join(notes)


def failed_at(events: Iterable[Event]) -> str:
    """File and line of the exception that ended the run, `""` if none did."""
    failed = first(_judged(in_order(events)), Failed)
    return failed.where if failed is not None else ""


def _forbidden(events: list[Event]) -> str:
    """The engine's warning that failed the run, in a line, "" if none did."""
    warned = every(events, EngineWarned)
    event = next((event for event in warned if not event.allowed), None)
    if event is None:
        return ""
    names = ",".join(sorted({other.name for other in warned if other.setting == event.setting}))
    allow = f"to run all the same, set {event.setting}=[{names}]"
    return f"engine warning {event.name}: {event.meaning} ({event.line}); {allow}"


def _work_done(events: list[Event]) -> bool:
    parts = passes(events)
    if _all_was_done(parts[-1].events) and _measured(parts):
        return not (_profile_missing(events) or _comparison_missing(events))
    return False


def _measured(parts: list[Pass]) -> bool:
    """Whether there is a pass that does more than to compile kernels or to profile."""
    return any(not part.profiled and part.part != WARMING for part in parts)


def _all_was_done(current: list[Event]) -> bool:
    """Whether the worker said so; of several ranks, the one that reports."""
    return any(finished.outcome in DONE for finished in every(current, Finished) if finished.rank == 0)


def _profile_missing(events: list[Event]) -> bool:
    """True if a startup run ended between its plain and its profiled pass."""
    plan = first(events, RunPlanned)
    if plan is None or plan.workflow != "startup" or plan.top_n == 0:
        return False
    if any(spawned.profiled for spawned in every(events, WorkerSpawned)):
        return False
    return first(events, StopRequested) is not None or first(events, RunClosed) is None


def _comparison_missing(events: list[Event]) -> bool:
    """True if an equivalence run ended before its engines were compared: each of its earlier parts finishes too."""
    plan = first(events, RunPlanned)
    return plan is not None and plan.workflow == "equivalence" and first(events, Comparison) is None


def _failed_before(events: list[Event], t: float) -> bool:
    """True if the worker raised, or was gone without having finished, before time `t`."""
    if any(failed.t < t for failed in every(events, Failed)):
        return True
    current = passes(events)[-1].events
    return not _all_was_done(current) and any(exited.t < t for exited in every(current, WorkerExited))


def _crash_reason(events: list[Event]) -> str:
    failed, current = first(events, Failed), passes(events)[-1].events
    if (silent := _silent_rank(events, current)) is not None:
        return f"rank {silent.rank}: {ending(silent)}"
    if failed is not None:
        return f"rank {failed.rank}: {_one_line(failed.error)}" if _ranks(current) > 1 else _one_line(failed.error)
    exited = last(current, WorkerExited)
    if exited is not None:
        return ending(exited)
    if first(events, RunClosed) is None:
        return "the supervisor ended without closing the run (killed, or power loss)"
    if first(events, WorkerSpawned) is None:
        return "no worker was started"
    return "the worker did not finish its work"


def _silent_rank(events: list[Event], current: list[Event]) -> WorkerExited | None:
    """The rank that was killed, or ended without a word, while others went on: what they then said is its doing."""
    told = {failed.rank for failed in every(events, Failed)} | {done.rank for done in every(current, Finished)}
    for exited in every(current, WorkerExited) if _ranks(current) > 1 else []:
        if not exited.killed_by_us and exited.rank not in told:
            return exited
    return None


def _ranks(current: list[Event]) -> int:
    return len({exited.rank for exited in every(current, WorkerExited)})


def ending(exited: WorkerExited) -> str:
    """How a worker ended that did not do all of its work, in a line."""
    memory = f": {exited.out_of_memory}" if exited.out_of_memory else ""
    return _one_line(exited.last_words) or f"{_describe_exit(exited.exit_code)} before it finished its work{memory}"


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"the worker exited with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the worker was killed by {name}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
