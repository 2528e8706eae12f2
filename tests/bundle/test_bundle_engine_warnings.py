"""What an engine said of wrong physics decides the status, and stands in `extra` with its number."""

from __future__ import annotations

from typing import Any

import pytest
from bundle_events import run, training_work

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.status import RunOutcome, run_status
from benchmark_app.journal.events import EngineWarned, Event, Extra, Failed, Finished, Refused, StopRequested

REASON = (
    "engine warning contact_overflow: contacts were dropped (broadphase overflow 4); to run all the same, set "
    "physics.allow=[{}]"
)


def warned(t: float = 105.5, name: str = "contact_overflow", **changes: Any) -> EngineWarned:
    values: dict[str, Any] = {
        "meaning": "contacts were dropped",
        "count": 3,
        "line": "broadphase overflow 4",
        "setting": "physics.allow",
        "allowed": False,
    }
    return EngineWarned(t=t, name=name, **(values | changes))


def extra(events: list[Event]) -> dict[str, Any]:
    bundle = build_bundle(events)
    assert bundle is not None
    return dict(bundle.extra or {})


@pytest.mark.parametrize("done", [True, False])
def test_a_warning_that_is_not_allowed_makes_the_run_crashed_whatever_the_worker_says(done: bool) -> None:
    events = run([*training_work(done=done), warned()])
    assert run_status(events) == RunOutcome("crashed", REASON.format("contact_overflow"))
    assert extra(events)["engine_warnings.contact_overflow"] == 3


def test_the_stop_it_led_to_and_one_by_the_user_change_nothing() -> None:
    stopped = Finished(t=109.3, outcome="stopped")
    for stop in ([], [StopRequested(t=106.0, reason="SIGINT", signal="SIGINT")]):
        events = run([*training_work(done=False), warned(), *stop, stopped])
        assert run_status(events).status == "crashed"


def test_an_allowed_warning_is_counted_and_changes_no_status() -> None:
    events = run([*training_work(), warned(allowed=True), warned(107.0, allowed=True, count=4)])
    assert run_status(events) == RunOutcome("completed", "")
    assert extra(events)["engine_warnings.contact_overflow"] == 7


def test_the_setting_named_allows_all_that_were_seen_on_its_side() -> None:
    other = warned(105.6, "invalid_inertia", allowed=True)
    elsewhere = warned(105.7, "constraint_overflow", setting="reference_physics.allow")
    events = run([*training_work(), warned(), other, elsewhere])
    assert run_status(events).reason == REASON.format("contact_overflow,invalid_inertia")


def test_the_exception_that_ended_the_worker_is_told_before_the_warning() -> None:
    failed = Failed(t=105.9, error="ValueError: joint 3\n is not finite")
    events = run([*training_work(done=False), warned(), failed], code=1)
    assert run_status(events).reason == f"ValueError: joint 3 is not finite; {REASON.format('contact_overflow')}"


def test_a_refusal_stays_one() -> None:
    assert run_status(run([warned(), Refused(t=106.0, message="num_envs=0")])).status == "refused"


@pytest.mark.parametrize(("counted", "total"), [(2, 3), (40, 40), ("many", 3)])
def test_what_is_printed_and_counted_is_counted_once(counted: Any, total: int) -> None:
    own = Extra(t=109.2, values={"engine_warnings.contact_overflow": counted})
    assert extra(run([*training_work(), warned(allowed=True), own]))["engine_warnings.contact_overflow"] == total
