"""The measured loop of a run: its iterations, and the times and rates over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmark_app.bundle.aggregate import mean_std, rate
from benchmark_app.bundle.pick import first
from benchmark_app.bundle.reached import Gaps
from benchmark_app.bundle.schema import EnvironmentStepTiming, Runtime, StartupTime
from benchmark_app.bundle.steady import MOST_DRIFT, drift, warmup_length
from benchmark_app.journal.events import Event, Iteration, LoopStarted, Scalar, Steps

_APART = "serialized_synchronized"  # the measurement mode that takes the engine's share of a step apart


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
    simulation_s: tuple[float, ...] | None = None  # the engine's share of each environment step
    simulation_calls: int = 0
    render_s: float | None = None  # spent drawing; None: nothing draws
    render_frames: int = 0  # pictures drawn
    loading: bool = False  # kernel modules were compiled or loaded meanwhile


@dataclass(frozen=True)
class Loop:
    """All completed iterations, and which of them are measured.

    Args:
        units: The iterations, in order.
        started: How the loop began; None if it did not.
        warmup_iterations: Leading iterations that are warm-up.
        found: The warm-up ends where the rule for it says; False where it found no end.
    """

    units: list[Unit]
    started: LoopStarted | None
    warmup_iterations: int = 0
    found: bool = True

    @property
    def warmup(self) -> list[Unit]:
        """The leading iterations that enter counts only."""
        return self.units[: self.warmup_iterations]

    @property
    def measured(self) -> list[Unit]:
        """The iterations that enter rates and times. One that compiled or loaded kernels never does."""
        return [unit for unit in self.units[self.warmup_iterations :] if not unit.loading]

    @property
    def window(self) -> tuple[float, float] | None:
        """Begin and end of the measured part [s, monotonic clock]; None if it was not reached."""
        measured = self.measured
        return (measured[0].start, measured[-1].end) if measured else None


def read_loop(events: Iterable[Event], num_envs: int) -> Loop:
    """Collect the iterations of a run, in order, and find the end of its warm-up where that was asked for."""
    events = list(events)
    units, started = list(_units(events, num_envs)), first(events, LoopStarted)
    if started is None:
        return Loop(units, None)
    if not started.detect_warmup:
        return Loop(units, started, started.warmup_iterations)
    alike = _alike(units)
    cut, found = warmup_length([units[index].seconds for index in alike])
    least = min(started.warmup_iterations, len(units) // 2)  # of a run that ended early, something is left to measure
    return Loop(units, started, max(least, alike[cut] if alike else 0), found)


def _alike(units: list[Unit]) -> list[int]:
    """Which iterations can be told from one another by their times: all rows played, and no kernel was compiled."""
    most = max((unit.frames for unit in units), default=0)
    return [index for index, unit in enumerate(units) if unit.frames == most and not unit.loading]


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


def loop_extra(loop: Loop) -> dict[str, Scalar]:
    """Scalars every loop leaves in `extra`."""
    measured = loop.measured
    extra: dict[str, Scalar] = {
        "warmup_iterations": len(loop.warmup),
        "warmup_rule": "mser5" if loop.started is not None and loop.started.detect_warmup else "fixed",
        "kernel_load_iterations": len(loop.units) - len(loop.warmup) - len(measured),
        "measured_wall_time_s": math.fsum(unit.seconds for unit in measured),
    }
    if (drawn := _drawing(measured)) is not None:
        extra |= drawn
    if (change := drift([measured[index].seconds for index in _alike(measured)])) is not None:
        extra |= {"iteration_time_drift": change, "steady_state": loop.found and abs(change) <= MOST_DRIFT}
    return extra


def _drawing(measured: list[Unit]) -> dict[str, Scalar] | None:
    """What drawing took of the measured iterations; None where nothing was drawn in them."""
    units = [unit for unit in measured if unit.render_s is not None]
    seconds, frames = math.fsum(unit.render_s or 0.0 for unit in units), sum(unit.render_frames for unit in units)
    steps = sum(len(unit.env_step_s) for unit in units)
    inside = math.fsum(s for unit in units for s in unit.env_step_s)
    if not (frames and steps and seconds > 0 and inside > 0):
        return None
    return {
        "render_frames": frames,
        "render_fps": frames / seconds,
        "render_time_per_step_s": seconds / steps,
        "render_step_fraction": seconds / inside,
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
    apart = loop.started.measurement_mode == _APART
    inside = outside = None
    if apart:
        pairs = [pair for unit in loop.measured for pair in zip(unit.env_step_s, unit.simulation_s or (), strict=False)]
        shares = [(whole, share) for whole, share in pairs if whole > 0]
        inside = mean_std([share for _, share in shares])
        outside = mean_std([whole - share for whole, share in shares])
        if inside is None or outside is None or len(shares) != len(calls) or inside.mean <= 0:
            return None  # nothing that a reader of this mode could use
    return EnvironmentStepTiming(
        environment_step_time_s=times,
        environment_step_fps=fps,
        simulation_step_time_s=inside,
        outside_simulation_step_time_s=outside,
        outside_simulation_step_fraction=outside.mean / times.mean if outside is not None else None,
        environment_step_calls=len(calls),
        simulation_step_calls=sum(unit.simulation_calls for unit in loop.measured) if apart else None,
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
                simulation_s=tuple(event.simulation_s) if event.simulation_s is not None else None,
                simulation_calls=event.simulation_calls or 0,
                render_s=event.render_s,
                render_frames=event.render_frames or 0,
                loading=event.kernel_loads > 0,
            )
        elif isinstance(event, Steps):
            yield from _steps(event, num_envs)


def _steps(event: Steps, num_envs: int) -> Iterator[Unit]:
    """The single steps of a batch, which ended at the event's time and followed each other without a pause."""
    frames = event.frames if event.frames is not None else [num_envs] * len(event.step_s)
    start = event.t - math.fsum(event.step_s)
    shares, engine_calls = event.simulation_s, event.simulation_calls
    drawing, drawn = event.render_s, event.render_frames
    loading = set(event.loading)
    for place, (seconds, env_step, counted) in enumerate(zip(event.step_s, event.env_step_s, frames, strict=True)):
        yield Unit(
            start=start,
            end=start + seconds,
            frames=counted,
            seconds=seconds,
            collection_s=seconds,
            learning_s=0.0,
            hook_s=0.0,
            env_step_s=(env_step,),
            simulation_s=(shares[place],) if shares is not None else None,
            simulation_calls=engine_calls[place] if engine_calls is not None else 0,
            render_s=drawing[place] if drawing is not None else None,
            render_frames=drawn[place] if drawn is not None else 0,
            loading=place in loading,
        )
        start += seconds
