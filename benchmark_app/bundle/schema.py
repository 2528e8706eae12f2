"""The bundle schema 1.4: what stands in training.json, play.json, runtime.json and startup.json.

Class names, field names, order, defaults and validations are those of Isaac Lab's public schema 1.4, so that every file
written from these classes can be rebuilt by Isaac Lab's. Types, literals and finiteness are enforced as well (`check`).
Times are wall-clock seconds; a frame is one step of one environment; GB are binary (1024**3 bytes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from benchmark_app.bundle.check import BundleError, Record

SCHEMA_VERSION = "1.4"

Framework = Literal["rsl_rl", "rl_games", "skrl", "sb3"]
PhysicsBackend = Literal["physx", "newton_mjwarp", "newton_kamino", "ovphysx"]
RenderingBackend = Literal["none", "isaacsim_rtx", "ovrtx", "newton"]
RunStatus = Literal["completed", "interrupted", "crashed"]

# Two separately rounded numbers may disagree in their last digits; the peer grants the same slack.
_PEAK_TOLERANCE = 1e-6


@dataclass(frozen=True)
class MeanStd(Record):
    """Samples in three numbers.

    Args:
        mean: Arithmetic mean; for a rate, all work divided by all time.
        std: Sample standard deviation (n-1) of the samples, 0 for one sample.
        peak: Largest sample; null where it says nothing, as for a utilisation.
    """

    mean: float
    std: float
    peak: float | None = None

    def rules(self) -> None:
        """No sample mean and no aggregate rate exceeds the largest sample."""
        if self.peak is not None and self.peak < self.mean - _PEAK_TOLERANCE:
            raise BundleError("peak", f"expected at least the mean {self.mean}, got {self.peak}")


@dataclass(frozen=True)
class GpuDeviceInfo(Record):
    """One GPU of the host.

    Args:
        name: Model name.
        mem_gb: Memory of the device [GB].
        compute_cap: CUDA compute capability, such as `9.0`.
    """

    name: str
    mem_gb: float
    compute_cap: str


@dataclass(frozen=True)
class Hardware(Record):
    """The host a run took place on.

    Args:
        hostname: Name of the host.
        gpu_devices: The GPUs, empty without one.
        cpu_name: Processor model.
        cpu_count: Physical cores.
        ram_gb: Memory of the host [GB].
    """

    hostname: str
    gpu_devices: list[GpuDeviceInfo]
    cpu_name: str
    cpu_count: int
    ram_gb: float


@dataclass(frozen=True)
class Versions(Record):
    """Versions of the software of a run, null where it is not installed, and the state of the user's git checkout.

    Args:
        isaaclab: Isaac Lab, `""` where it is not installed.
        torch: PyTorch, `""` where it is unknown.
        git_commit: Commit of the project the run was started in, null outside a repository.
        git_branch: Its branch.
        git_dirty: True if it had changes that are not committed.
    """

    isaaclab: str
    isaacsim: str | None
    kit: str | None
    newton: str | None
    warp: str | None
    mjwarp: str | None
    torch: str
    rsl_rl: str | None
    rl_games: str | None
    skrl: str | None
    sb3: str | None
    git_commit: str | None
    git_branch: str | None
    git_dirty: bool
    numpy: str | None = None
    isaaclab_newton: str | None = None
    isaaclab_physx: str | None = None
    isaaclab_ov: str | None = None
    isaaclab_tasks: str | None = None
    isaaclab_rl: str | None = None
    ovrtx: str | None = None
    ovphysx: str | None = None
    mujoco: str | None = None
    cuda_bindings: str | None = None
    usd_core: str | None = None
    usd_exchange: str | None = None
    isaaclab_release: str | None = None


@dataclass(frozen=True)
class RunConfig(Record):
    """The choices a run is grouped by.

    Args:
        physics_backend: Physics engine.
        rendering_backend: Renderer, `none` without a camera.
        presets: Active choices that have no field of their own, such as a camera or an agent preset.
    """

    physics_backend: PhysicsBackend
    rendering_backend: RenderingBackend = "none"
    presets: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunIdentity(Record):
    """Which run this is, when it took place and how it ended.

    Args:
        run_id: Unique name of the run.
        framework: RL library; null where none runs (runtime, startup) or where the schema has no name for it.
        config: Engine, renderer and presets.
        task: Gym id of the task.
        seed: Seed of environments and agent.
        start_time_utc: Start, ISO 8601 in UTC.
        end_time_utc: End, ISO 8601 in UTC.
        duration_s: From start to end [s], at least 0.
        status: How the run ended.
        num_envs: Parallel environments; null for startup.
        max_iterations: Budget of a training; null elsewhere.
    """

    run_id: str
    framework: Framework | None
    config: RunConfig
    task: str
    seed: int
    start_time_utc: str
    end_time_utc: str
    duration_s: float
    status: RunStatus
    num_envs: int | None = None
    max_iterations: int | None = None

    def rules(self) -> None:
        """A run does not end before it starts."""
        if self.duration_s < 0:
            raise BundleError("duration_s", f"expected at least 0, got {self.duration_s}")


@dataclass(frozen=True)
class StartupTime(Record):
    """How long each phase of the start took [s].

    Args:
        app_launch: Launch of the simulator.
        env_creation: Building of the environments.
        first_step: First environment step, with what is compiled in it.
        python_imports: From the spawn of the process to the end of its imports, when measured.
        task_config: Reading of the task's configuration, when measured.
    """

    app_launch: float
    env_creation: float
    first_step: float
    python_imports: float | None = None
    task_config: float | None = None


@dataclass(frozen=True)
class EnvironmentStepTiming(Record):
    """Time inside the environment's `step` calls.

    In `host_return` mode a call is timed until it returns to the caller, whatever the device still has to do. In
    `serialized_synchronized` mode the device is drained at each boundary, so that a call can be split into time inside
    and outside of physics; that slows the run down, and every time and rate of the bundle was taken under it.

    Args:
        environment_step_time_s: Duration of a call [s].
        environment_step_fps: Frames per second inside the calls [frames/s].
        simulation_step_time_s: Physics time per call [s]; serialized mode only.
        outside_simulation_step_time_s: The rest of the call [s]; serialized mode only.
        outside_simulation_step_fraction: That rest as a fraction of the call, 0 to 1; serialized mode only.
        environment_step_calls: Measured environment calls, at least 1.
        simulation_step_calls: Measured physics calls, at least 1; serialized mode only.
        measurement_mode: Which of the two modes.
        warmup_steps: Leading environment calls that were left out.
    """

    environment_step_time_s: MeanStd
    environment_step_fps: MeanStd
    simulation_step_time_s: MeanStd | None
    outside_simulation_step_time_s: MeanStd | None
    outside_simulation_step_fraction: float | None
    environment_step_calls: int
    simulation_step_calls: int | None
    measurement_mode: Literal["host_return", "serialized_synchronized"]
    warmup_steps: int = 0

    def rules(self) -> None:
        """The fields describe one measurement in one mode."""
        if self.warmup_steps < 0:
            raise BundleError("warmup_steps", f"expected at least 0, got {self.warmup_steps}")
        if self.environment_step_calls <= 0:
            raise BundleError("environment_step_calls", f"expected at least 1, got {self.environment_step_calls}")
        for name in ("environment_step_time_s", "environment_step_fps"):
            mean = getattr(self, name).mean
            if mean <= 0:
                raise BundleError(f"{name}.mean", f"expected more than 0, got {mean}")
        if self.measurement_mode == "host_return":
            self._check_no_breakdown()
        else:
            self._check_breakdown()

    def _check_no_breakdown(self) -> None:
        for name in _BREAKDOWN:
            if getattr(self, name) is not None:
                raise BundleError(name, "expected null in host_return mode, which does not measure physics apart")

    def _check_breakdown(self) -> None:
        for name in _BREAKDOWN:
            if getattr(self, name) is None:
                raise BundleError(name, "expected a value in serialized_synchronized mode, got null")
        assert self.simulation_step_time_s is not None
        assert self.outside_simulation_step_time_s is not None
        assert self.outside_simulation_step_fraction is not None
        assert self.simulation_step_calls is not None
        whole = self.environment_step_time_s.mean
        physics = self.simulation_step_time_s.mean
        rest = self.outside_simulation_step_time_s.mean
        fraction = self.outside_simulation_step_fraction
        if self.simulation_step_calls <= 0:
            raise BundleError("simulation_step_calls", f"expected at least 1, got {self.simulation_step_calls}")
        if physics <= 0:
            raise BundleError("simulation_step_time_s.mean", f"expected more than 0, got {physics}")
        if rest < 0:
            raise BundleError("outside_simulation_step_time_s.mean", f"expected at least 0, got {rest}")
        if not 0 <= fraction <= 1:
            raise BundleError("outside_simulation_step_fraction", f"expected 0 to 1, got {fraction}")
        if not _equal(whole, physics + rest):
            raise BundleError(
                "environment_step_time_s.mean",
                f"expected {physics + rest}, the time inside plus outside of physics, got {whole}",
            )
        if not _equal(fraction, rest / whole):
            raise BundleError(
                "outside_simulation_step_fraction",
                f"expected {rest / whole}, the ratio of the mean times, got {fraction}",
            )


_BREAKDOWN = (
    "simulation_step_time_s",
    "outside_simulation_step_time_s",
    "outside_simulation_step_fraction",
    "simulation_step_calls",
)


def _equal(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


@dataclass(frozen=True)
class Runtime(Record):
    """How fast the run was. Rates and times leave the warm-up out, counts and the total time do not.

    Args:
        startup_time_s: Duration of the phases of the start [s].
        iterations_completed: Completed iterations, warm-up included.
        total_wall_time_s: Time of the completed iterations together [s], warm-up included.
        steps_per_iteration: Frames of one iteration over all environments.
        iteration_time_s: Duration of one iteration [s].
        collection_fps: Frames per second of rollout time [frames/s].
        total_fps: Frames per second of iteration time, update included [frames/s]; the rollout's where nothing learns.
        iterations_per_s: Iterations per second [1/s].
        environment_step_timing: Time inside the environment's `step`, when measured.
    """

    startup_time_s: StartupTime
    iterations_completed: int
    total_wall_time_s: float
    steps_per_iteration: int
    iteration_time_s: MeanStd
    collection_fps: MeanStd
    total_fps: MeanStd
    iterations_per_s: MeanStd
    environment_step_timing: EnvironmentStepTiming | None = None


@dataclass(frozen=True)
class GpuResources(Record):
    """Load of one GPU.

    Args:
        util_pct: Utilisation [%].
        mem_gb: Memory in use [GB].
    """

    util_pct: MeanStd
    mem_gb: MeanStd


@dataclass(frozen=True)
class Resources(Record):
    """Load of the machine by the run. Memory has a peak, utilisation has none.

    Args:
        gpu_util_pct: Utilisation of the GPU the run used [%].
        gpu_mem_gb: Memory in use on that GPU [GB].
        cpu_util_pct: Processor time of the worker's process tree [%], 100 is one core.
        ram_gb: Resident memory of the worker's process tree [GB].
        devices: Load of every GPU the worker sees, by its logical CUDA index.
    """

    gpu_util_pct: MeanStd
    gpu_mem_gb: MeanStd
    cpu_util_pct: MeanStd
    ram_gb: MeanStd
    devices: dict[str, GpuResources] = field(default_factory=dict)


@dataclass(frozen=True)
class LearningCurve(Record):
    """One quantity over the iterations of a training.

    Args:
        final_raw: Its last value.
        final_ema: Its exponential moving average at the end.
        series_per_iter: One value per iteration, null where they are not kept or do not exist.
    """

    final_raw: float
    final_ema: float
    series_per_iter: list[float] | None


@dataclass(frozen=True)
class Learning(Record):
    """What was learned; each value is a mean over the last 100 finished episodes.

    Args:
        ema_alpha: Weight of the newest value in the moving average, 0 to 1.
        reward: Return of an episode.
        ep_length: Length of an episode [steps].
        success_rate: Fraction of successful episodes, null where the task knows no success.
    """

    ema_alpha: float
    reward: LearningCurve
    ep_length: LearningCurve
    success_rate: LearningCurve | None = None


@dataclass(frozen=True)
class RuntimeBundle(Record):
    """The file runtime.json: environments stepped with random actions, nothing learned.

    Args:
        extra: Scalars the schema has no field for.
    """

    run: RunIdentity
    versions: Versions
    hardware: Hardware
    runtime: Runtime
    resources: Resources
    extra: dict[str, float | int | str | bool] | None = None
    schema_version: str = SCHEMA_VERSION


@dataclass(frozen=True)
class TrainingBundle(Record):
    """The file training.json: how fast a library trained and what it learned.

    Args:
        success_rate: Final success rate, 0 to 1, null where the task knows no success.
        checkpoint_path: Last policy checkpoint, if any.
        video_path: Recorded video, if any.
        extra: Scalars the schema has no field for.
    """

    run: RunIdentity
    versions: Versions
    hardware: Hardware
    runtime: Runtime
    resources: Resources
    learning: Learning
    success_rate: float | None = None
    checkpoint_path: str | None = None
    video_path: str | None = None
    extra: dict[str, float | int | str | bool] | None = None
    schema_version: str = SCHEMA_VERSION


@dataclass(frozen=True)
class PlayBundle(Record):
    """The file play.json: a checkpoint rolled out and judged.

    Args:
        success_rate: Fraction of successful episodes, 0 to 1, null where the task knows no success.
        reward: Return over the finished episodes, null without one.
        ep_length: Length of the finished episodes [steps], null without one.
        checkpoint_path: The checkpoint that was rolled out.
        video_path: Recorded video, if any.
        extra: Scalars the schema has no field for.
    """

    run: RunIdentity
    versions: Versions
    hardware: Hardware
    runtime: Runtime
    resources: Resources
    success_rate: float | None = None
    reward: MeanStd | None = None
    ep_length: MeanStd | None = None
    checkpoint_path: str | None = None
    video_path: str | None = None
    extra: dict[str, float | int | str | bool] | None = None
    schema_version: str = SCHEMA_VERSION


@dataclass(frozen=True)
class CProfileFunction(Record):
    """One row of a profile.

    Args:
        name: Label of the function.
        own_time_s: Time in the function itself [s].
        cum_time_s: Time in it and in what it calls [s].
        calls: Number of calls.
    """

    name: str
    own_time_s: float
    cum_time_s: float
    calls: int


@dataclass(frozen=True)
class StartupPhase(Record):
    """One phase of the start.

    Args:
        total_time_s: Its duration [s], taken without a profiler.
        top_functions: The most expensive functions, from a separate, profiled pass.
    """

    total_time_s: float
    top_functions: list[CProfileFunction]


@dataclass(frozen=True)
class StartupConfig(Record):
    """Settings of the profile in startup.json.

    Args:
        top_n: Rows kept per phase.
        whitelist: File of function patterns to keep instead, if any.
    """

    top_n: int
    whitelist: str | None


@dataclass(frozen=True)
class StartupBundle(Record):
    """The file startup.json: where the time goes before the first step.

    Args:
        phases: The phases that were reached, by name.
        extra: Scalars the schema has no field for.
    """

    run: RunIdentity
    versions: Versions
    hardware: Hardware
    phases: dict[str, StartupPhase]
    config: StartupConfig
    extra: dict[str, float | int | str | bool] | None = None
    schema_version: str = SCHEMA_VERSION


Bundle = RuntimeBundle | TrainingBundle | PlayBundle | StartupBundle

# Workflow name (also the stem of its file) → class of its bundle.
BUNDLES: dict[str, type[RuntimeBundle] | type[TrainingBundle] | type[PlayBundle] | type[StartupBundle]] = {
    "training": TrainingBundle,
    "play": PlayBundle,
    "runtime": RuntimeBundle,
    "startup": StartupBundle,
}
