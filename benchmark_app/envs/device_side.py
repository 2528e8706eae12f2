"""What a `TorchEnv` keeps on the device, and what a step and a reset launch there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
import warp as wp

from benchmark_app.physics.base import SimBackend, name_rows

from .cfg import EnvCfg
from .checks import HostReport, require_tensor
from .frozen import FrozenRows
from .kernels import begin_episodes, judge_first, judge_step
from .numbering import TALLY
from .state import Copy, TorchEnvState, fresh
from .task import TaskHooks
from .training_state import export_tensors, import_tensors

if TYPE_CHECKING:
    from .nan_guard import NanGuard
    from .torch_env import TorchEnv


class DeviceSide(TaskHooks):
    """The part of a `TorchEnv` that may be recorded: its tensors, always updated in place, and the bodies using them.

    Args:
        cfg: Task settings.
        backend: The engine.

    Attributes:
        control: Joint efforts `[N, D]`, or target positions (`SceneSpec.actuator`), for `apply_action` to fill.
        terms: Terms of the reward `[N, T]`, for `update_state` to fill where the task names its `reward_terms`.
    """

    # Loaded and compiled on its behalf in other processes; those of this one are for its kernel cache to count.
    kernel_loads: int = 0
    kernels_compiled: int = 0

    def __init__(self, cfg: EnvCfg, backend: SimBackend) -> None:
        self._cfg = cfg
        self._backend = backend
        self._num_envs = backend.num_envs
        self._first_row, self._total_rows = 0, backend.num_envs  # `number_rows`
        self._device = backend.device
        self._on_cpu = backend.device.type == "cpu"
        self._freezing = False  # rows may be frozen, which takes another body than when all of them move
        self._guard: NanGuard | None = None
        self._copy: Copy = fresh  # what a caller gets
        self._watch: Callable[[Callable[[], None]], None] | None = None  # runs the engine's part of a step, apart
        # What runs a step and a restart, by whether rows may be frozen; recorded when first needed.
        self._runners: dict[bool, tuple[Callable[[], None], Callable[[], None]]] = {}
        self._run_step: Any = None
        self._run_restart: Any = None
        self._warn_if_unrecorded()
        wp.init()
        with torch.inference_mode(False):  # a library may step under inference mode now and without it later
            self._allocate()

    def _warn_if_unrecorded(self) -> None:
        name = type(self).__name__
        if self.recordable and "recordable" not in vars(type(self)):
            warnings.warn(
                f"{name}: its hooks run in Python at every step, since `recordable` is not inherited. If they launch "
                f"nothing but Warp kernels, set it in {name} too: steps may then take a fraction of the time",
                stacklevel=2,
            )

    def _allocate(self) -> None:
        n, device = self._num_envs, self._device
        widths = [self.num_actions, len(self._backend.joint_names), *self.obs_groups_spec.values(), 1]
        # All that must be finite, one after the other, so that one pass can judge it.
        self._judged = torch.zeros(n * sum(widths), device=device)
        actions, control, *groups, reward = torch.split(self._judged, [n * width for width in widths])
        self._actions = actions.view(n, self.num_actions)
        self.control = control.view(n, -1)
        self._flags = torch.zeros(2, n, dtype=torch.bool, device=device)
        self._steps = torch.zeros(n, dtype=torch.int64, device=device)
        obs = {name: group.view(n, -1) for name, group in zip(self.obs_groups_spec, groups, strict=True)}
        self._work = TorchEnvState(obs, reward, self._flags[0], self._flags[1], {"steps": self._steps})
        self._views = [reward, self._work.terminated, *obs.values()]
        self._shapes = [view.shape for view in self._views]
        self.terms = torch.zeros(n, len(self.reward_terms), device=device)
        self._returns = torch.zeros(n, device=device)
        self._largest = torch.zeros(n, device=device)  # reward of a single step, so far in the episode
        self._term_sums = torch.zeros_like(self.terms)
        self._rows = torch.zeros(n, dtype=torch.bool, device=device)  # finished, or to be reset
        self._seed = torch.zeros(1, dtype=torch.int32, device=device)
        self._episode = torch.zeros(n, dtype=torch.int32, device=device)
        self._uniform = torch.zeros(n, self.num_reset_randoms, device=device)
        # What is recorded of an episode that ended: one line of `episodes.TALLY` each, then the sum of each term.
        self._tally = torch.zeros(len(TALLY) + len(self.reward_terms), n, dtype=torch.float64, device=device)
        # What the host reads each step: whether each row finished, then the alarms, 0 when all is well.
        self._report = torch.zeros(n + 3, device=device)
        self._host = HostReport(self._report, num_envs=n)
        self._frozen = FrozenRows(self)

    @property
    def device(self) -> torch.device:
        """Device of every tensor."""
        return self._device

    @property
    def cfg(self) -> EnvCfg:
        """Task settings."""
        return self._cfg

    @property
    def backend(self) -> SimBackend:
        """The engine."""
        return self._backend

    @property
    def num_envs(self) -> int:
        """Rows N."""
        return self._num_envs

    def number_rows(self, first: int, total: int) -> None:
        """Be a part of more rows, the others of which are other environments: episodes are then dealt to all of them.

        Call it before the first episodes begin. Error messages and the engine's faults name rows by these numbers.

        Args:
            first: Number of the first row here.
            total: Rows in all.

        Raises:
            ValueError: These rows are not among so many.
        """
        if not 0 <= first <= total - self._num_envs:
            raise ValueError(f"first={first}, total={total}: {self._num_envs} rows from there on are not among them")
        self._first_row, self._total_rows = first, total
        self._backend.first_row = first
        self._runners.clear()  # the number of rows is part of what is recorded
        self._number_episodes()

    def _number_episodes(self) -> None:
        """Let the next episode of every row be its first."""
        first = self._first_row - self._total_rows
        torch.arange(first, first + self._num_envs, out=self._episode)

    def _named(self, rows: list[int]) -> str:
        """Rows as a message names them."""
        return name_rows([self._first_row + row for row in rows])

    def launch(self, kernel: Any, dim: int, *args: torch.Tensor | float | bool) -> None:
        """Launch a Warp kernel of `dim` threads; torch tensors among its arguments are passed by reference."""
        inputs = [wp.from_torch(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
        wp.launch(kernel, dim=dim, inputs=inputs, device=str(self._device))

    def _carried(self) -> dict[str, torch.Tensor]:
        """Everything a later step depends on but the engine and the task's own buffers."""
        work = self._work
        return {
            "actions": self._actions,
            "control": self.control,
            **{f"observation.{name}": group for name, group in work.obs.items()},
            "reward": work.reward,
            "terminated": work.terminated,
            "truncated": work.truncated,
            "steps": self._steps,
            "returns": self._returns,
            "largest_reward": self._largest,
            "term_sums": self._term_sums,
            "frozen": self._frozen.mask,
            "seed": self._seed,
            "episode": self._episode,
        }

    def _prepare(self) -> None:
        """Have what runs a step and a restart at hand, recorded where task and engine allow it."""
        if self._freezing not in self._runners:
            # An engine may run a body once to record it. It undoes that for itself only.
            live = self._carried() | {"rows": self._rows, "report": self._report}
            live |= {f"task.{name}": tensor for name, tensor in self.task_state().items()}
            before = export_tensors(live)
            self._runners[self._freezing] = self._step_runner(), self._runner(self._restart_body)
            import_tensors(live, before)
            if self._guard is not None:
                self._guard.clear()
        self._run_step, self._run_restart = self._runners[self._freezing]

    def _step_runner(self) -> Callable[[], None]:
        """What runs a step: as one, or in three parts where the engine's is watched. What is launched is the same."""
        watch = self._watch
        if watch is None:
            return self._runner(self._step_body)
        act, simulate, judge = map(self._runner, (self._act_body, self._simulate_body, self._judge_body))

        def run_apart() -> None:
            act()
            watch(simulate)
            judge()

        return run_apart

    def _runner(self, body: Callable[[], None]) -> Callable[[], None]:
        """What runs a body: one recorded graph where task and engine allow it."""
        run = self._backend.record(body) if vars(type(self)).get("recordable") else body
        if self._on_cpu:
            return run

        def run_on_torch_stream() -> None:
            with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(self._device))):
                run()

        return run_on_torch_stream

    def _step_body(self) -> None:
        self._act_body()
        self._simulate_body()
        self._judge_body()

    def _act_body(self) -> None:
        control = self.control
        frozen = self._frozen if self._freezing else None
        if frozen is not None:
            frozen.rest(self._actions)
        chosen = self.apply_action(self._actions, self._work)
        if chosen is not control:
            require_tensor("control", chosen, tuple(control.shape), self._device)
            control.copy_(chosen)
        if frozen is not None:
            frozen.rest(control)
        if self._guard is not None:
            self._guard.before(cast("TorchEnv", self))

    def _simulate_body(self) -> None:
        self._backend.step(self.control)

    def _judge_body(self) -> None:
        work = self._work
        frozen = self._frozen if self._freezing else None
        if frozen is not None:
            frozen.put_back()
        self._require_in_place(self.update_state(work))
        if frozen is not None:
            frozen.silence()
            frozen.settle()
        self.launch(
            judge_step,
            self._num_envs,
            self._judged,
            work.reward,
            self.terms,
            work.terminated,
            self._episode,
            self._backend.fault.view(1),
            self._cfg.max_episode_steps,
            self._steps,
            self._returns,
            self._largest,
            self._term_sums,
            work.truncated,
            self._rows,
            self._tally,
            self._report,
        )
        if frozen is not None:
            frozen.freeze()

    def _restart_body(self) -> None:
        self.launch(
            begin_episodes,
            self._num_envs,
            self._rows,
            self._seed,
            self._total_rows,
            self._episode,
            self._steps,
            self._returns,
            self._term_sums,
            self._uniform,
        )
        self._backend.reset_rows(self._rows, *self.initial_state(self._rows, self._uniform))
        self.observe(self._work)
        self._require_in_place(self._work)
        if self._freezing:
            self._frozen.settle()
        for group in self._work.obs.values():
            self.launch(judge_first, self._num_envs, self._rows, group, self._report)

    def _require_in_place(self, state: TorchEnvState) -> None:
        found = [state.reward, state.terminated, *state.obs.values()]
        if len(found) != len(self._views) or any(a is not b for a, b in zip(found, self._views, strict=True)):
            raise ValueError(
                "update_state and observe must fill state.obs, state.reward and state.terminated in place; "
                "a tensor was replaced"
            )
        # `out=` of another shape resizes a view, over what lies behind it.
        names = ["reward", "terminated", *(f"observation '{name}'" for name in self.obs_groups_spec)]
        for name, view, shape in zip(names, self._views, self._shapes, strict=True):
            if view.shape != shape:
                raise ValueError(f"{name}: expected shape {list(shape)}, the task made it {list(view.shape)}")
