"""The typed events a journal is made of. Standard library only.

Every event has a `kind` (its name in the file) and `t`, seconds on the system's monotonic clock
(`time.monotonic()`), which parent and worker share; the journals of a workflow are merged by it.
Durations are wall seconds. Scalars are plain Python numbers, never NaN or infinite: a writer refuses them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

Scalar = bool | int | float | str
PHASES = ("python_imports", "task_config", "app_launch", "env_creation", "first_step")
"""The phases of a start, in order."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events: when it happened [s, monotonic clock]."""

    kind: ClassVar[str]
    t: float


# ---------------------------------------------------------------- written by the supervisor


@dataclass(frozen=True, kw_only=True)
class RunPlanned(Event):
    """What this workflow is about to do; the first line of a supervisor journal."""

    kind: ClassVar[str] = "run_planned"
    run_id: str
    workflow: str  # training | play | runtime | startup | equivalence
    framework: str | None  # None where no library runs (runtime, startup)
    physics: str
    rendering: str
    task: str  # gym task id
    seed: int
    num_envs: int
    max_iterations: int | None  # training budget; None elsewhere
    presets: list[str]
    start_time_utc: str  # ISO 8601, UTC
    reference_physics: str | None = None  # the engine that `physics` is compared with (equivalence)
    ema_alpha: float = 0.1
    keep_series: bool = True
    top_n: int = 30  # startup: rows per phase of the profile
    whitelist: str | None = None  # startup: phase → patterns of functions to keep instead, as JSON
    synthetic: bool = False  # another worker program than ours wrote the worker journal
    perturbed: str = ""  # why timings are not those of production, "" if they are
    extra: dict[str, Scalar] = field(default_factory=dict)  # copied into the bundle's `extra`


@dataclass(frozen=True, kw_only=True)
class HostFacts(Event):
    """Versions, git facts of the user's project and hardware, in the shape of the bundle's own classes."""

    kind: ClassVar[str] = "host_facts"
    versions: dict[str, Any]
    hardware: dict[str, Any]
    gpus: list[dict[str, Any]] = field(default_factory=list)  # every device NVML sees: uuid, name, mem_gb, compute_cap


@dataclass(frozen=True, kw_only=True)
class WorkerSpawned(Event):
    """A worker process was started; `t` is the instant before the spawn: start-up is counted from here."""

    kind: ClassVar[str] = "worker_spawned"
    pid: int
    command: list[str]
    log: str
    profiled: bool = False  # the second, profiled pass of the startup workflow
    part: str = ""  # which of the workflow's worker processes, where it has several


@dataclass(frozen=True, kw_only=True)
class ResourceSample(Event):
    """One look at the worker's process tree (of all ranks together), at the GPUs and at the processor's energy.

    `cpu_pct` covers the time since the previous sample (100 is one core); `ram_gb` is resident memory [GiB],
    `ram_peak_gb` the most since the previous sample, spikes in between included, or None where the system does not
    tell. `gpus` maps a device UUID to what it tells of `util_pct`, `mem_gb` (whole device), `process_util_pct`,
    `process_mem_gb` (the worker's share) and `energy_j` (counted by the device); `cpu_energy_j` is counted since the
    worker was started, of whole processors, None where it cannot be read.
    """

    kind: ClassVar[str] = "resource_sample"
    cpu_pct: float
    ram_gb: float
    gpus: dict[str, dict[str, float]] = field(default_factory=dict)
    ram_peak_gb: float | None = None
    cpu_energy_j: float | None = None


@dataclass(frozen=True, kw_only=True)
class Conditions(Event):
    """What the machine was like before (`at` = start) or after (`at` = end) the workers of a workflow.

    `reading` is that of `profiling.host.conditions`; several events of one `at` complete each other. `during`, at the
    end, is what happened in between. `warnings` are sentences for a person.
    """

    kind: ClassVar[str] = "conditions"
    at: str
    reading: dict[str, Any]
    warnings: list[str]
    during: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StopRequested(Event):
    """The supervisor asked the worker to stop: a signal (`SIGINT`, `SIGTERM`, `SIGHUP`) or a limit."""

    kind: ClassVar[str] = "stop_requested"
    reason: str
    signal: str | None = None


@dataclass(frozen=True, kw_only=True)
class EngineWarned(Event):
    """The engine's output held warnings that mean wrong physics.

    `name` and `meaning` are those of the engine's catalogue entry; `count` lines were found since the last such event
    of this name; `line` is the first of them. `setting` is the one that allows it, such as `physics.allow`. `allowed`:
    it does; otherwise the run has failed.
    """

    kind: ClassVar[str] = "engine_warned"
    name: str
    meaning: str
    count: int
    line: str
    setting: str
    allowed: bool


@dataclass(frozen=True, kw_only=True)
class VideosPlanned(Event):
    """Videos are about to be recorded of what a workflow left, by `renderer`; `reason` says why that one.

    It stands in a journal of its own, that of the recording: nothing of it is a part of what was measured.
    """

    kind: ClassVar[str] = "videos_planned"
    count: int
    renderer: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class WorkerExited(Event):
    """The worker process is gone. `exit_code` is negative for a signal, as in `subprocess`.

    `last_words` is the failure the worker reported through its pipe when it could not write its journal.
    `killed_by_us` says that the supervisor killed it: after the grace period, or because another of its ranks failed.
    `out_of_memory` is a sentence where the kernel killed it for want of memory. `cpu_s` is the CPU time [s] it used,
    that of the children it collected included; `ram_peak_gb` the most resident memory [GiB] of the largest of them, and
    `group_peak_gb` of the control group it has to itself; None where they are not known.
    """

    kind: ClassVar[str] = "worker_exited"
    exit_code: int
    last_words: str = ""
    killed_by_us: bool = False
    rank: int = 0
    out_of_memory: str = ""
    cpu_s: float | None = None
    ram_peak_gb: float | None = None
    group_peak_gb: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunClosed(Event):
    """The supervisor's last line for a workflow; absent when the supervisor itself was killed."""

    kind: ClassVar[str] = "run_closed"
    end_time_utc: str


# ---------------------------------------------------------------- written by the worker


@dataclass(frozen=True, kw_only=True)
class Phase(Event):
    """One start-up phase ended at `t` after `duration_s`.

    Its name is one of `PHASES`; the first begins with the spawn of the process.
    `top_functions` is filled only by the profiled pass: rows of name, own_time_s, cum_time_s, calls.
    """

    kind: ClassVar[str] = "phase"
    name: str
    duration_s: float
    top_functions: list[dict[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class WorkerFacts(Event):
    """What only the worker can know: the device it runs on, its logical CUDA devices, scalars for `extra`."""

    kind: ClassVar[str] = "worker_facts"
    device: str
    cuda_devices: list[dict[str, Any]] = field(
        default_factory=list
    )  # in logical order: uuid, name, mem_gb, compute_cap
    extra: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LoopStarted(Event):
    """The work that is counted in iterations begins.

    `steps_per_iteration` [frames]: environments x rollout in training, environments in runtime and play.
    `warmup_iterations` leading iterations are counted but enter no rate and no time; where `detect_warmup`, at least
    these, and as many more as the steady state takes to come.
    """

    kind: ClassVar[str] = "loop_started"
    steps_per_iteration: int
    warmup_iterations: int
    measurement_mode: str = "host_return"
    detect_warmup: bool = False


@dataclass(frozen=True, kw_only=True)
class Iteration(Event):
    """One training iteration, complete: rollout and update.

    `iteration_s` is the wall time of the whole iteration, `collection_s` of the rollout, `learning_s` of the update,
    `env_step_s` one entry per `TorchEnv.step` call, `hook_s` our own share. `frames` = environment steps taken.
    `episodes` episodes ended in it. The three means are over the last 100 finished episodes at the end of the
    iteration, None before the first; `success_rate` is None too where the task reports no success.
    In serialized_synchronized mode `simulation_s` has the engine's share of each `TorchEnv.step` call, and
    `simulation_calls` how often the engine was called. Where the environment draws, `render_s` is the time of it and
    `render_frames` the pictures drawn (by rank 0, of several). `kernel_loads` kernel modules were compiled or loaded
    meanwhile.
    """

    kind: ClassVar[str] = "iteration"
    index: int
    frames: int
    iteration_s: float
    collection_s: float
    learning_s: float
    hook_s: float
    env_step_s: list[float]
    episodes: int
    reward: float | None
    ep_length: float | None
    success_rate: float | None
    simulation_s: list[float] | None = None
    simulation_calls: int | None = None
    render_s: float | None = None
    render_frames: int | None = None
    kernel_loads: int = 0


@dataclass(frozen=True, kw_only=True)
class Steps(Event):
    """A batch of consecutive steps of runtime or play; one iteration is one step.

    `step_s[i]` is the whole step (policy and environment in play, environment in runtime), `env_step_s[i]` the
    `TorchEnv.step` call in it, `frames[i]` the rows that counted (None: every environment).
    In serialized_synchronized mode `simulation_s[i]` and `simulation_calls[i]` are the engine's; where the environment
    draws, `render_s[i]` and `render_frames[i]` are the renderer's. `loading` are the places in the batch of steps
    during which kernel modules were compiled or loaded.
    """

    kind: ClassVar[str] = "steps"
    first_index: int
    step_s: list[float]
    env_step_s: list[float]
    frames: list[int] | None = None
    simulation_s: list[float] | None = None
    simulation_calls: list[int] | None = None
    render_s: list[float] | None = None
    render_frames: list[int] | None = None
    loading: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Episode(Event):
    """One finished evaluation episode (play only).

    `reward` is its return, `max_reward` the largest reward of a single step (None in older journals),
    `metrics` what the task measured as of its last step (None: nothing was measured, which is never 0), `reward_terms`
    the sum of each term of the reward over the episode.
    """

    kind: ClassVar[str] = "episode"
    index: int
    reward: float
    length: int
    success: bool | None
    max_reward: float | None = None
    metrics: dict[str, float | None] = field(default_factory=dict)
    reward_terms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckpointSaved(Event):
    """A policy checkpoint is complete on disk. In play: the checkpoint that is rolled out."""

    kind: ClassVar[str] = "checkpoint_saved"
    path: str
    iteration: int | None = None


@dataclass(frozen=True, kw_only=True)
class VideoSaved(Event):
    """A video is complete on disk.

    `path` is relative to the run directory. It shows `episodes` episodes side by side, played by the policy of
    `iteration` (None: as the checkpoint says), in `frames` frames and `seconds`. `cut`: an episode went on.
    """

    kind: ClassVar[str] = "video_saved"
    path: str
    episodes: int
    frames: int
    seconds: float
    cut: bool
    iteration: int | None = None


@dataclass(frozen=True, kw_only=True)
class Extra(Event):
    """Scalars for the bundle's `extra`; a later value replaces an earlier one."""

    kind: ClassVar[str] = "extra"
    values: dict[str, Scalar]


@dataclass(frozen=True, kw_only=True)
class Diagnostics(Event):
    """What the engine says of itself once built (model sizes, capacities, solver); goes into `run.json`."""

    kind: ClassVar[str] = "diagnostics"
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class EngineFacts(Event):
    """What one of the two engines of an equivalence run says it simulates.

    `part` is `reference` or `physics`; `settings` are the engine's own; `facts` is a `physics.scene.RobotFacts` in
    plain data.
    """

    kind: ClassVar[str] = "engine_facts"
    part: str
    engine: str
    version: str
    settings: dict[str, Any]
    facts: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Comparison(Event):
    """How far two engines came apart; `values` is the result's `comparison` (docs/engines.md)."""

    kind: ClassVar[str] = "comparison"
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Finished(Event):
    """The worker's work is over: `budget` (all of it was done), `early_stop` (it had learned what it was asked to) or
    `stopped` (it was asked to stop).

    Written before any engine is closed, because closing one may end the process.
    """

    kind: ClassVar[str] = "finished"
    outcome: str
    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Failed(Event):
    """An exception ended the work. `where` is the file and line that raised."""

    kind: ClassVar[str] = "failed"
    error: str
    where: str = ""
    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    """The worker's first act, its checks, found a setting it cannot run with. No bundle is written."""

    kind: ClassVar[str] = "refused"
    message: str


KINDS: dict[str, type[Event]] = {cls.kind: cls for cls in Event.__subclasses__()}
