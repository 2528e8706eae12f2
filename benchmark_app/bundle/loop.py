"""The measured loop of a run: its iterations, and the times and rates over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmark_app.bundle.aggregate import mean_std, rate
from benchmark_app.bundle.pick import first
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.schema import EnvironmentStepTiming, Runtime, StartupTime
from benchmark_app.journal.events import Event, Iteration, LoopStarted, Steps


@dataclass(frozen=True)
class Unit:
    """One completed iteration: of a training, or one step of runtime and play. Durations in seconds."""

    start: float  # [s, monotonic clock]
    end: float
    frames: int
    seconds: float
    collection_s: float
    learning_s: float
    hook_s: float
    env_step_s: tuple[float, ...]


@dataclass(frozen=True)
class Loop:
    """All completed iterations, and how many leading ones are warm-up."""

    units: list[Unit]
    started: LoopStarted | None

    @property
    def warmup(self) -> list[Unit]:
        """The iterations that enter counts only."""
        return self.units[: self._warmup_iterations]

    @property
    def measured(self) -> list[Unit]:
        """The iterations that enter rates and times."""
        return self.units[self._warmup_iterations :]

    @property
    def window(self) -> tuple[float, float] | None:
        """Begin and end of the measured part [s, monotonic clock]; None if it was not reached."""
        measured = self.measured
        return (measured[0].start, measured[-1].end) if measured else None

    @property
    def _warmup_iterations(self) -> int:
        return self.started.warmup_iterations if self.started is not None else 0


def read_loop(events: Iterable[Event], num_envs: int) -> Loop:
    """Collect the iterations of a run, in order."""
    events = list(events)
    return Loop(list(_units(events, num_envs)), first(events, LoopStarted))


def build_runtime(loop: Loop, startup: StartupTime, gaps: Gaps) -> Runtime:
    """Times and rates of a loop. Each rate is work over the time of its own phase."""
    measured = loop.measured
    seconds = [unit.seconds for unit in measured]
    frames = [unit.frames for unit in measured]
    steps = loop.started.steps_per_iteration if loop.started is not None else None
    return Runtime(
        startup_time_s=startup,
        iterations_completed=len(loop.units),
        total_wall_time_s=math.fsum(unit.seconds for unit in loop.units),
        steps_per_iteration=int(gaps.number("runtime.steps_per_iteration", steps)),
        iteration_time_s=gaps.stat("runtime.iteration_time_s", mean_std(seconds)),
        collection_fps=gaps.stat("runtime.collection_fps", rate(frames, [unit.collection_s for unit in measured])),
        total_fps=gaps.stat("runtime.total_fps", rate(frames, seconds)),
        iterations_per_s=gaps.stat("runtime.iterations_per_s", rate([1.0] * len(seconds), seconds)),
        environment_step_timing=_environment_step_timing(loop),
    )


def loop_extra(loop: Loop) -> dict[str, float | int]:
    """Scalars every loop leaves in `extra`."""
    return {
        "warmup_iterations": len(loop.warmup),
        "measured_wall_time_s": math.fsum(unit.seconds for unit in loop.measured),
    }


def _environment_step_timing(loop: Loop) -> EnvironmentStepTiming | None:
    """Timing of the measured `TorchEnv.step` calls; None if there was none, or none that counted a frame."""
    if loop.started is None:
        return None
    calls = [(unit.frames / len(unit.env_step_s), s) for unit in loop.measured for s in unit.env_step_s if s > 0]
    times = mean_std([s for _, s in calls])
    fps = rate((frames for frames, _ in calls), (s for _, s in calls))
    if times is None or fps is None or fps.mean <= 0:
        return None
    return EnvironmentStepTiming(
        environment_step_time_s=times,
        environment_step_fps=fps,
        simulation_step_time_s=None,
        outside_simulation_step_time_s=None,
        outside_simulation_step_fraction=None,
        environment_step_calls=len(calls),
        simulation_step_calls=None,
        measurement_mode=loop.started.measurement_mode,  # type: ignore[arg-type]  # checked when it is made
        warmup_steps=sum(len(unit.env_step_s) for unit in loop.warmup),
    )


def _units(events: Iterable[Event], num_envs: int) -> Iterator[Unit]:
    for event in events:
        if isinstance(event, Iteration):
            yield Unit(
                start=event.t - event.iteration_s,
                end=event.t,
                frames=event.frames,
                seconds=event.iteration_s,
                collection_s=event.collection_s,
                learning_s=event.learning_s,
                hook_s=event.hook_s,
                env_step_s=tuple(event.env_step_s),
            )
        elif isinstance(event, Steps):
            yield from _steps(event, num_envs)


def _steps(event: Steps, num_envs: int) -> Iterator[Unit]:
    """The single steps of a batch, which ended at the event's time and followed each other without a pause."""
    frames = event.frames if event.frames is not None else [num_envs] * len(event.step_s)
    start = event.t - math.fsum(event.step_s)
    for seconds, env_step, counted in zip(event.step_s, event.env_step_s, frames, strict=True):
        yield Unit(
            start=start,
            end=start + seconds,
            frames=counted,
            seconds=seconds,
            collection_s=seconds,
            learning_s=0.0,
            hook_s=0.0,
            env_step_s=(env_step,),
        )
        start += seconds
