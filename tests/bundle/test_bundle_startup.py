"""Start-up: what is measured counts; a profile that is lost costs the profile and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bundle_events import PHASES, facts, phases, plan, run, startup_run

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.pick import in_order
from benchmark_app.bundle.schema import StartupBundle
from benchmark_app.bundle.status import RunOutcome, profile_lost, run_status
from benchmark_app.journal.events import (
    Event,
    Failed,
    Finished,
    Refused,
    RunClosed,
    RunPlanned,
    StopRequested,
    WorkerExited,
    WorkerFacts,
    WorkerSpawned,
)


def built(events: list[Event]) -> StartupBundle:
    bundle = build_bundle(events)
    assert isinstance(bundle, StartupBundle)
    return bundle


def with_profile_that(*ends: Event, reached: int = 2, code: int = 1) -> list[Event]:
    """A start-up whose profiled pass reaches so many phases and does not finish."""
    kept = [event for event in startup_run() if event.t < 102.05]
    closing = [WorkerExited(t=103.1, exit_code=code), RunClosed(t=103.2, end_time_utc="2026-11-30T10:01:00+00:00")]
    return in_order([*kept, *phases(102.1, profiled=True)[:reached], *ends, *closing])


@pytest.mark.parametrize(
    ("ends", "code", "reason"),
    [
        ([Failed(t=102.9, error="OSError: no")], 1, "OSError: no"),
        ([Refused(t=102.9, message="device=cuda: gone")], 2, "device=cuda: gone"),
        ([], -9, "the worker was killed by SIGKILL before it finished its work"),
    ],
)
def test_a_profile_that_dies_leaves_a_completed_start_up_and_its_reason(
    ends: list[Event], code: int, reason: str
) -> None:
    bundle = built(with_profile_that(*ends, code=code))
    assert bundle.run.status == "completed"
    assert bundle.extra is not None
    assert bundle.extra["profile_lost"] == reason
    assert not {"reason", "failed_at", "exit_code", "exit_note"} & set(bundle.extra)
    assert {name: phase.total_time_s for name, phase in bundle.phases.items()} == PHASES
    assert [name for name, phase in bundle.phases.items() if phase.top_functions] == ["python_imports", "task_config"]


def test_a_profile_that_could_not_even_be_started_is_told_too() -> None:
    measured = [event for event in startup_run() if event.t < 101.9]
    events = [*measured, WorkerExited(t=101.95, exit_code=0, last_words="the supervisor had to give up: no room")]
    closed = [*events, RunClosed(t=102.0, end_time_utc="2026-11-30T10:01:00+00:00")]
    assert run_status(closed) == RunOutcome("completed", "")
    assert profile_lost(closed) == "the supervisor had to give up: no room"
    assert profile_lost(events) == ""  # nobody closed it: that it lacks a profile is the least of it
    assert run_status(events).status == "crashed"


def test_a_stop_during_the_profile_interrupts_and_loses_nothing_by_itself() -> None:
    events = with_profile_that(StopRequested(t=102.5, reason="stopped by SIGINT", signal="SIGINT"), code=-9)
    assert run_status(events) == RunOutcome("interrupted", "stopped by SIGINT")
    assert "profile_lost" not in (built(events).extra or {})


def test_no_profile_is_missed_where_none_was_asked_for() -> None:
    events = [event for event in startup_run() if event.t < 101.9 and not isinstance(event, RunPlanned)]
    closed = [plan("startup", top_n=0), *events, RunClosed(t=102.0, end_time_utc="2026-11-30T10:01:00+00:00")]
    assert profile_lost(closed) == ""
    assert run_status(closed) == RunOutcome("completed", "")


def warmed(*, measured: bool = True) -> list[Event]:
    """A pass that compiles kernels, slowly, before the measured one."""
    first: list[Event] = [
        WorkerSpawned(t=100.2, pid=1, command=["python"], log="log", part="warming"),
        *phases(100.3, slower=50.0),
        facts(t=100.9, extra={"kernel_cache": "cold"}),
        Finished(t=101.0, outcome="budget"),
        WorkerExited(t=101.1, exit_code=0),
    ]
    second: list[Event] = [
        WorkerSpawned(t=102.0, pid=2, command=["python"], log="log"),
        *phases(102.1),
        facts(t=102.8, extra={"kernel_cache": "warm"}),
        Finished(t=103.0, outcome="budget"),
        WorkerExited(t=103.1, exit_code=0),
    ]
    closed = RunClosed(t=104.0, end_time_utc="2026-11-30T10:01:00+00:00")
    return [plan("startup", top_n=0), *first, *(second if measured else []), closed]


def test_the_pass_that_compiles_kernels_is_not_measured() -> None:
    bundle = built(warmed())
    assert {name: phase.total_time_s for name, phase in bundle.phases.items()} == PHASES
    assert (bundle.extra or {})["kernel_cache"] == "warm"


def test_a_start_up_of_which_only_kernels_were_compiled_did_not_complete() -> None:
    bundle = built(warmed(measured=False))
    assert bundle.run.status == "crashed"
    assert bundle.phases == {}


def test_facts_are_those_of_the_measured_pass_and_not_of_the_profiled_one() -> None:
    events = [event for event in startup_run() if not isinstance(event, WorkerFacts)]
    found: list[Event] = [
        facts(t=100.9, extra={"kernel_cache": "cold"}),
        facts(t=102.6, extra={"kernel_cache": "warm"}),
    ]
    assert (built(in_order([*events, *found])).extra or {})["kernel_cache"] == "cold"


def test_the_whitelist_is_recorded_by_its_content() -> None:
    content: dict[str, Any] = {"env_creation": ["newton.*:*"]}
    work = [*phases(100.3), facts(), Finished(t=101.5, outcome="budget")]
    bundle = built(run(work, workflow="startup", whitelist=json.dumps(content)))
    assert json.loads(bundle.config.whitelist or "") == content
