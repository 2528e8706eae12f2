"""py-spy beside a worker: it looks at the worker's stack from outside, a hundred times a second."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from benchmark_app.journal import Event
from benchmark_app.journal.events import Phase
from benchmark_app.profiling.tools import py_spy

RATE_HZ = 100
WRITES_WITHIN_S = 60.0  # of the worker's end; it resolves names and writes a file


class PySpy:
    """Attaches to a worker once it has its imports behind it, and writes its profile when the worker is gone.

    Not later, because attaching takes py-spy longer than a short loop runs; not sooner, because it needs an interpreter
    that is there.

    Args:
        path: The profile, in speedscope's format.
        log: Where py-spy's own words go.
    """

    def __init__(self, path: Path, log: Path) -> None:
        self._path, self._log = path, log
        self._part = path.with_name(f".{path.name}.tmp")
        self._process: subprocess.Popen[bytes] | None = None

    def show(self, events: Iterable[Event], pid: int) -> None:
        """Attach to the worker, once its first phase is over.

        Raises:
            OSError: py-spy cannot be started.
        """
        if self._process is not None or not any(isinstance(event, Phase) for event in events):
            return
        program = py_spy()
        if program is None:
            raise FileNotFoundError("py-spy is gone since the run was checked")
        command = [program, "record", "--pid", str(pid), "--format", "speedscope", "--rate", str(RATE_HZ)]
        # Without pausing the worker, so that one who kills py-spy does not leave a worker that stands still.
        command += ["--nonblocking", "--output", str(self._part)]
        with self._log.open("ab") as log:
            # Not in the terminal's process group: Ctrl-C asks us, and the worker's end ends py-spy.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def close(self) -> None:
        """Wait for the profile of a worker that is gone, and put it in its place."""
        if self._process is None:
            return
        try:
            status = self._process.wait(WRITES_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        if status == 0 and self._part.exists():
            os.replace(self._part, self._path)
        with contextlib.suppress(FileNotFoundError):
            self._part.unlink()
