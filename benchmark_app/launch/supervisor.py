"""Supervising one workflow: spawn its worker, watch it, stop it when asked, and build the bundle from the journals."""

from __future__ import annotations

import contextlib
import datetime
import os
import secrets
import shutil
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmark_app import __version__
from benchmark_app.bundle.pick import passes
from benchmark_app.bundle.write import write_json_file
from benchmark_app.checkpoint_card import iterations_done, iterations_left, policy_iterations, resume_facts
from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.journal import Event, JournalTail, JournalWriter
from benchmark_app.journal.events import (
    CheckpointSaved,
    Conditions,
    EngineWarned,
    Extra,
    Finished,
    HostFacts,
    LoopStarted,
    RunClosed,
    RunPlanned,
    Scalar,
    StopRequested,
    WorkerExited,
    WorkerSpawned,
)
from benchmark_app.profiling import tools
from benchmark_app.profiling.host import facts, gpu
from benchmark_app.rank_settings import rank_facts
from benchmark_app.settings import Settings
from benchmark_app.video_settings import records

from . import agent_report
from .closing import WorkflowResult, close_workflow, load_events
from .engine_output import EngineOutput
from .limits import Limits
from .passes import Pass, passes_of
from .progress import Progress
from .py_spy import PySpy
from .ranks import Workers
from .recording import Recording, takes_of
from .run_directory import CHECKPOINTS, LOGS, RunDirectory
from .series import FOLDER, SeriesWriter
from .signals import StopSignals
from .slurm import job_facts
from .startup_artefacts import ARTEFACTS, PRIVATE_KERNELS, python_options, variables_of, write_import_tree
from .surroundings import Surroundings
from .workload import settings_of

SYNC_PERIOD_S = 5.0
TICK_S = 0.1


def utc_now() -> str:
    """The present instant, ISO 8601 with its zone."""
    return datetime.datetime.now(datetime.UTC).isoformat()


class Supervisor:
    """Runs workflows one after the other in a run directory.

    Args:
        directory: The run directory, locked.
        settings: Settings of the run.
        signals: The signals that ask it to stop.
        progress: Where a person sees what is going on.
        circumstances: What `extra` says about where and how the run is made.

    Attributes:
        limits: What the run was given; its time counts from here.
    """

    def __init__(
        self,
        directory: RunDirectory,
        settings: Settings,
        signals: StopSignals,
        progress: Progress,
        circumstances: Mapping[str, Scalar] | None = None,
    ) -> None:
        self._circumstances = {**job_facts(), **(circumstances or {})}
        self.limits = Limits(settings.run)
        self._directory = directory
        self._settings = settings
        self._signals = signals
        self._progress = progress

    def run(self, workflow: str, checkpoint: str | None) -> WorkflowResult:
        """Run one workflow to its end, whatever that is, and leave its bundle.

        Args:
            workflow: training, play, runtime, startup or equivalence.
            checkpoint: Policy to play, or training to continue.
        """
        journal = JournalWriter(self._directory.journal(f"{workflow}.supervisor"))
        trouble = lost = ""
        met: Conditions | None = None
        with journal:
            try:
                journal.append(self._plan(workflow))
                around = Surroundings(self._settings, workflow)
                self._tell(around.before(), journal)
                for number, each in enumerate(passes_of(workflow, self._settings)):
                    if number and not self._went_well(workflow, journal):
                        break
                    self._watch(workflow, checkpoint, journal, each, around)
                met = around.after()
                lost = self._profile(workflow, journal)
            except Exception as error:  # whatever it was, the run must still leave its bundle
                trouble = f"the supervisor had to give up: {error}"
                with contextlib.suppress(OSError), self._directory.log(f"{workflow}.supervisor").open("a") as log:
                    traceback.print_exception(error, file=log)
            # Whatever happened, the reserve is now spent on telling it.
            self._directory.release_reserve()
            try:
                if trouble:
                    journal.append(WorkerExited(t=time.monotonic(), exit_code=0, last_words=trouble))
                if met is not None:
                    self._tell(met, journal)
                journal.append(RunClosed(t=time.monotonic(), end_time_utc=utc_now()))
                journal.sync()
            except OSError as error:
                lost = "; ".join(filter(None, (lost, f"the last events could not be written: {error.strerror}")))
        result = close_workflow(self._directory, workflow, lost)
        return self._record(result, checkpoint, lost) if records(self._settings, workflow) else result

    def _record(self, result: WorkflowResult, checkpoint: str | None, lost: str) -> WorkflowResult:
        """Record the videos of a workflow that has ended; its results are on disk already."""
        workflow = result.workflow
        takes = takes_of(self._settings, result, checkpoint, load_events(self._directory, workflow)[0])
        if not takes:
            return result
        recording = Recording(self._directory, self._settings, self._signals, self.limits, self._progress)
        try:
            recording.run(workflow, takes)
        except OSError as error:
            return replace(result, lost=f"the video could not be recorded: {error.strerror or error}")
        again = close_workflow(self._directory, workflow, lost)
        return again if again.bundle is not None else replace(result, lost=again.lost)  # what was written before stays

    def _profile(self, workflow: str, journal: JournalWriter) -> str:
        """Record the file a profiler left; return what is missing, "" if nothing is."""
        name = tools.artefact(self._settings.profiling.tool, workflow)
        if not name:
            return ""
        if (self._directory.path / name).is_file():
            journal.append(Extra(t=time.monotonic(), values={"profile": name}))
            return ""
        if not any(isinstance(event, Finished) for event in load_events(self._directory, workflow)[0]):
            return ""  # nobody expects more of a worker that was killed, or never began
        tool = self._settings.profiling.tool
        return f"{tool} left no {name}: the run ended before it had anything, or {LOGS}/ says why"

    def _tell(self, met: Conditions, journal: JournalWriter) -> None:
        journal.append(met)
        self._progress.conditions(met)

    def _went_well(self, workflow: str, journal: JournalWriter) -> bool:
        """Whether the last pass did its work and nobody asked to stop, so that the next one may run."""
        if (signal := self._signals.first) is not None:
            # It may have come while no worker ran: the journal must tell that the rest was not to be done.
            journal.append(StopRequested(t=time.monotonic(), reason=f"stopped by {signal.name}", signal=signal.name))
            return False
        if self.limits.out_of_time(time.monotonic()):
            journal.append(StopRequested(t=time.monotonic(), reason=self.limits.reached))
            return False
        latest = passes(load_events(self._directory, workflow)[0])[-1]
        failed = any(isinstance(event, EngineWarned) and not event.allowed for event in latest.events)
        return any(isinstance(event, Finished) for event in latest.events) and not failed

    def _plan(self, workflow: str) -> RunPlanned:
        s = self._settings
        learns = workflow in ("training", "play")
        now = datetime.datetime.now(datetime.UTC)
        framework = s.framework.name if learns else None
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        # The agent plays no part where nothing learns or acts, and must not split such runs into groups.
        presets = s.presets if learns else [preset for preset in s.presets if preset != s.agent.algorithm]
        perturbed = []
        if s.worker.debug:
            perturbed.append("worker.debug")
        if tools.artefact(s.profiling.tool, workflow):
            perturbed.append(f"profiling.tool={s.profiling.tool}")
        if s.profiling.external is not None:
            perturbed.append(f"profiling.external={s.profiling.external}")
        return RunPlanned(
            t=time.monotonic(),
            run_id=f"{workflow}_{framework or 'none'}_{s.physics.name}_{s.task.gym_id}_{stamp}_seed{s.seed}_"
            f"{secrets.token_hex(4)}",
            workflow=workflow,
            framework=framework,
            physics=s.physics.name,
            reference_physics=s.reference_physics.name if s.reference_physics is not None else None,
            rendering=s.rendering.name,
            task=s.task.gym_id,
            seed=s.seed,
            num_envs=s.num_envs * (s.distributed.nproc if workflow == "training" else 1),
            max_iterations=iterations_left(s) if workflow == "training" else None,
            presets=presets,
            start_time_utc=now.isoformat(),
            ema_alpha=s.learning.ema_alpha,
            keep_series=s.learning.series,
            top_n=s.startup.top_n,
            whitelist=s.startup.whitelist,
            synthetic=s.worker.program is not None,
            perturbed=",".join(perturbed),
            extra={
                "benchmark_app": __version__,
                "execution": s.execution.label,
                # The schema knows no such simulator: what `physics` says then took no part.
                **({"simulator": "gymnasium"} if is_gymnasium(s.task.module) else {}),
                **self._circumstances,
                **(agent_report.summary(s) if learns else {}),
                **({"startup_kernel_cache": s.startup.kernel_cache} if workflow == "startup" else {}),
                **({"policy_iterations": policy_iterations(s)} if workflow == "play" else {}),
                **({"smoke": True} if s.sweep.smoke else {}),
                **({"task_suite": s.task.declaration.suite} if s.task.declaration is not None else {}),
                **(resume_facts(s) | rank_facts(s) if workflow == "training" else {}),
            },
        )

    def _spec(self, workflow: str, checkpoint: str | None, each: Pass, rank: int) -> Path:
        """Write the file that tells a worker what to do."""
        name = each.name(workflow)
        path = self._directory.path / "journal" / f"{ranked(name, rank)}.spec.json"
        spec = {
            "workflow": workflow,
            "part": each.part,
            "settings": each.settings.to_plain(),
            "rank": rank,
            "journal": str(self._directory.journal(ranked(f"{name}.worker", rank))),
            "checkpoint": checkpoint,
            "directory": str(self._directory.path),
            "checkpoints": str(self._directory.path / CHECKPOINTS),
            "logs": str(self._directory.path / LOGS),
            "profiled": each.profiled,
            "artefacts": str(self._directory.path / ARTEFACTS),
            "environment_logs": [str(log) for log in self._environment_logs(each, ranked(name, rank))],
        }
        write_json_file(spec, path)
        return path

    def _environment_logs(self, each: Pass, worker: str) -> list[Path]:
        """Files for the output of the processes a worker starts for its environments."""
        return [self._directory.log(f"{worker}.env{number}") for number in range(each.settings.execution.started)]

    def _watch(
        self, workflow: str, checkpoint: str | None, journal: JournalWriter, each: Pass, around: Surroundings
    ) -> None:
        """Run one worker process to its end."""
        name = each.name(workflow)
        ranks = range(self._settings.distributed.nproc if workflow == "training" else 1)
        logs = [self._directory.log(ranked(name, rank)) for rank in ranks]
        tail = JournalTail(self._directory.journal(f"{name}.worker"))
        series = SeriesWriter(self._directory.path / LOGS / FOLDER, self._frames_before(checkpoint))
        specs = [self._spec(workflow, checkpoint, each, rank) for rank in ranks]
        kernels = self._directory.path / f"{PRIVATE_KERNELS}-{name}" if each.private_kernels else None
        worker = Workers(each.settings, specs, logs, options=python_options(each), variables=variables_of(kernels))
        side = "reference_physics" if each.part.startswith("reference") else "physics"
        engines = [log for rank in ranks for log in self._environment_logs(each, ranked(name, rank))]
        for log in engines:
            log.touch()
        outputs = [EngineOutput(log, each.settings.physics, f"{side}.allow") for log in (*logs, *engines)]
        watcher = self._watcher(workflow)
        try:
            spawned = WorkerSpawned(
                t=worker.spawned_at,
                pid=worker.pids[0],
                command=worker.command,
                log=str(logs[0]),
                profiled=each.profiled,
                part=each.part,
            )
            journal.append(spawned)
            self._progress.begin(workflow, each.settings, part=each.part)
            around.started(worker.pids)
            if not each.profiled:
                # Found out while the worker starts, so that it costs no start-up time.
                journal.append(_host_facts(each.settings))
                values: dict[str, Scalar] = {"settings": settings_of(each.settings, workflow)}
                journal.append(Extra(t=time.monotonic(), values=values))
            if workflow == "training":
                series.load()
            self._loop(worker, journal, tail, series, outputs, around, watcher)
        finally:
            ended = worker.close()
            rest = tail.read()
            self._show(rest, series)
            series.close()
            if watcher is not None:
                watcher.close()
            self._progress.end()
            if kernels is not None:
                shutil.rmtree(kernels, ignore_errors=True)
            if each.profiled:
                write_import_tree(logs[0], self._directory.path)
        for met in around.saw(rest):
            self._tell(met, journal)
        for output in outputs:
            self._note(output.finish(), journal)
        for event in around.exited(ended):
            journal.append(event)

    def _watcher(self, workflow: str) -> PySpy | None:
        """The profiler that looks at the worker from outside, if that was asked for."""
        tool = self._settings.profiling.tool
        if tool != tools.PY_SPY or not (name := tools.artefact(tool, workflow)):
            return None
        return PySpy(self._directory.path / name, self._directory.log(f"py-spy.{workflow}"))

    def _frames_before(self, checkpoint: str | None) -> int:
        """Environment steps behind the training that is continued."""
        done = 0 if checkpoint is None else iterations_done(Path(checkpoint))
        return done * self._settings.num_envs * self._settings.distributed.nproc * self._settings.agent.rollout

    def _show(self, events: list[Event], series: SeriesWriter) -> None:
        self._progress.show(events)
        series.show(events)

    def _note(self, warned: list[EngineWarned], journal: JournalWriter) -> bool:
        """Record warnings of the engine.

        Returns:
            Whether one is among them that fails the run.
        """
        for event in warned:
            journal.append(event)
            self._progress.warned(event)
        return any(not event.allowed for event in warned)

    def _ask_to_stop(self, worker: Workers, journal: JournalWriter) -> None:
        """Ask for the sake of a signal or a limit, or without either because the engine's physics are wrong."""
        why = "wrong physics"
        if (number := self._signals.first) is not None:
            why = number.name
            journal.append(StopRequested(t=time.monotonic(), reason=f"stopped by {why}", signal=why))
        elif self.limits.reached:
            why = self.limits.reached
            journal.append(StopRequested(t=time.monotonic(), reason=why))
        worker.ask_to_stop()
        self._progress.stopping(why, self._settings.run.grace_s)

    def _loop(
        self,
        worker: Workers,
        journal: JournalWriter,
        tail: JournalTail,
        series: SeriesWriter,
        outputs: list[EngineOutput],
        around: Surroundings,
        watcher: PySpy | None,
    ) -> None:
        """Watch a worker until it ends, or must be ended."""
        begin = next_sample = next_sync = time.monotonic()
        deadline: float | None = None
        failed = False
        while not worker.wait(TICK_S):
            now = time.monotonic()
            events = tail.read()
            self._show(events, series)
            if watcher is not None:
                watcher.show(events, worker.pids[0])
            for met in around.saw(events):
                self._tell(met, journal)
            warned = [event for output in outputs for event in output.read()]
            failed = self._note(warned, journal) or failed
            if any(isinstance(event, LoopStarted) for event in events):
                begin = next_sample = now
            if now >= next_sample:
                # More often at first, and when the loop begins: one that is shorter than the period has samples, too.
                next_sample = now + min(self._settings.profiling.sample_period_s, now - begin)
                if (seen := around.sample(now)) is not None:
                    journal.append(seen)
            if now >= next_sync or any(isinstance(event, CheckpointSaved) for event in events):
                next_sync = now + SYNC_PERIOD_S
                journal.sync()
                _sync(tail.path)
            if self.limits.out_of_memory(now, worker.pids):
                journal.append(StopRequested(t=time.monotonic(), reason=self.limits.reached))
                return
            if failed or self._signals.first is not None or self.limits.out_of_time(now):
                if deadline is None:
                    deadline = now + self._settings.run.grace_s
                    self._ask_to_stop(worker, journal)
                if now >= deadline or self._signals.count > 1:
                    return


def ranked(name: str, rank: int) -> str:
    """The name of a rank's own file; rank 0, which reports, goes by the workflow's."""
    return f"{name}.rank{rank}" if rank else name


def _host_facts(settings: Settings) -> HostFacts:
    """What the bundle says of software and hardware."""
    python = settings.worker.python or sys.executable
    return HostFacts(
        t=time.monotonic(),
        versions=facts.software(python, Path.cwd()),
        hardware=facts.hardware(),
        gpus=gpu.devices(),
    )


def _sync(path: Path) -> None:
    """Force another process's file onto the disk."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
