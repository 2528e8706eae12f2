"""One run: take the directory, run the workflows one after the other, say how it went."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from benchmark_app import __version__
from benchmark_app.journal.events import Scalar
from benchmark_app.refusal import REFUSED
from benchmark_app.settings import SettingError, Settings

from . import agent_report, report, surroundings
from .closing import WorkflowResult
from .heartbeat import Heartbeat
from .preflight import admit
from .progress import Progress
from .run_directory import LOGS, HydraRecord, RunDirectory, point_latest
from .signals import StopSignals
from .slurm import job_facts
from .summary import print_summary
from .supervisor import Supervisor, utc_now

CRASHED = 1
OUT_OF_LIMITS = 128 + signal.SIGTERM  # a limit of ours ends a run as its scheduler's would


def run_until_it_works(settings: Settings, path: Path, record: HydraRecord) -> int:
    """Run, and again after each crash for as long as `run.retries` allows, each time in a folder of its own.

    Args:
        settings: Checked settings.
        path: Run directory of the first attempt; those after it lie beside it.
        record: How the run was composed.

    Returns:
        Exit status of the last attempt; see `run`.
    """
    attempts = settings.run.retries + 1
    status = run(settings, path, record)
    for number in range(2, attempts + 1):
        if status != CRASHED:
            break
        print(f"benchmark_app: the run crashed; attempt {number} of {attempts} (run.retries)", file=sys.stderr)
        status = run(settings, path.with_name(f"{path.name}-attempt-{number}"), record)
    return status


def run(settings: Settings, path: Path, record: HydraRecord, circumstances: Mapping[str, Scalar] | None = None) -> int:
    """Run every workflow the settings ask for.

    Args:
        settings: Checked settings.
        path: Run directory to take.
        record: How the run was composed.
        circumstances: What the bundles' `extra` says about where and how it is run.

    Returns:
        Exit status: 0 completed, 1 crashed, 2 refused, 128 + signal interrupted, 143 also by a limit.

    Raises:
        SettingError: The checkpoint, the server, the kernel cache or the run directory cannot be used, or the machine
            is not fit for a measurement (`strict`); nothing was started.
    """
    with StopSignals() as signals:
        progress = Progress(sys.stderr)
        if settings.checkpoint is not None and settings.worker.program is None:
            progress.checking(settings.checkpoint)
            try:
                admit(settings, signals)
            finally:
                progress.end()
            if signals.first is not None:
                return signals.exit_status
        _require_server(settings)
        if settings.strict and (found := surroundings.problems(settings, settings.workflow.steps[0])):
            raise SettingError(f"strict=true: {found[0]}; change that, or set strict=false")
        if settings.kernel_cache is not None:
            _make_kernel_cache(Path(settings.kernel_cache))
        directory = RunDirectory.create(path, record, manifest(settings, record), settings.run.reserve_mb)
        with contextlib.closing(directory), Heartbeat(directory.path):
            point_latest(Path(settings.run.root), path)
            lost = _write_mapping(settings, directory.path)
            supervisor = Supervisor(directory, settings, signals, progress, circumstances)
            results = _run_all(supervisor, directory, settings, signals)
            stopped = signals.first is not None or bool(supervisor.limits.reached)
            lost += finish(directory, results, status_of(results, stopped=stopped))
        with contextlib.suppress(OSError):  # nobody listens any more: the results are on disk all the same
            print_summary(directory, results, settings)
            for text in lost:
                print(f"benchmark_app: lost: {text}", file=sys.stderr)
            if lost:
                again = shlex.join(["python", "-m", "benchmark_app", "recover", str(directory.path)])
                print(f"benchmark_app: the journals are kept; once there is space, type: {again}", file=sys.stderr)
            several = sum(result.bundle is not None for result in results) > 1
            if settings.run.report and several and signals.first is None:
                report.tell(directory.path)
    return exit_status(results, signals, stopped=stopped)


def _require_server(settings: Settings) -> None:
    """Have the server that was named serve what is to be run, before anything is made. The worker asks it again.

    Raises:
        SettingError: There is none, or it serves something else.
    """
    if settings.execution.address is None or settings.worker.program is not None:
        return
    # By name: what it would import to read an array, which here it never does, is not for this process.
    calling = import_module("benchmark_app.execution.served.calling")
    if problem := calling.problem_of_server(
        settings.execution, settings.task, settings.physics, settings.rendering.name, settings.num_envs
    ):
        raise SettingError(problem)


def _make_kernel_cache(folder: Path) -> None:
    """Have the folder for compiled kernels there, and writable.

    Raises:
        SettingError: It cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SettingError(
            f"kernel_cache={folder}: cannot be written ({error.strerror}); name another folder, or null for Warp's own"
        ) from error


def _write_mapping(settings: Settings, folder: Path) -> list[str]:
    """Leave the agent's mapping table in the run directory; what could not be written is returned."""
    if not {"training", "play"} & set(settings.workflow.steps):
        return []
    try:
        agent_report.write_report(settings, folder)
    except OSError as error:
        return [f"{agent_report.FILE} could not be written: {error.strerror}"]
    return []


def _run_all(
    supervisor: Supervisor, directory: RunDirectory, settings: Settings, signals: StopSignals
) -> list[WorkflowResult]:
    results: list[WorkflowResult] = []
    # Where there is a training, it continues the checkpoint, and only what it saved is played.
    to_play = None if "training" in settings.workflow.steps else settings.checkpoint
    for workflow in settings.workflow.steps:
        reason = ""
        if signals.first is not None:
            reason = f"stopped by {signals.first.name}"
        elif supervisor.limits.out_of_time(time.monotonic()):
            reason = supervisor.limits.reached
        elif any(result.status == "refused" for result in results):
            reason = "the settings were refused"
        elif settings.strict and results and (found := surroundings.problems(settings, workflow)):
            results.append(WorkflowResult(workflow=workflow, status="refused", reason=f"strict=true: {found[0]}"))
            continue
        elif workflow == "play" and to_play is None:
            reason = "training left no checkpoint to play"
        else:
            try:
                directory.reserve(settings.run.reserve_mb)
            except OSError as error:
                reason = f"no disk space left to set aside: {error.strerror}"
        if reason:
            results.append(WorkflowResult(workflow=workflow, status="not_run", reason=reason))
            continue
        checkpoint = {"training": settings.checkpoint, "play": to_play}.get(workflow)
        result = supervisor.run(workflow, checkpoint)
        results.append(result)
        if workflow == "training" and result.status == "completed":
            to_play = result.checkpoint
        finish(directory, results, "running")
    return results


def manifest(settings: Settings, record: HydraRecord) -> dict[str, Any]:
    """What `run.json` says from the start: how the run was made and how to make it again."""
    return {
        "benchmark_app": __version__,
        "status": "running",
        "command": shlex.join(["python", "-m", "benchmark_app", *record.options, *record.overrides]),
        "cwd": str(Path.cwd()),
        "overrides": record.overrides,
        "config": ".hydra/config.yaml",
        "job": job_facts(),
        "started_utc": utc_now(),
        "ended_utc": None,
        "planned": settings.workflow.steps,
        "workflows": {},
        "diagnostics": {},
    }


def finish(directory: RunDirectory, results: list[WorkflowResult], status: str) -> list[str]:
    """Bring `run.json` up to date.

    Returns:
        What could not be written to disk, one line each.
    """
    for result in results:
        log = directory.latest_log(result.workflow)
        directory.manifest["workflows"][result.workflow] = {
            "status": result.status,
            "reason": result.reason,
            "bundle": result.bundle.name if result.bundle else None,
            "checkpoint": result.checkpoint,
            "log": None if log is None else f"{LOGS}/{log.name}",
            "lost": result.lost,
        }
        if result.diagnostics is not None:
            directory.manifest["diagnostics"][result.workflow] = result.diagnostics
    directory.manifest["status"] = status
    directory.manifest["ended_utc"] = None if status == "running" else utc_now()
    lost = [f"{result.workflow}: {result.lost}" for result in results if result.lost]
    try:
        directory.save()
    except OSError as error:
        lost.append(f"run.json could not be brought up to date: {error.strerror}")
    return lost


def status_of(results: list[WorkflowResult], *, stopped: bool = False) -> str:
    """The run's status from those of its workflows: the worst that happened.

    Args:
        results: How each workflow ended.
        stopped: A signal or a limit ended the run.
    """
    statuses = {result.status for result in results}
    for status in ("refused", "crashed", "interrupted"):
        if status in statuses:
            return status
    if "not_run" in statuses:
        return "interrupted" if stopped else "crashed"
    return "completed"


def exit_status(results: list[WorkflowResult], signals: StopSignals, *, stopped: bool) -> int:
    """Exit status of a run; a result that could not be written is never a success."""
    status = status_of(results, stopped=stopped)
    if status == "interrupted":
        return signals.exit_status or OUT_OF_LIMITS
    if status == "completed" and any(result.lost for result in results):
        return CRASHED
    return {"completed": 0, "crashed": CRASHED, "refused": REFUSED}[status]
