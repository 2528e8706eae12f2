"""How a run ended is told from its events alone, and a crash is never taken for a success."""

from __future__ import annotations

from typing import Any

import pytest
from bundle_events import RUNS, phases, plan, run, startup_run, training_work

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.status import RunOutcome, run_status
from benchmark_app.journal.events import (
    Event,
    Failed,
    Finished,
    Phase,
    Refused,
    RunClosed,
    StopRequested,
    WorkerExited,
    WorkerSpawned,
)

UNFINISHED = training_work(done=False)
STOP = StopRequested(t=109.22, reason="SIGINT", signal="SIGINT")


def without(events: list[Event], *kinds: type[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, kinds)]


def failed(t: float) -> Failed:
    return Failed(t=t, error="ValueError: joint 3\n is not finite", where="task.py:12")


CASES: dict[str, tuple[list[Event], str, str]] = {
    "all work done": (RUNS["training"], "completed", ""),
    "engine killed the process while closing": (run(training_work(), code=-11), "completed", ""),
    "supervisor killed after the work was done": (without(RUNS["training"], WorkerExited, RunClosed), "completed", ""),
    "stopped, but the work was done already": ([*RUNS["training"], STOP], "completed", ""),
    "Ctrl-C": (run([*UNFINISHED, STOP, Finished(t=109.3, outcome="stopped")]), "interrupted", "SIGINT"),
    "Ctrl-C, killed after the grace period": (run([*UNFINISHED, STOP], code=-9), "interrupted", "SIGINT"),
    "a limit": (
        run([*UNFINISHED, StopRequested(t=109.22, reason="time limit of 60 s")]),
        "interrupted",
        "time limit of 60 s",
    ),
    "failure while stopping": (run([*UNFINISHED, STOP, failed(109.25)], code=1), "interrupted", "SIGINT"),
    "failure before the stop": (
        run([*UNFINISHED, failed(109.21), STOP], code=1),
        "crashed",
        "ValueError: joint 3 is not finite",
    ),
    "gone before the stop": (
        [*without(run(UNFINISHED, code=-9), RunClosed), StopRequested(t=110.0, reason="SIGINT")],
        "crashed",
        "the worker was killed by SIGKILL before it finished its work",
    ),
    "exception": (run([*UNFINISHED, failed(109.25)], code=1), "crashed", "ValueError: joint 3 is not finite"),
    "SIGKILL": (run(UNFINISHED, code=-9), "crashed", "the worker was killed by SIGKILL before it finished its work"),
    "os._exit(0)": (run(UNFINISHED), "crashed", "the worker exited with status 0 before it finished its work"),
    "exit status": (run(UNFINISHED, code=3), "crashed", "the worker exited with status 3 before it finished its work"),
    "an unknown signal": (
        run(UNFINISHED, code=-200),
        "crashed",
        "the worker was killed by signal 200 before it finished its work",
    ),
    "full disk under the worker's journal": (
        [*without(run(UNFINISHED), WorkerExited), WorkerExited(t=110, exit_code=1, last_words="OSError: disk full")],
        "crashed",
        "OSError: disk full",
    ),
    "supervisor killed": (
        without(run(UNFINISHED), WorkerExited, RunClosed),
        "crashed",
        "the supervisor ended without closing the run (killed, or power loss)",
    ),
    "worker stopped because its parent was gone": (
        without(run([*UNFINISHED, Finished(t=109.3, outcome="stopped")]), WorkerExited, RunClosed),
        "crashed",
        "the supervisor ended without closing the run (killed, or power loss)",
    ),
    "no worker": ([plan(), RunClosed(t=101.0, end_time_utc="x")], "crashed", "no worker was started"),
    "refused": (
        run([Refused(t=100.5, message="device=cuda: no CUDA device")], code=2),
        "refused",
        "device=cuda: no CUDA device",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_status_and_reason(name: str) -> None:
    events, status, reason = CASES[name]
    assert run_status(events) == RunOutcome(status, reason)  # type: ignore[arg-type]
    bundle = build_bundle(events)
    if status == "refused":
        assert bundle is None
        return
    assert bundle is not None
    assert bundle.extra is not None
    assert bundle.run.status == status
    assert bundle.extra.get("reason", "") == reason


def extra_of(events: list[Event]) -> dict[str, Any]:
    bundle = build_bundle(events)
    assert bundle is not None
    assert bundle.extra is not None
    return dict(bundle.extra)


def test_a_bad_exit_after_the_work_was_done_is_noted() -> None:
    extra = extra_of(run(training_work(), code=-11))
    assert extra["exit_note"] == "the worker was killed by SIGSEGV after it had finished its work"
    assert extra["exit_code"] == -11
    assert not {"exit_note", "exit_code", "reason", "failed_at"} & set(extra_of(RUNS["training"]))


def test_a_crash_keeps_the_real_iterations_and_says_where_it_failed() -> None:
    events = run([*UNFINISHED, failed(109.25)], code=1)
    bundle = build_bundle(events)
    assert bundle is not None
    assert bundle.runtime.iterations_completed == 5  # type: ignore[union-attr]
    assert extra_of(events)["failed_at"] == "task.py:12"
    assert extra_of(events)["exit_code"] == 1


def test_startup_is_completed_by_its_profiled_pass_only() -> None:
    assert run_status(startup_run()).status == "completed"
    second = next(e for e in startup_run() if isinstance(e, WorkerSpawned) and e.profiled)
    before = [event for event in startup_run() if event.t < second.t]
    assert run_status(before).status == "crashed"
    assert run_status([*before, StopRequested(t=101.9, reason="SIGTERM")]) == RunOutcome("interrupted", "SIGTERM")
    assert run_status([*before, second, *phases(102.1, profiled=True)]).status == "crashed"
    plain_only = [plan("startup", top_n=0), *before[1:]]
    assert run_status(plain_only).status == "completed"


def test_a_crashed_startup_keeps_the_phases_it_reached() -> None:
    events = without(startup_run(), Finished)
    events = [e for e in events if e.t < 102 and not (isinstance(e, Phase) and e.name == "first_step")]
    bundle = build_bundle(events)
    assert bundle is not None
    assert bundle.run.status == "crashed"
    assert list(bundle.phases) == ["python_imports", "task_config", "app_launch", "env_creation"]  # type: ignore[union-attr]
    assert bundle.phases["env_creation"].top_functions == []  # type: ignore[union-attr]
