"""What became of a case: read from its folder, because whoever ran it may be gone."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.bundle.schema import Bundle, PlayBundle, RuntimeBundle, StartupBundle, TrainingBundle
from benchmark_app.bundle.write import write_json_file
from benchmark_app.launch.heartbeat import Beat, is_live, last_beat
from benchmark_app.launch.recover import rebuild
from benchmark_app.launch.run_directory import LOCK, MANIFEST, RunDirectoryBusyError

from .cases import attempts
from .live import Progress, progress_of

PLANNED, RUNNING, LOST, COMPLETED = "planned", "running", "lost", "completed"
ENDED = (COMPLETED, "interrupted", "crashed", "refused")
LOG_LINES = 5
LOG_BYTES = 2**14


@dataclass(frozen=True, kw_only=True)
class State:
    """Where a run, or the newest attempt of a case, stands.

    Attributes:
        status: planned, running, lost (its process is gone and nobody closed it), completed, interrupted, crashed or
            refused.
        reason: Why it is not `completed`, "" if it is, or is not known yet.
        run: The run's folder; None where there is none yet.
        attempts: How often the case was begun.
        numbers: What was measured, by name: `training.total_fps`, `play.success_rate`.
        log: The last lines its worker printed, of a run that failed.
        beat: Its last sign of life, while it is running.
        progress: How far it has come, while it is running.
    """

    status: str
    reason: str = ""
    run: Path | None = None
    attempts: int = 0
    numbers: dict[str, float] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    beat: Beat | None = None
    progress: Progress | None = None


def state_of_case(folder: Path) -> State:
    """Where the newest attempt of a case stands."""
    found = attempts(folder)
    if not found:
        return State(status=PLANNED)
    return state_of_run(list(found.values())[-1], attempts=len(found))


def state_of_run(run: Path, *, attempts: int = 1) -> State:
    """Where a run stands."""
    if is_live(run, LOCK):
        return State(status=RUNNING, run=run, attempts=attempts, beat=last_beat(run), progress=progress_of(run))
    manifest = _read(run / MANIFEST)
    status = manifest.get("status")
    if status not in ENDED:
        beat = last_beat(run)
        where = f" (process {beat.pid} on {beat.host})" if beat is not None else ""
        return State(status=LOST, reason=f"its process is gone{where}", run=run, attempts=attempts)
    workflows = {name: told for name, told in manifest.get("workflows", {}).items() if isinstance(told, dict)}
    if status == COMPLETED and (lost := [str(told["lost"]) for told in workflows.values() if told.get("lost")]):
        # What could not be written is no success, whatever the worker did.
        return State(status="crashed", reason=lost[0], run=run, attempts=attempts, log=[])
    name, culprit = _culprit(status, workflows)
    reason = str(culprit.get("reason") or manifest.get("reason") or "")
    return State(
        status=status,
        reason=f"{name}: {reason}" if name and reason else reason,
        run=run,
        attempts=attempts,
        numbers=_numbers(run),
        log=_last_lines(run / culprit["log"]) if culprit.get("log") else [],
    )


def settle(run: Path) -> None:
    """Close a run whose process is gone, so that its folder says what became of it; a live one is left alone.

    Raises:
        OSError: Nothing can be written there.
    """
    if state_of_run(run).status != LOST:
        return
    with contextlib.suppress(RunDirectoryBusyError):
        if (run / LOCK).exists():
            rebuild(run)
        elif not (run / MANIFEST).exists():  # or it is none of ours: a lock is there before anything else
            close_unbegun(run, "crashed", "its process ended before it began")


def close_unbegun(run: Path, status: str, reason: str) -> None:
    """Write down what became of an attempt that began nothing.

    Raises:
        OSError: Nothing can be written there.
    """
    write_json_file({"status": status, "reason": reason, "planned": [], "workflows": {}}, run / MANIFEST)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _culprit(status: str, workflows: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """The workflow that is to blame for a run's status."""
    if status != COMPLETED:
        for wanted in (status, "not_run"):
            for name, told in workflows.items():
                if told.get("status") == wanted:
                    return name, told
    return "", {}


def _last_lines(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
            text = file.read(LOG_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-LOG_LINES:]


def _numbers(run: Path) -> dict[str, float]:
    """The headline numbers of every bundle of a run; what was never reached is left out."""
    found: dict[str, float | None] = {}
    for workflow, kind in (
        ("startup", StartupBundle),
        ("runtime", RuntimeBundle),
        ("training", TrainingBundle),
        ("play", PlayBundle),
    ):
        try:
            bundle = read_bundle_file(run / f"{workflow}.json").bundle
        except (OSError, BundleError):
            continue
        if isinstance(bundle, kind):
            found |= {f"{workflow}.{name}": value for name, value in _headline(bundle).items()}
    return {name: value for name, value in found.items() if value is not None}


def _headline(bundle: Bundle) -> dict[str, float | None]:
    match bundle:
        case StartupBundle():
            ready = "first_step" in bundle.phases
            return {"first_step_s": sum(phase.total_time_s for phase in bundle.phases.values()) if ready else None}
        case RuntimeBundle():
            return {"collection_fps": bundle.runtime.collection_fps.mean or None}
        case TrainingBundle():
            finished = (bundle.extra or {}).get("episodes_finished")
            return {
                "iterations": float(bundle.runtime.iterations_completed),
                "total_fps": bundle.runtime.total_fps.mean or None,
                "return": bundle.learning.reward.final_raw if finished else None,
                "success_rate": bundle.success_rate,
            }
        case PlayBundle():
            return {
                "return": bundle.reward.mean if bundle.reward is not None else None,
                "success_rate": bundle.success_rate,
            }
    return {}
