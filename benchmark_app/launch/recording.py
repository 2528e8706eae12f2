"""Recording the videos of a workflow that has ended: a process of its own, after everything that was measured.

Its journals are its own, too, so that the workflow's results are the same with and without it. They are on disk before
it begins, and are written once more when it is over: whatever happens to it, they stay.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmark_app.bundle.write import write_json_file
from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.journal import Event, JournalTail, JournalWriter
from benchmark_app.journal.events import (
    CheckpointSaved,
    RunClosed,
    StopRequested,
    VideosPlanned,
    WorkerExited,
    WorkerSpawned,
)
from benchmark_app.profiling.tools import NONE as NO_TOOL
from benchmark_app.rendering.catalogue import NONE
from benchmark_app.rendering.mp4 import PARTIAL
from benchmark_app.settings import Settings
from benchmark_app.video_settings import records, video_renderer, video_rows

from .closing import VIDEO, WorkflowResult
from .limits import Limits
from .progress import Progress
from .ranks import Workers
from .run_directory import CHECKPOINTS, LOGS, VIDEOS, RunDirectory
from .signals import StopSignals
from .startup_artefacts import ARTEFACTS

TICK_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Take:
    """One video to record.

    Attributes:
        checkpoint: The policy.
        name: Name of the file, without its suffix.
        iteration: The policy's iteration; None: as its card says.
    """

    checkpoint: str
    name: str
    iteration: int | None = None


def takes_of(settings: Settings, result: WorkflowResult, played: str | None, events: Iterable[Event]) -> list[Take]:
    """The videos that are to be recorded of a workflow; none of one that did not complete.

    Args:
        settings: Settings of the run.
        result: How the workflow ended.
        played: The policy it played, if it was a play.
        events: Its journals.
    """
    if result.status != "completed" or not records(settings, result.workflow):
        return []
    if result.workflow == "play":
        return [] if played is None else [Take(checkpoint=played, name="play")]
    saved = [event for event in events if isinstance(event, CheckpointSaved) and event.iteration is not None]
    interval, found = settings.training.video_interval, {}
    for event in saved:  # the last one is the policy itself, whenever the training ended
        iteration = event.iteration or 0
        if event is saved[-1] or iteration % interval == 0:
            found[iteration] = event.path
    return [
        Take(checkpoint=path, name=f"training-{iteration:06d}", iteration=iteration)
        for iteration, path in sorted(found.items())
    ]


def remove_unfinished(run: Path) -> None:
    """Remove what a worker that was killed had recorded of a video: without its end it shows nothing.

    Args:
        run: The run directory.
    """
    for partial in (run / VIDEOS).glob(f".*{PARTIAL}"):
        partial.unlink(missing_ok=True)


class Recording:
    """Has one worker record videos, and watches it.

    Args:
        directory: The run directory, locked.
        settings: Settings of the run.
        signals: The signals that ask the run to stop.
        limits: What the run was given.
        progress: Where a person sees what is going on.
    """

    def __init__(
        self, directory: RunDirectory, settings: Settings, signals: StopSignals, limits: Limits, progress: Progress
    ) -> None:
        self._directory, self._settings = directory, settings
        self._signals, self._limits, self._progress = signals, limits, progress

    def run(self, workflow: str, takes: list[Take]) -> None:
        """Record, or leave in the journal why there is nothing.

        Args:
            workflow: The workflow that has ended.
            takes: What is to be recorded of it.

        Raises:
            OSError: The journal cannot be written: the disk is full, for example.
        """
        name = f"{VIDEO}.{workflow}"
        none = self._settings.rendering.name == NONE
        with JournalWriter(self._directory.journal(f"{name}.supervisor")) as journal:
            planned = VideosPlanned(
                t=time.monotonic(),
                count=len(takes),
                renderer=video_renderer(self._settings),
                reason="rendering=none draws nothing" if none else "",
            )
            journal.append(planned)
            if not self._must_stop(journal):
                self._watch(name, workflow, takes, journal)
            journal.append(RunClosed(t=time.monotonic(), end_time_utc=datetime.now(UTC).isoformat()))
            journal.sync()
        remove_unfinished(self._directory.path)

    def _watch(self, name: str, workflow: str, takes: list[Take], journal: JournalWriter) -> None:
        """Run the worker to its end."""
        s = self._settings
        settings = replace(
            s,
            num_envs=video_rows(s),
            nan_guard=False,
            execution=ExecutionCfg(),  # an engine is drawn where it is
            profiling=replace(s.profiling, tool=NO_TOOL, mode="host_return", check_determinism=False),
        )
        spec, log = self._spec(name, workflow, takes, settings), self._directory.log(name)
        tail = JournalTail(self._directory.journal(f"{name}.worker"))
        worker = Workers(settings, [spec], [log])
        deadline: float | None = None
        try:
            spawned = WorkerSpawned(
                t=worker.spawned_at, pid=worker.pids[0], command=worker.command, log=str(log), part=VIDEO
            )
            journal.append(spawned)
            self._progress.begin(VIDEO, settings)
            while not worker.wait(TICK_S):
                self._progress.show(tail.read())
                now = time.monotonic()
                if self._limits.out_of_memory(now, worker.pids):
                    self._must_stop(journal)
                    break
                if deadline is None and self._must_stop(journal):
                    deadline = now + s.run.grace_s
                    worker.ask_to_stop()
                if self._signals.count > 1 or (deadline is not None and now >= deadline):
                    break
        finally:
            ended = worker.close()
            self._progress.show(tail.read())
            self._progress.end()
        for each in ended:
            journal.append(WorkerExited(t=time.monotonic(), **vars(each)))

    def _must_stop(self, journal: JournalWriter) -> bool:
        """Whether a signal or a limit ends the recording; the journal is told why."""
        signal = self._signals.first
        if signal is None and not self._limits.out_of_time(time.monotonic()):
            return False
        reason = self._limits.reached if signal is None else f"stopped by {signal.name}"
        journal.append(StopRequested(t=time.monotonic(), reason=reason, signal=None if signal is None else signal.name))
        return True

    def _spec(self, name: str, workflow: str, takes: list[Take], settings: Settings) -> Path:
        """Write the file that tells the worker what to do."""
        path = self._directory.journal(name).with_suffix(".spec.json")
        spec = {
            "workflow": VIDEO,
            "part": VIDEO,
            "of": workflow,
            "takes": [asdict(take) for take in takes],
            "settings": settings.to_plain(),
            "rank": 0,
            "journal": str(self._directory.journal(f"{name}.worker")),
            "checkpoint": takes[0].checkpoint,
            "directory": str(self._directory.path),
            "checkpoints": str(self._directory.path / CHECKPOINTS),
            "logs": str(self._directory.path / LOGS),
            "profiled": False,
            "artefacts": str(self._directory.path / ARTEFACTS),
        }
        write_json_file(spec, path)
        return path
