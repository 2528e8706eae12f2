"""Letting a checkpoint in: its library loads it in a short-lived worker before anything is made.

Whoever reads a checkpoint needs torch, and could be made to execute code: so never this process.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmark_app.bundle.write import write_json_file
from benchmark_app.settings import SettingError, Settings

from .process import WorkerProcess
from .signals import StopSignals

TICK_S = 0.1


def admit(settings: Settings, signals: StopSignals) -> None:
    """Have the checkpoint of a run loaded by its library, in the interpreter its workers use.

    Returns early when a signal came; nothing is left on disk in any case.

    Raises:
        SettingError: It was refused, or could not be looked at.
    """
    # A debugger is for the run itself.
    quiet = replace(settings, worker=replace(settings.worker, debug=False))
    try:
        with TemporaryDirectory(prefix="benchmark_app-") as folder:
            spec, log = Path(folder) / "preflight.json", Path(folder) / "preflight.log"
            write_json_file({"workflow": "preflight", "settings": quiet.to_plain()}, spec)
            code, answer = _run(quiet, spec, log, signals)
            last_line = (log.read_text(errors="replace").strip().splitlines() or [""])[-1]
    except OSError as error:
        raise SettingError(f"checkpoint={settings.checkpoint}: could not be looked at ({error})") from error
    if signals.first is not None:
        return
    if answer is None:
        python = settings.worker.python or sys.executable
        raise SettingError(
            f"checkpoint={settings.checkpoint}: could not be looked at by {python}, which ended with status {code}"
            + (f": {last_line}" if last_line else "")
        )
    if answer:
        raise SettingError(answer)


def _run(settings: Settings, spec: Path, log: Path, signals: StopSignals) -> tuple[int, str | None]:
    """Run the worker to its end.

    Returns:
        Its exit code, and what it said of the checkpoint: why it is refused, "" if it is not, None if nothing was said.
    """
    worker = WorkerProcess(settings, spec, log)
    try:
        while signals.first is None and not worker.wait(TICK_S):
            pass
    finally:
        code = worker.close()
    try:
        answer: Any = json.loads(worker.last_words)["refused"]
    except (ValueError, TypeError, KeyError):
        answer = None
    return code, answer if isinstance(answer, str) else None
