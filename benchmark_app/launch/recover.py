"""Rebuilding the results of a run whose supervisor was killed, from the journals it left."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmark_app.refusal import refuse
from benchmark_app.settings import WORKFLOWS

from .application import finish, status_of
from .closing import WorkflowResult, close_workflow
from .heartbeat import FILE as HEARTBEAT
from .heartbeat import is_live, last_beat
from .recording import remove_unfinished
from .run_directory import LOCK, MANIFEST, RunDirectory, RunDirectoryBusyError
from .startup_artefacts import PRIVATE_KERNELS


def recover(path: Path) -> int:
    """Build every bundle the journals of a run allow, and say what became of each workflow.

    Returns:
        0 when all that the journals hold is on disk, 1 when something could not be written, 2 when there is no run
        or it still goes on.
    """
    try:
        results, lost = rebuild(path)
    except RunDirectoryBusyError:
        beat = last_beat(path)
        where = f" (on {beat.host}, process {beat.pid})" if beat is not None else ""
        return refuse(f"{path}: the run still goes on{where}; stop it first, or wait for it")
    except OSError:
        return refuse(f"{path}: no run in this folder; give the folder that holds run.json")
    for result in results:
        print(f"{result.workflow:<9} {result.status:<12} {result.bundle or result.reason}")
    for text in lost:
        print(f"benchmark_app: lost: {text}", file=sys.stderr)
    unwritten = [result for result in results if result.bundle is None and result.status not in ("not_run", "refused")]
    return 1 if unwritten else 0


def rebuild(path: Path) -> tuple[list[WorkflowResult], list[str]]:
    """Build every bundle the journals of a run allow, and bring `run.json` up to date.

    Returns:
        What became of each workflow, and what could not be written or read, one line each.

    Raises:
        RunDirectoryBusyError: A live process works in it, here or on another machine.
        OSError: There is no run in it, or it cannot be written.
    """
    if is_live(path, LOCK):
        raise RunDirectoryBusyError
    with contextlib.closing(RunDirectory.reopen(path.resolve())) as directory:
        (directory.path / HEARTBEAT).unlink(missing_ok=True)
        directory.release_reserve()
        for kernels in directory.path.glob(f"{PRIVATE_KERNELS}-*"):
            shutil.rmtree(kernels, ignore_errors=True)
        remove_unfinished(directory.path)
        directory.manifest = _manifest(directory.path)
        begun = [workflow for workflow in WORKFLOWS if directory.journal(f"{workflow}.supervisor").is_file()]
        results = [close_workflow(directory, workflow) for workflow in begun]
        ran = {result.workflow for result in results}
        results += [
            WorkflowResult(workflow=workflow, status="not_run", reason="the run ended before it")
            for workflow in directory.manifest["planned"]
            if workflow not in ran
        ]
        # Killed before anything began, a run has nothing to show for it and did not complete.
        status = status_of(results) if results else "crashed"
        return results, finish(directory, results, status)


def _manifest(path: Path) -> dict[str, Any]:
    """Read `run.json`; a run killed before it was written has none."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = {}
    defaults: dict[str, Any] = {"planned": [], "workflows": {}, "diagnostics": {}}
    if not isinstance(manifest, dict):
        return defaults
    sound = {key: value for key, value in manifest.items() if isinstance(value, type(defaults.get(key, value)))}
    return {**defaults, **sound}
