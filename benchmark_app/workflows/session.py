"""What every workflow shares: its settings, its journal, and the way from an empty process to the first step."""

from __future__ import annotations

import gc
import importlib.metadata
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Diagnostics, Extra, LoopStarted, WorkerFacts
from benchmark_app.parent_link import ParentLink
from benchmark_app.profiling.tools import NONE, PY_SPY, artefact
from benchmark_app.profiling.worker.profilers import allow_looking, watched
from benchmark_app.profiling.worker.startup import FLAME, Profiled, StartupPhases
from benchmark_app.profiling.worker.timing import Timing

if TYPE_CHECKING:
    from benchmark_app.envs.kernel_cache import KernelCache
    from benchmark_app.envs.torch_env import TorchEnv
    from benchmark_app.frameworks.base import Adapter
    from benchmark_app.frameworks.mapping import Config
    from benchmark_app.settings import Settings


def _version(distribution: str | None) -> str:
    """Version of a library in this interpreter; "" where it is no installed distribution."""
    try:
        return importlib.metadata.version(distribution) if distribution else ""
    except importlib.metadata.PackageNotFoundError:
        return ""


class Session:
    """One workflow's run inside a worker.

    Attributes:
        settings: Settings of the run, from `read_settings` or `open` on.
        journal: Where events go.
        link: The pipe to the supervisor; `stop_requested` is looked at before every step.
        part: Which of the workflow's worker processes this is, "" where it has but one.
        rank: Which of the processes that train one policy this is; 0 where there is but one.
        checkpoint: Policy to play, or training to continue; None elsewhere.
        takes: The videos to record; of other workflows there are none.
        directory: The run directory.
        checkpoint_dir: Folder for checkpoints.
        log_dir: Folder for the library's own files.
        timing: How time is taken, from `open` on.

    Args:
        spec: What the supervisor wrote for this worker.
        journal: The worker's journal, open.
        link: The pipe to the supervisor.
        spawned_at: When this process was started [s, monotonic clock].
    """

    settings: Settings

    def __init__(self, spec: dict[str, Any], journal: JournalWriter, link: ParentLink, spawned_at: float) -> None:
        self._spec = spec
        self.journal = journal
        self.link = link
        self.part: str = spec["part"]
        self.rank: int = spec["rank"]
        self.takes: list[dict[str, Any]] = spec.get("takes", [])
        self.directory = Path(spec["directory"])
        self.checkpoint = None if spec["checkpoint"] is None else Path(spec["checkpoint"])
        self.checkpoint_dir = Path(spec["checkpoints"])
        self.log_dir = Path(spec["logs"]) / spec["workflow"]
        self._phases = StartupPhases(journal, spawned_at, self._profiled(spec))
        self.timing = Timing()
        self._cache: KernelCache | None = None
        self._env: TorchEnv | None = None
        self._adapter: Adapter | None = None

    def _profiled(self, spec: dict[str, Any]) -> Profiled | None:
        """What this process is to profile of its start, if anything."""
        if not spec["profiled"]:
            return None
        settings = spec["settings"]
        whitelist = settings["startup"]["whitelist"]
        return Profiled(
            top_n=settings["startup"]["top_n"],
            whitelist={} if whitelist is None else json.loads(whitelist),
            own=[settings["task"]["module"], settings["framework"]["module"]],
            flame=Path(spec["artefacts"]) / FLAME,
        )

    @property
    def seed(self) -> int:
        """Seed of this process: the run's, of another rank one of its own, so that no two play the same episodes."""
        from benchmark_app.envs.numbering import stream_seed

        seed = self.settings.seed
        return stream_seed(f"rank {self.rank}", seed) if self.rank else seed

    @property
    def world_size(self) -> int:
        """Processes that train one policy; 1 in every workflow but training."""
        count: int = self._spec["settings"]["distributed"]["nproc"]
        return count if self._spec["workflow"] == "training" else 1

    def read_settings(self) -> Settings:
        """Read the settings. `open` does, too; this is for a workflow that opens no environment."""
        from benchmark_app.settings import Settings

        self.settings = Settings.from_plain(self._spec["settings"])
        return self.settings

    def open(self, *, with_framework: bool) -> TorchEnv:
        """Go through the start-up phases, to an environment that was stepped once and is freshly seeded and reset.

        Args:
            with_framework: Import the RL library too.

        Raises:
            RefusedError: The device the settings ask for is not there, or cannot compute as they ask; or the engine
                cannot build the task's scene.
        """
        plain = self._spec["settings"]
        with self._phases.phase("python_imports"):
            # The checks come first, before anything slow is imported.
            from . import RefusedError
            from . import device as devices

            if plain["profiling"]["tool"] == PY_SPY:
                allow_looking()

            name = plain["physics"]["name"]
            device, reason = devices.resolve_device(plain["device"], name)
            world_size = self.world_size
            if world_size > 1 and device != "cpu":
                device, reason = devices.resolve_device(f"cuda:{self.rank}", name)
            elif world_size > 1 and self._needs_cuda(plain):
                raise RefusedError(
                    f"distributed.nproc={world_size}: {plain['framework']['name']} needs a CUDA device for each rank"
                    f"{f' ({reason})' if reason else ''}; set distributed.nproc=1"
                )
            learns = {"training", "play"} & set(plain["workflow"]["steps"])
            if learns and plain["agent"]["precision"] == "mixed" and device == "cpu":
                raise RefusedError(
                    "agent.precision=mixed: the libraries do it on CUDA only; set agent.precision=float32"
                )
            from benchmark_app.execution.make import holds_engine, make_execution_env
            from benchmark_app.execution.served.client import ServerRefusal
            from benchmark_app.physics import UnsupportedSceneError, load_engine

            here = holds_engine(plain["execution"]["name"], plain["task"]["module"])
            engine = load_engine(name) if here else None
            if with_framework:
                from benchmark_app.frameworks.registry import load_adapter

                self._adapter = load_adapter(plain["framework"]["module"], world_size)
        with self._phases.phase("task_config"):
            from benchmark_app.checkpoint_card import require_names

            settings = self.read_settings()
        with self._phases.phase("app_launch"):
            devices.apply_numerics(settings.threads, settings.numerics)
            if engine is not None:
                engine.launch(device)
            if self.takes:  # before the scene is built, by a renderer that the task itself may not have
                from benchmark_app.rendering import launch_renderer
                from benchmark_app.video_settings import video_renderer

                launch_renderer(video_renderer(settings), device)
            from benchmark_app.envs.kernel_cache import KernelCache

            self._cache = cache = KernelCache()
        with self._phases.phase("env_creation"), cache.repairing():
            physics = settings.physics.keywords()
            try:
                env = make_execution_env(
                    settings.task,
                    name,
                    settings.num_envs,
                    device,
                    physics,
                    settings.execution,
                    rendering=settings.rendering.name,
                    threads=settings.threads,
                    log_of=self._environment_log,
                    beside=(self.rank, world_size),
                )
            except UnsupportedSceneError as error:
                raise RefusedError(f"task={settings.task.name}: {error}") from error
            except ServerRefusal as error:
                raise RefusedError(f"execution={settings.execution.name}: {error}") from error
            self._env = env
            require_names(settings, env)
            self.timing = Timing(settings.profiling.mode, devices.drain_of(device))
            if self.timing.simulation is not None:
                env.set_simulation_watch(self.timing.simulation)
            # Only an environment in this very process has one: what another draws is in its steps.
            if (renderer := getattr(env, "renderer", None)) is not None:
                self.timing.watch_renderer(renderer)
            if settings.nan_guard:
                from benchmark_app.envs.nan_guard import NanGuard

                guard = NanGuard(
                    self.directory,
                    physics=name,
                    physics_settings=physics,
                    on_dump=lambda path: self.extra(nan_dump=str(path)),
                )
                env.set_nan_guard(guard)
        with self._phases.phase("first_step"), cache.repairing():
            import torch

            env.seed(self.seed)
            env.reset()
            env.step(torch.zeros((settings.num_envs, *env.action_space.shape), device=device))
        compiled = cache.compiled + env.kernels_compiled
        extra: dict[str, Any] = {
            "device": device,
            "kernel_cache": "cold" if compiled else "warm",
            "kernel_cache_dir": str(cache.folder),
            "kernel_modules_compiled": compiled,
        }
        if reason:
            extra["device_reason"] = reason
        self.journal.append(
            WorkerFacts(t=time.monotonic(), device=device, cuda_devices=devices.cuda_devices(), extra=extra)
        )
        if with_framework:
            self.extra(framework_version=_version(settings.framework.distribution))
        self.settle()
        diagnostics = env.get_backend_runtime_diagnostics()
        self.journal.append(Diagnostics(t=time.monotonic(), values=diagnostics))
        self._name_server(diagnostics)
        # What start-up made stays for good: no collection needs to look at it again, in any library's loop.
        gc.freeze()
        gc.enable()
        # The first step belonged to start-up: what is measured begins from a fresh, seeded environment.
        env.seed(self.seed)
        env.reset()
        env.drain_episodes()
        return env

    def _name_server(self, diagnostics: dict[str, Any]) -> None:
        """Record what a server computes with; the versions in the bundle are those of this interpreter."""
        for process in diagnostics.get("processes", []):
            if "engine" in process:
                engine = ", ".join(f"{name} {version}" for name, version in process["engine"].items())
                self.extra(served_engine=engine, served_python=process["python"])

    @staticmethod
    def _needs_cuda(plain: dict[str, Any]) -> bool:
        """Whether the library's ranks can only meet on CUDA; where no device was named, the parent could not know."""
        from benchmark_app.frameworks.registry import load_translation

        translation = load_translation(plain["framework"]["module"])
        return translation.DISTRIBUTED[plain["agent"]["algorithm"]] == "cuda"

    @property
    def adapter(self) -> Adapter:
        """The RL library, once `open` imported it."""
        assert self._adapter is not None, "open(with_framework=True) loads the library"
        return self._adapter

    @property
    def native_config(self) -> Config:
        """The library's own configuration: the shared description translated, native settings put in."""
        from benchmark_app.frameworks.mapping import override
        from benchmark_app.frameworks.registry import load_translation

        framework = self.settings.framework
        return override(load_translation(framework.module).translate(self.settings.agent), framework.native)

    def settle(self) -> None:
        """Set how torch computes, again after anything that may have set it otherwise; record what torch says."""
        from .device import apply_numerics

        self.extra(**apply_numerics(self.settings.threads, self.settings.numerics))

    def loop_started(self, steps_per_iteration: int, warmup: int | str, least: int = 0) -> None:
        """Record that what is counted in iterations begins.

        Args:
            steps_per_iteration: Environment steps of one.
            warmup: Leading iterations that enter no rate and no time, or `"auto"`.
            least: How many these are at least where they are detected.
        """
        from benchmark_app.settings import AUTO

        detect = warmup == AUTO
        started = LoopStarted(
            t=time.monotonic(),
            steps_per_iteration=steps_per_iteration,
            warmup_iterations=least if detect else int(warmup),
            measurement_mode=self.timing.mode,
            detect_warmup=detect,
        )
        self.journal.append(started)

    @contextmanager
    def watched(self, warmup: int | str) -> Iterator[Callable[[], None]]:
        """Run the loop under the profiler that was asked for, if any.

        Args:
            warmup: Leading iterations that a trace leaves out; `"auto"`: two.

        Yields:
            What to call after every iteration, outside of everything that is timed.
        """
        profiling = self.settings.profiling
        path = self.directory / artefact(profiling.tool, self._spec["workflow"])
        skip = warmup if isinstance(warmup, int) else 2
        cuda = self._env is not None and self._env.device.type == "cuda"
        tool = NONE if self.rank else profiling.tool
        with watched(tool, path, skip=skip, window=profiling.window, cuda=cuda) as step:
            yield step

    def check_determinism(self) -> None:
        """Measure whether the environment gives the same twice, where that was asked for; its state is lost.

        Raises:
            RuntimeError: The environment failed meanwhile.
        """
        if not self.settings.profiling.check_determinism or self.rank:
            return
        from .determinism import measure

        assert self._env is not None, "open() made it"
        try:
            found = measure(self._env, self.settings.seed)
        except Exception as error:
            raise RuntimeError(f"profiling.check_determinism: with random actions, {error}") from error
        self.extra(**found.extra())

    def kernel_loads(self) -> int:
        """Kernel modules this process, and those that hold its environments, have compiled or loaded so far."""
        elsewhere = 0 if self._env is None else self._env.kernel_loads
        return elsewhere + (0 if self._cache is None else self._cache.loads)

    def _environment_log(self, number: int) -> Path:
        """File for the output of a process that holds environments."""
        return Path(self._spec["environment_logs"][number])

    def extra(self, **values: bool | int | float | str) -> None:
        """Record scalars for the bundle's `extra`."""
        self.journal.append(Extra(t=time.monotonic(), values=values))

    def count_warnings(self) -> None:
        """Record how often the engine counted each warning that means wrong physics."""
        if self._env is not None:
            counts = self._env.backend.warning_counts()
            self.extra(**{f"engine_warnings.{name}": count for name, count in counts.items() if count})

    def close(self) -> None:
        """Release the environment and its engine."""
        if self._env is not None:
            self._env.close()
