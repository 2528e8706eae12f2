"""Closing a workflow that has ended: its results, built from its journals alone, however it ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_app.bundle.build import build_bundle, run_status
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.conditions import FILE as CONDITIONS
from benchmark_app.bundle.conditions import write_conditions
from benchmark_app.bundle.equivalence import build_equivalence
from benchmark_app.bundle.evaluation import EPISODES, episode_rows
from benchmark_app.bundle.pick import last, passes
from benchmark_app.bundle.ranks import of_rank
from benchmark_app.bundle.write import write_bundle_file, write_json_file, write_json_lines
from benchmark_app.journal import Event, merge, read_journal
from benchmark_app.journal.events import CheckpointSaved, Diagnostics

from .run_directory import RunDirectory

VIDEO = "video"
"""What the worker of a recording does; its journals and logs begin with it."""


@dataclass(frozen=True, kw_only=True)
class WorkflowResult:
    """How one workflow ended.

    Attributes:
        workflow: Its name.
        status: completed, interrupted, crashed, refused or not_run.
        reason: Why it is not `completed`, "" if it is.
        bundle: File of the results; None where there are none.
        checkpoint: Policy it saved or played.
        lost: What could not be written, "" if nothing.
        diagnostics: What the engine said of itself; where each process of the workflow is a part of it, by part.
    """

    workflow: str
    status: str
    reason: str = ""
    bundle: Path | None = None
    checkpoint: str | None = None
    lost: str = ""
    diagnostics: dict[str, Any] | None = None


def load_events(directory: RunDirectory, workflow: str) -> tuple[list[Event], list[str]]:
    """Read a workflow's journals, merged; the second value says what of them could not be read."""
    own = directory.journal(f"{workflow}.supervisor")
    read = [read_journal(path) for path in (own, *sorted(own.parent.glob(f"{workflow}.*worker.jsonl")))]
    for path in own.parent.glob(f"{workflow}.worker.rank*.jsonl"):
        events, dropped = read_journal(path)
        read.append((of_rank(events, int(path.stem.rpartition("rank")[2])), dropped))
    return merge(*(events for events, _ in read)), [dropped for _, dropped in read if dropped]


def load_recording(directory: RunDirectory, workflow: str) -> list[Event]:
    """Read the journals of the recording of a workflow's videos; empty where there was none."""
    return load_events(directory, f"{VIDEO}.{workflow}")[0]


def close_workflow(directory: RunDirectory, workflow: str, lost: str = "") -> WorkflowResult:
    """Build and write the bundle of a workflow that has ended, from its journals alone.

    Args:
        directory: The run directory.
        workflow: Name of the workflow.
        lost: What is known to be missing from the journals.
    """
    events, dropped = load_events(directory, workflow)
    outcome = run_status(events)
    path, written = directory.path / f"{workflow}.json", False
    if outcome.status != "refused":  # first, so that whoever finds the bundle finds its conditions
        try:
            write_conditions(directory.path, workflow, events)
        except OSError as error:
            dropped.append(f"{CONDITIONS} could not be written: {error.strerror}")
    try:
        written = _write_result(workflow, events, load_recording(directory, workflow), path)
    except BundleError as error:
        lost = f"{path.name} cannot be built: {error}"
    except OSError as error:
        lost = f"{path.name} could not be written: {error.strerror}"
    checkpoints = [event.path for event in events if isinstance(event, CheckpointSaved)]
    told = {each.part: event.values for each in passes(events) if (event := last(each.events, Diagnostics)) is not None}
    return WorkflowResult(
        workflow=workflow,
        status=outcome.status,
        reason=outcome.reason,
        bundle=path if written else None,
        checkpoint=checkpoints[-1] if checkpoints else None,
        lost="; ".join([*([lost] if lost else []), *dropped]),
        diagnostics=told.get("", told or None),  # the profiled pass of a start-up has nothing else to tell
    )


def _write_result(workflow: str, events: list[Event], recording: list[Event], path: Path) -> bool:
    """Write what a workflow found, if it was not refused; return whether there was anything."""
    if workflow == "equivalence":
        if (result := build_equivalence(events)) is not None:
            write_json_file(result, path)
        return result is not None
    if (bundle := build_bundle(events, recording)) is None:
        return False
    if workflow == "play":  # first, so that whoever finds the bundle finds its episodes
        write_json_lines(episode_rows(events), path.with_name(EPISODES))
    write_bundle_file(bundle, path)
    return True
