"""The settings of a run: one dataclass per group, in plain data that parent and worker share.

What each setting means is written beside it in `conf/`; `config.py` checks a composed configuration against these.
"""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass, field
from typing import Any

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.execution.cfg import ExecutionCfg
from benchmark_app.frameworks.agent import AGENTS, Agent
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.physics.cfg import EngineCfg
from benchmark_app.profiling.tools import OUTSIDE, TOOLS
from benchmark_app.profiling.worker.timing import MODES
from benchmark_app.rendering.catalogue import NONE, RENDERERS

WORKFLOWS = ("startup", "runtime", "training", "play", "equivalence")
AUTO = "auto"  # a warm-up that is found in the run's own times
MOST_WARMUP = 10**9
MOST_WINDOW = 1000  # iterations; every one of them is megabytes of a trace
YOURS = "SETTINGS"  # stands in a command for what the user typed


class SettingError(Exception):
    """A setting that cannot be used; the message is one line naming the setting, its value and what to type."""


class UnsupportedError(SettingError):
    """A combination that its task, engine, renderer or library declares it does not support."""


class NotInstalledError(UnsupportedError):
    """Something a combination needs is not installed here; on another machine it may be."""


@dataclass(kw_only=True)
class WorkflowCfg:
    """`workflow=`: what is run."""

    name: str
    steps: list[str]

    def problems(self) -> list[str]:
        """Steps that are no workflows, or in an order that cannot work."""
        if self.steps and self.steps == [name for name in WORKFLOWS if name in self.steps]:
            return []
        return [f"steps={self.steps}: must be some of {', '.join(WORKFLOWS)}, in this order"]


@dataclass(kw_only=True)
class FrameworkCfg:
    """`framework=`: the RL library.

    Attributes:
        name: The one typed as `framework=NAME`.
        module: Package of its adapter (`benchmark_app.frameworks.registry`).
        distribution: Name it is installed under; None for a package that is only importable, so that nothing is looked
            for before the run starts.
        native: Settings of its own configuration, by path, that replace what the shared description gives it.
    """

    name: str
    module: str
    distribution: str | None
    native: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class RenderingCfg:
    """`rendering=`: the renderer."""

    name: str

    def problems(self) -> list[str]:
        """A renderer there is not."""
        known = (NONE, *RENDERERS)
        return [] if self.name in known else [f"name={self.name}: must be one of {', '.join(known)}"]


@dataclass(kw_only=True)
class ProfilingCfg:
    """`profiling=`: how time and resources are measured."""

    name: str
    mode: str
    sample_period_s: float
    tool: str
    window: int
    external: str | None
    check_determinism: bool

    def problems(self) -> list[str]:
        """A mode or period that cannot be measured with, and profilers that are none of ours."""
        found = []
        if self.mode not in MODES:
            found.append(f"mode={self.mode}: must be one of {', '.join(MODES)}")
        if not 0.05 <= self.sample_period_s <= 3600:
            found.append(f"sample_period_s={self.sample_period_s}: must be from 0.05 to 3600")
        if self.tool in OUTSIDE:
            run = f"python -m benchmark_app {YOURS} profiling.external={self.tool}"
            found.append(f"tool={self.tool}: wraps a run from outside; type: {OUTSIDE[self.tool]} {run}")
        elif self.tool not in TOOLS:
            found.append(f"tool={self.tool}: must be one of {', '.join((*TOOLS, *OUTSIDE))}")
        if not 1 <= self.window <= MOST_WINDOW:
            found.append(f"window={self.window}: must be from 1 to {MOST_WINDOW}")
        if self.external is not None and not self.external.strip():
            found.append("external=: must name the profiler, or be null")
        return found


@dataclass(kw_only=True)
class DistributedCfg:
    """`distributed.*`: several processes that train one policy."""

    nproc: int


def _least(warmup: int | str) -> int:
    return warmup if isinstance(warmup, int) else 0


def _warmup_problems(key: str, value: int | str) -> list[str]:
    if value == AUTO or (isinstance(value, int) and 0 <= value <= MOST_WARMUP):
        return []
    return [f"{key}={value}: must be a whole number from 0 to {MOST_WARMUP}, or {AUTO}"]


@dataclass(kw_only=True)
class TrainingCfg:
    """`training.*`."""

    warmup_iterations: int | str
    checkpoint_interval: int
    video_interval: int
    early_stop_success: float | None
    early_stop_window: int

    @property
    def least_warmup(self) -> int:
        """Leading iterations left out for certain; 0 where they are detected."""
        return _least(self.warmup_iterations)

    def problems(self) -> list[str]:
        """A warm-up of no length."""
        return _warmup_problems("warmup_iterations", self.warmup_iterations)


@dataclass(kw_only=True)
class AdmissionCfg:
    """`admission.*`: which checkpoints are let in."""

    trusted: bool
    rename: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class NumericsCfg:
    """`numerics.*`: process-wide settings of torch that decide how it computes."""

    matmul_precision: str
    cudnn_tf32: bool
    cudnn_benchmark: bool

    def problems(self) -> list[str]:
        """A precision torch does not have."""
        allowed = ("highest", "high", "medium")
        if self.matmul_precision in allowed:
            return []
        return [f"matmul_precision={self.matmul_precision}: must be one of {', '.join(allowed)}"]


@dataclass(kw_only=True)
class PlayCfg:
    """`play.*`."""

    episodes: int
    video: bool
    policy_batch: int
    warmup_steps: int | str

    def problems(self) -> list[str]:
        """A warm-up of no length."""
        return _warmup_problems("warmup_steps", self.warmup_steps)


@dataclass(kw_only=True)
class VideoCfg:
    """`video.*`: what `play.video` and `training.video_interval` record."""

    envs: int
    seconds: float
    fps: float
    width: int
    height: int
    overlay: bool
    camera_position: list[float] | None
    camera_target: list[float] | None
    camera_fov: float | None


@dataclass(kw_only=True)
class RuntimeCfg:
    """`runtime.*`."""

    steps: int
    warmup_steps: int | str

    @property
    def all_steps(self) -> int:
        """Steps taken: where the warm-up is detected, it is a part of `steps`."""
        return self.steps + _least(self.warmup_steps)

    def problems(self) -> list[str]:
        """A warm-up of no length."""
        return _warmup_problems("warmup_steps", self.warmup_steps)


@dataclass(kw_only=True)
class StartupCfg:
    """`startup.*`.

    Attributes:
        whitelist: The file as typed; in checked settings what it holds, as JSON (phase → patterns).
    """

    top_n: int
    whitelist: str | None
    kernel_cache: str


@dataclass(kw_only=True)
class EquivalenceCfg:
    """`equivalence.*`."""

    steps: int | None
    amplitude: float
    tolerance_rad: float
    tolerance_m: float
    reference_python: str | None

    def problems(self) -> list[str]:
        """Amplitudes and tolerances that mean nothing."""
        found = [] if 0 < self.amplitude <= 1 else [f"amplitude={self.amplitude}: must be in (0, 1]"]
        for key in ("tolerance_rad", "tolerance_m"):
            if getattr(self, key) <= 0:
                found.append(f"{key}={getattr(self, key)}: must be greater than 0")
        return found


@dataclass(kw_only=True)
class LearningCfg:
    """`learning.*`."""

    ema_alpha: float
    series: bool


@dataclass(kw_only=True)
class RunCfg:
    """`run.*`."""

    root: str
    grace_s: float
    reserve_mb: int
    report: bool
    requeue: bool
    retries: int
    time_limit: float | None
    memory_limit: float | None

    def problems(self) -> list[str]:
        """Limits that leave nothing."""
        return [
            f"{key}={value}: must be greater than 0, or null"
            for key in ("time_limit", "memory_limit")
            if (value := getattr(self, key)) is not None and value <= 0
        ]


@dataclass(kw_only=True)
class SweepCfg:
    """`sweep.*`: only what is run several times looks at them, but for `smoke` and `oversubscribe`."""

    resume: bool
    allow_failures: int
    oversubscribe: bool
    smoke: bool


@dataclass(kw_only=True)
class WorkerCfg:
    """`worker.*`."""

    python: str | None
    program: str | None
    debug: bool


@dataclass(kw_only=True)
class Settings:
    """Everything one run needs to know, checked and resolved."""

    workflow: WorkflowCfg
    framework: FrameworkCfg
    agent: Agent
    task: EnvCfg
    physics: EngineCfg
    rendering: RenderingCfg
    profiling: ProfilingCfg
    seed: int
    num_envs: int
    device: str
    threads: int
    kernel_cache: str | None
    nan_guard: bool
    strict: bool
    checkpoint: str | None
    repeats: int
    admission: AdmissionCfg
    numerics: NumericsCfg
    distributed: DistributedCfg
    training: TrainingCfg
    play: PlayCfg
    video: VideoCfg
    runtime: RuntimeCfg
    startup: StartupCfg
    equivalence: EquivalenceCfg
    learning: LearningCfg
    run: RunCfg
    sweep: SweepCfg
    worker: WorkerCfg
    execution: ExecutionCfg = field(default_factory=ExecutionCfg)
    reference_physics: EngineCfg | None = None
    presets: list[str] = field(default_factory=list)

    def to_plain(self) -> dict[str, Any]:
        """Return the settings as plain JSON data, which `from_plain` reads back."""
        return dataclasses.asdict(self)

    def for_reference(self) -> Settings:
        """The same settings with the reference engine in place of the other, in the interpreter it runs in."""
        assert self.reference_physics is not None, "checked with the settings"
        python = self.equivalence.reference_python or self.worker.python
        return dataclasses.replace(
            self, physics=self.reference_physics, worker=dataclasses.replace(self.worker, python=python)
        )

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Settings:
        """Rebuild settings that were checked before; no check is repeated."""
        kinds: dict[str, type[Any]] = {
            **GROUPS,
            "task": task_cfg_class(data["task"]["module"]),
            "agent": AGENTS[data["agent"]["algorithm"]],
        }
        for key in ("physics", "reference_physics"):
            if data[key] is not None:
                kinds[key] = ENGINES[data[key]["name"]].cfg
        return cls(**{**data, **{name: kind(**data[name]) for name, kind in kinds.items()}})


# The groups that have one class each; that of `task` is its module's, of `agent` its algorithm's, of an engine its own.
GROUPS: dict[str, type[Any]] = {
    "workflow": WorkflowCfg,
    "framework": FrameworkCfg,
    "rendering": RenderingCfg,
    "profiling": ProfilingCfg,
    "admission": AdmissionCfg,
    "numerics": NumericsCfg,
    "distributed": DistributedCfg,
    "training": TrainingCfg,
    "play": PlayCfg,
    "video": VideoCfg,
    "runtime": RuntimeCfg,
    "startup": StartupCfg,
    "equivalence": EquivalenceCfg,
    "learning": LearningCfg,
    "run": RunCfg,
    "sweep": SweepCfg,
    "worker": WorkerCfg,
    "execution": ExecutionCfg,
}


def task_cfg_class(module: str) -> type[EnvCfg]:
    """Return the settings class of a task module.

    Raises:
        SettingError: The module cannot be imported or is no task.
    """
    try:
        cfg = importlib.import_module(module).Cfg
    except Exception as error:  # a task module is a user's code and may fail in any way
        raise SettingError(f"task.module={module}: cannot be used as a task ({error})") from error
    if not (isinstance(cfg, type) and issubclass(cfg, EnvCfg)):
        raise SettingError(f"task.module={module}: its Cfg must be a subclass of benchmark_app.envs.cfg.EnvCfg")
    return cfg
