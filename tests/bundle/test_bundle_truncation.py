"""Whatever a power cut leaves of the journals, a true and valid bundle comes out of it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from bundle_events import RUNS, SUPERVISOR_KINDS
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.check import check_record
from benchmark_app.bundle.read import parse_bundle
from benchmark_app.journal.events import Event, Finished, RunPlanned


def assert_true(events: list[Event], workflow: str) -> None:
    """The bundle of what is left is valid, survives a file, and claims no more than the events say."""
    bundle: Any = build_bundle(events)
    if not any(isinstance(event, RunPlanned) for event in events):
        assert bundle is None
        return
    check_record(bundle)
    loaded = parse_bundle(json.loads(json.dumps(dataclasses.asdict(bundle), allow_nan=False)))
    assert loaded.bundle == bundle
    assert loaded.workflow == workflow
    if not any(isinstance(event, Finished) for event in events):
        assert bundle.run.status == "crashed"
        assert bundle.extra["reason"]
    if workflow == "training":
        completed = sum(event.kind == "iteration" for event in events)
        assert bundle.runtime.iterations_completed == completed
        assert len(bundle.learning.reward.series_per_iter or []) in (0, completed)


def journals(workflow: str) -> tuple[list[Event], list[Event]]:
    supervisor = [event for event in RUNS[workflow] if event.kind in SUPERVISOR_KINDS]
    worker = [event for event in RUNS[workflow] if event.kind not in SUPERVISOR_KINDS]
    return supervisor, worker


@pytest.mark.parametrize("workflow", RUNS)
def test_every_prefix_of_a_run_gives_a_valid_bundle(workflow: str) -> None:
    events = RUNS[workflow]
    for end in range(len(events) + 1):
        assert_true(events[:end], workflow)


@pytest.mark.parametrize("workflow", RUNS)
def test_the_lost_tail_of_one_journal_does_not_spoil_the_other(workflow: str) -> None:
    supervisor, worker = journals(workflow)
    for end in range(len(worker) + 1):
        assert_true(supervisor + worker[:end], workflow)
    for end in range(len(supervisor) + 1):
        assert_true(supervisor[:end] + worker, workflow)


@pytest.mark.parametrize("workflow", RUNS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_both_journals_cut_anywhere_give_a_valid_bundle(workflow: str, data: st.DataObject) -> None:
    supervisor, worker = journals(workflow)
    left = supervisor[: data.draw(st.integers(0, len(supervisor)))] + worker[: data.draw(st.integers(0, len(worker)))]
    assert_true(left, workflow)


@pytest.mark.parametrize("workflow", RUNS)
def test_a_completed_run_says_so_and_misses_nothing(workflow: str) -> None:
    bundle = build_bundle(RUNS[workflow])
    assert bundle is not None
    assert bundle.run.status == "completed"
    assert "not_reached" not in (bundle.extra or {})
