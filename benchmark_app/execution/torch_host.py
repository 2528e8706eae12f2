"""A host of a `TorchEnv`: an engine's rows, perhaps a part of more."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.kernel_cache import KernelCache
from benchmark_app.envs.make import make_env
from benchmark_app.envs.nan_guard import NanGuard, versions
from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.profiling.worker.timing import SimulationShare

from .description import Board, Description, Group
from .host import EnvHost


class TorchHost(EnvHost):
    """Steps a `TorchEnv` through a board.

    Args:
        env: The environment, not yet started. The host closes it.
        first_row: Number of its first row, where it is a part of more.
        total_rows: Rows in all; None: its own.
        physics: Name of the engine.
        physics_settings: The engine's own settings.
        cache: The process's kernel cache, for counting what is loaded; None: nothing is counted.
    """

    def __init__(
        self,
        env: TorchEnv,
        first_row: int = 0,
        total_rows: int | None = None,
        *,
        physics: str = "",
        physics_settings: dict[str, Any] | None = None,
        cache: KernelCache | None = None,
    ) -> None:
        self._env, self._cache = env, cache
        self.rows = env.num_envs
        env.number_rows(first_row, total_rows or env.num_envs)
        self.description = describe(env, physics, physics_settings or {})
        self._share: SimulationShare | None = None
        self._guard: NanGuard | None = None
        self._reporting = False
        # The number of the step, and how many episodes finished in it, of those not drained yet.
        self._tick = 0
        self._finished: deque[tuple[int, int]] = deque()

    @property
    def board(self) -> Board:
        """Where a step is told."""
        return self._board

    @board.setter
    def board(self, board: Board) -> None:
        self._board = board
        with torch.inference_mode(False):
            tensors = {name: torch.from_numpy(array) for name, array in board.arrays.items()}
        self._actions = tensors["actions"]
        self._env.set_copy(lambda name, tensor: tensors[name].copy_(tensor))

    def step(self) -> None:
        """Take a step; see `EnvHost.step`."""
        actions = self._actions
        state = self._env.step(actions if self._env.device.type == "cpu" else actions.to(self._env.device))
        self._tick += 1
        self._tell(state)
        board = self._board
        if state.final_mask is not None or "frozen" in state.info:  # else no row ended
            self._count_ended(state)
        if self._share is not None:
            seconds, calls = self._share.take()
            board.tell(simulation_s=seconds, simulation_calls=calls)

    def _count_ended(self, state: TorchEnvState) -> None:
        board = self._board
        flags = board["final_mask"] if state.final_mask is not None else board["terminated"] | board["truncated"]
        if ended := int(np.count_nonzero(flags)):
            self._finished.append((self._tick, ended))

    def _tell(self, state: TorchEnvState) -> None:
        """Put on the board what of a state is not there yet, and say what is."""
        board, info = self._board, state.info
        if "frozen" in info:
            board["frozen"][:] = info["frozen"].cpu().numpy()
        if self._reporting and "metrics" in info:
            self._report(info)
        board.tell(
            has_final=state.final_observation is not None,
            has_frozen="frozen" in info,
            kernel_loads=0 if self._cache is None else self._cache.loads,
        )

    def _report(self, info: dict[str, Any]) -> None:
        if "is_success" in info:
            self._board["is_success"][:] = info["is_success"].cpu().numpy()
        for part in ("metrics", "reward_terms"):
            for column, values in enumerate(info[part].values()):
                self._board[part][:, column] = values.cpu().numpy()
        self._board.tell(has_success="is_success" in info)

    def blocked(self) -> list[int]:
        """Rows that ended while autoreset was off, by the numbers messages name."""
        env = self._env
        return [env._first_row + row for row in env._waiting.tolist()] if env._must_reset() else []

    def do_init(self) -> None:
        """Start an episode in every row."""
        self._tell(self._env.init_state())

    def do_reset(self, rows: Any) -> None:
        """Start a new episode in some rows, or in all."""
        env = self._env
        env.reset(None if rows is None else torch.from_numpy(rows).to(env.device))
        assert env.state is not None, "a reset leaves a state"
        self._tell(env.state)

    def do_autoreset(self, enabled: bool) -> None:
        """See `TorchEnv.set_autoreset`."""
        self._env.set_autoreset(enabled)

    def do_reporting(self, enabled: bool) -> None:
        """See `TorchEnv.set_reporting`."""
        self._env.set_reporting(enabled)
        self._reporting = enabled

    def do_watch(self, enabled: bool) -> None:
        """Take the engine's share of each step."""
        device = self._env.device
        self._share = SimulationShare(time.perf_counter if device.type == "cpu" else _drained(device))
        self._env.set_simulation_watch(self._share if enabled else None)
        if not enabled:
            self._share = None

    def do_guard(self, settings: dict[str, Any] | None) -> None:
        """See `TorchEnv.set_nan_guard`."""
        guard = None
        if settings is not None:
            guard = NanGuard(Path(settings.pop("directory")), **settings)
        self._env.set_nan_guard(guard)
        self._guard = guard

    def do_seed(self, seed: int) -> None:
        """See `TorchEnv.seed`."""
        self._env.seed(seed)

    def do_seed_episodes(self, seed: int, count: int | None) -> None:
        """See `TorchEnv.seed_episodes`."""
        self._env.seed_episodes(seed, count)

    def do_drain(self) -> dict[str, Any]:
        """See `EnvHost.do_drain`."""
        found = self._env.drain_episodes()
        ticks = np.repeat(*np.array(self._finished, dtype=np.int64).reshape(-1, 2).T)
        self._finished.clear()
        return {
            "tally": found.tally,
            "measured": found.measured,
            "succeeded": found.succeeded,
            "rows": found.rows.numpy(),
            "ticks": ticks[len(ticks) - len(found) :],
            "dropped": found.dropped,
        }

    def do_carried(self) -> dict[str, Any]:
        """The training state as it is."""
        env = self._env
        parts = {"env": env._carried(), "backend": env.backend.export_state(), "task": env.task_state()}
        return {part: _arrays(tensors) for part, tensors in parts.items()}

    def do_export(self) -> dict[str, Any]:
        """See `TorchEnv.export_training_state`."""
        state = self._env.export_training_state()
        return {name: _arrays(part) if isinstance(part, dict) else part for name, part in state.items()}

    def do_import(self, state: dict[str, Any]) -> None:
        """See `TorchEnv.import_training_state`."""
        given = {
            name: {key: torch.from_numpy(array) for key, array in part.items()} if isinstance(part, dict) else part
            for name, part in state.items()
        }
        self._env.import_training_state(given)
        self._finished.clear()
        assert self._env.state is not None, "an import leaves a state"
        self._tell(self._env.state)

    def do_diagnostics(self) -> dict[str, Any]:
        """See `EnvHost.do_diagnostics`."""
        dump = None if self._guard is None or self._guard.path is None else str(self._guard.path)
        return {
            "facts": self._env.get_backend_runtime_diagnostics(),
            "kernels_compiled": 0 if self._cache is None else self._cache.compiled,
            "nan_dump": dump,
        }

    def do_warnings(self) -> dict[str, Any]:
        """See `SimBackend.warning_counts`."""
        return {"counts": self._env.backend.warning_counts()}

    def do_robot_state(self) -> dict[str, Any]:
        """See `SimBackend.robot_state`."""
        return {"state": _arrays(self._env.backend.robot_state)}

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def build(
    cfg: EnvCfg,
    rows: int,
    physics: str,
    physics_settings: dict[str, Any] | None,
    device: str,
    first_row: int,
    total_rows: int | None,
    threads: int,
    rendering: str | None,
) -> TorchHost:
    """Build a task's environment in an engine, in a process that has none yet; see `hosting.make_host`."""
    torch.set_num_threads(threads)
    cache = KernelCache()
    with cache.repairing():
        env = make_env(cfg, physics, rows, device, physics_settings, rendering)
    return TorchHost(env, first_row, total_rows, physics=physics, physics_settings=physics_settings, cache=cache)


def describe(env: TorchEnv, physics: str, physics_settings: dict[str, Any]) -> Description:
    """What a `TorchEnv` is, for whoever steps it from afar."""
    space = env.action_space
    return Description(
        task=asdict(env.cfg),
        conventions=env.cfg.conventions(),
        simulator=physics or type(env.backend).__name__,
        simulator_settings=physics_settings,
        groups={name: Group(shape=(width,)) for name, width in env.obs_groups_spec.items()}
        | {name: Group(shape=spec.shape, dtype=spec.dtype) for name, spec in env.image_groups.items()},
        action_low=tuple(space.low.tolist()),
        action_high=tuple(space.high.tolist()),
        reward_terms=env.reward_terms,
        metrics=env.metrics,
        joint_names=tuple(env.backend.joint_names),
        capabilities=env.backend.capabilities,
        versions=versions(),
    )


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _drained(device: torch.device) -> Any:
    def now() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return now
