"""The one environment every library trains on: lifecycle, autoreset, checks and episode accounting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmark_app.physics.base import SimBackend, name_rows

from .cfg import EnvCfg
from .checks import bad_rows, read_host, require_tensor
from .episodes import EpisodeLog, Episodes, EpisodeStarts
from .state import TorchEnvState

if TYPE_CHECKING:
    from gymnasium.spaces import Box


class TorchEnv(ABC):
    """N environments stepped together, with SAME_STEP autoreset.

    A step runs in this order: `apply_action`, the engine, `update_state`, the time limit, one host read, the reset of
    finished rows. The host read carries at once whether every action, control, observation and reward was finite,
    whether the engine is sound, and which rows finished. Nothing is ever sanitised.

    **For task authors.** Subclass it, set the three class attributes, and implement `apply_action`, `observe`,
    `update_state`, `initial_state` and, where the task knows success, `episode_success`. A task reads the engine
    (`self.backend.joint_pos`, …) and buffers of its own, never a state returned earlier: that one belongs to the
    caller, who may have changed it. Return new tensors, not buffers you write again. Own buffers are created in the
    constructor and updated in place; rows are cleared in `initial_state`.

    Args:
        cfg: Task settings.
        backend: The engine, simulating `num_envs` rows. The environment closes it.
        num_envs: Rows N.
        device: Torch device of every tensor; the engine's.

    Raises:
        ValueError: The engine's rows or device differ from those asked for.

    Attributes:
        num_actions: Actions per row.
        obs_groups_spec: Observation group to its dimension; `"policy"` always, `"critic"` where a task has it.
        num_reset_randoms: Random numbers a row's initial state needs.
    """

    num_actions: int
    obs_groups_spec: dict[str, int]
    num_reset_randoms: int

    def __init__(self, cfg: EnvCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu") -> None:
        if backend.num_envs != num_envs:
            raise ValueError(f"num_envs={num_envs}: the engine simulates {backend.num_envs} rows")
        if torch.device(device).type != backend.device.type:
            raise ValueError(f"device={device}: the engine is on {backend.device}")
        self._cfg = cfg
        self._backend = backend
        self._num_envs = num_envs
        self._device = backend.device
        self._state: TorchEnvState | None = None
        self._autoreset = True
        self._closed = False
        self._max_steps = cfg.max_episode_steps
        self._action_shape = (num_envs, self.num_actions)
        self._control_shape = (num_envs, len(backend.joint_names))
        self._obs_shapes = {name: (num_envs, dim) for name, dim in self.obs_groups_spec.items()}
        self._row_shape = (num_envs,)
        self._starts = EpisodeStarts(num_envs, self.num_reset_randoms, self._device)
        self._log = EpisodeLog(capacity=max(65536, num_envs))
        self._waiting = np.zeros(0, dtype=np.int64)
        self._just_reset = np.zeros(0, dtype=np.int64)
        # Created once, outside inference mode, and only ever updated in place: a library may step under
        # `torch.inference_mode()` now and without it later.
        with torch.inference_mode(False):
            # Of the running episodes: control steps taken (exact up to 2**24) and rewards summed.
            self._tally = torch.zeros(2, num_envs, device=self._device)
            self._steps, self._returns = self._tally
            # What the host reads each step: whether each row finished (0 or 1), and then the alarms, 0 when all is
            # well: the step's finite verdict, the engine's fault, one verdict per observation group after a reset.
            groups = len(self.obs_groups_spec)
            self._report = torch.zeros(num_envs + 2 + groups, device=self._device)
            self._done_report, self._verdict, self._fault_report, *self._reset_verdicts = self._report.split_with_sizes(
                [num_envs] + [1] * (2 + groups)
            )
            self._verdict = self._verdict[0]
            self._reset_verdicts = [verdict[0] for verdict in self._reset_verdicts]
            # A dot product with zeros is 0 if every number was finite, and NaN otherwise.
            width = self.num_actions + len(backend.joint_names) + sum(self.obs_groups_spec.values()) + 1
            self._zeros = torch.zeros(num_envs * width, device=self._device)

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

    @property
    def state(self) -> TorchEnvState | None:
        """The last state returned; None before the first `init_state` or `reset`."""
        return self._state

    @property
    def episode_steps(self) -> torch.Tensor:
        """float32 `[N]`: control steps of the current episode, the one being taken included. Read it, never write it."""
        return self._steps

    @property
    def observation_space(self) -> Box:
        """Space of one row of `obs["policy"]`."""
        from gymnasium.spaces import Box

        return Box(-np.inf, np.inf, (self.obs_groups_spec["policy"],), np.float32)

    @property
    def action_space(self) -> Box:
        """Space of one row of actions. Values outside are allowed; the task clamps them."""
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (self.num_actions,), np.float32)

    @property
    def produces_completion_receipts(self) -> bool:
        """Whether a step returns before the engine is done; False: outputs are ordered when `step` returns."""
        return self._backend.capabilities.completion_receipts

    def get_backend_runtime_diagnostics(self) -> dict[str, Any]:
        """Plain-JSON facts about the engine. Cold path."""
        return {
            "backend_type": type(self._backend).__name__,
            "available": True,
            "diagnostics": self._backend.diagnostics(),
        }

    def set_autoreset(self, enabled: bool) -> None:
        """Reset finished rows within the step (the default), or leave them to the caller.

        Without autoreset the returned observations are the terminal ones, `final_observation` stays None, and the
        finished rows must be passed to `reset` before the next step.
        """
        self._autoreset = enabled

    def seed(self, seed: int) -> None:
        """Start the stream of random initial states anew. It changes rows when they are reset next."""
        self._starts.seed(seed)

    def seed_episodes(self, seed: int) -> None:
        """Evaluate: number the episodes, and let each start from numbers of its own.

        Row r plays the episodes r, r+N, r+2N, …; the initial state of each depends on the seed and its number only,
        whatever N. Takes effect as rows are reset: follow it with `init_state()`. `seed` ends it.
        """
        self._starts.seed_episodes(seed)

    def drain_episodes(self) -> Episodes:
        """Episodes finished since the last call, in order. One host read; call it once per iteration."""
        return self._log.drain()

    def init_state(self) -> TorchEnvState:
        """Start an episode in every row.

        Returns:
            The first state: reward 0, nothing terminated, truncated or final.
        """
        self._require_open()
        return self._reset_rows_now(np.arange(self._num_envs))

    def reset(self, env_ids: torch.Tensor | None = None) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Start a new episode in some rows; a running one there is abandoned and not counted.

        Args:
            env_ids: Row indices, int64 `[K]`, each once; None resets all rows. Boolean masks are refused.

        Returns:
            Observation groups and `info` of all N rows.

        Raises:
            TypeError: `env_ids` is not an int64 tensor.
            ValueError: `env_ids` is not 1-D, or has repeated or out-of-range rows.
            RuntimeError: The environment is closed, or only some rows were named before all had a first episode.
        """
        self._require_open()
        if env_ids is None:
            rows = np.arange(self._num_envs)
        else:
            rows = self._checked_rows(env_ids)
            if self._state is None:
                raise RuntimeError("reset(env_ids) before init_state(): no row has an episode yet")
        state = self._reset_rows_now(rows)
        return state.obs, state.info

    def step(self, actions: torch.Tensor) -> TorchEnvState:
        """Take one control step in every row.

        Args:
            actions: float32 `[N, num_actions]` on `device`.

        Returns:
            The outcome, in tensors that are the caller's from here on.

        Raises:
            TypeError: `actions` is not a float32 tensor.
            ValueError: `actions` has the wrong shape or device; or an action, control, observation or reward is not
                finite (the message names the tensor and the rows).
            RuntimeError: The environment is closed or has no state yet, finished rows were not reset (with autoreset
                off), or the engine lost correctness.
        """
        if self._closed or self._state is None or len(self._waiting):
            self._refuse_step()
        require_tensor("actions", actions, self._action_shape, self._device)
        control = self.apply_action(actions, self._state)
        require_tensor("control", control, self._control_shape, self._device)
        self._backend.step(control)
        self._steps.add_(1)

        state = self.update_state(TorchEnvState(obs={}, reward=_UNSET, terminated=_UNSET, truncated=_UNSET))
        self._require_outputs(state)
        done = (self._steps >= self._max_steps).logical_or_(state.terminated)
        state.truncated = done ^ state.terminated
        self._returns.add_(state.reward)

        judged = torch.cat((actions, control, *state.obs.values(), state.reward.unsqueeze(1)), 1)
        torch.dot(judged.view(-1), self._zeros, out=self._verdict)
        self._fault_report.copy_(self._backend.fault)
        self._done_report.copy_(done)
        report = read_host(self._report)
        if report[self._num_envs :].any():  # NaN counts as true
            self._raise_alarm(actions, control, state)
        rows = report.nonzero()[0]
        if len(rows):
            self._finish_rows(state, done, rows)
        state.info["steps"] = self._steps.long()
        self._state = state
        return state

    def close(self) -> None:
        """Close the engine. Calling it twice is harmless."""
        if not self._closed:
            self._closed = True
            self._backend.close()

    # What a task implements.

    @abstractmethod
    def apply_action(self, actions: torch.Tensor, state: TorchEnvState) -> torch.Tensor:
        """Turn actions into joint efforts.

        Args:
            actions: float32 `[N, num_actions]`; not to be written.
            state: The last state returned. It is the caller's by now: its tensors may have been changed.

        Returns:
            Joint efforts, float32 `[N, D]` [N or N·m], held over the control step.
        """

    @abstractmethod
    def observe(self) -> dict[str, torch.Tensor]:
        """Observation groups of all rows as things stand, in new tensors; called again after a reset."""

    @abstractmethod
    def update_state(self, state: TorchEnvState) -> TorchEnvState:
        """Set `obs`, `reward` and `terminated` of the step just taken, in new tensors, and return the state.

        `state.truncated` and the resets are the environment's business.
        """

    @abstractmethod
    def initial_state(self, env_ids: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """First state of the next episode of some rows; the task's own buffers of these rows are cleared here too.

        Args:
            env_ids: Row indices `[K]`, int64.
            uniform: Random numbers `[K, num_reset_randoms]` in [0, 1): the only randomness to use.

        Returns:
            Joint positions and velocities, each `[K, D]`.
        """

    def episode_success(self, state: TorchEnvState, env_ids: torch.Tensor) -> torch.Tensor | None:
        """Whether the episodes that just finished in rows `env_ids` `[K]` succeeded, bool `[K]`.

        Called before the rows are reset. None: the task reports no success.
        """
        return None

    # The lifecycle.

    def _finish_rows(self, state: TorchEnvState, done: torch.Tensor, rows: np.ndarray) -> None:
        """Record the episodes that ended in `rows`, and start the next ones in place."""
        env_ids = torch.from_numpy(rows).to(self._device, non_blocking=True)
        success = self.episode_success(state, env_ids)
        self._log.append(self._tally.index_select(1, env_ids), success, rows, self._starts.index_of(rows))
        if not self._autoreset:
            self._waiting = rows
            return
        state.final_observation, state.final_mask = state.obs, done
        self._restart(env_ids, rows)
        state.obs = self.observe()
        for name, verdict in zip(self.obs_groups_spec, self._reset_verdicts, strict=True):
            first = state.obs[name].view(-1)
            torch.dot(first, self._zeros[: len(first)], out=verdict)
        self._just_reset = rows

    def _restart(self, env_ids: torch.Tensor, rows: np.ndarray) -> None:
        joint_pos, joint_vel = self.initial_state(env_ids, self._starts.draw(rows))
        self._backend.reset_rows(env_ids, joint_pos, joint_vel)
        self._tally.index_fill_(1, env_ids, 0.0)

    def _reset_rows_now(self, rows: np.ndarray) -> TorchEnvState:
        """Reset outside a step: the state is checked at once, since nothing here is in a hurry."""
        self._restart(torch.from_numpy(rows).to(self._device), rows)
        self._waiting = np.setdiff1d(self._waiting, rows)
        state = TorchEnvState(
            obs=self.observe(),
            reward=torch.zeros(self._num_envs, device=self._device),
            terminated=torch.zeros(self._num_envs, dtype=torch.bool, device=self._device),
            truncated=torch.zeros(self._num_envs, dtype=torch.bool, device=self._device),
            info={"steps": self._steps.long()},
        )
        self._require_outputs(state)
        for name, obs in state.obs.items():
            if bad := bad_rows(obs):
                raise ValueError(f"observation '{name}' not finite in {name_rows(bad)} after a reset")
        self._state = state
        return state

    def _require_outputs(self, state: TorchEnvState) -> None:
        if state.obs.keys() != self._obs_shapes.keys():
            raise ValueError(f"observation groups {sorted(state.obs)}: expected {sorted(self._obs_shapes)}")
        for name, shape in self._obs_shapes.items():
            require_tensor(f"observation '{name}'", state.obs[name], shape, self._device)
        require_tensor("reward", state.reward, self._row_shape, self._device)
        require_tensor("terminated", state.terminated, self._row_shape, self._device, torch.bool)

    def _checked_rows(self, env_ids: torch.Tensor) -> np.ndarray:
        if not isinstance(env_ids, torch.Tensor) or env_ids.dtype is not torch.int64:
            found = env_ids.dtype if isinstance(env_ids, torch.Tensor) else type(env_ids).__name__
            raise TypeError(f"env_ids: expected row indices as an int64 tensor, got {found}")
        if env_ids.ndim != 1:
            raise ValueError(f"env_ids: expected shape [K], got {list(env_ids.shape)}")
        rows = env_ids.cpu().numpy()
        if len(rows) and (rows.min() < 0 or rows.max() >= self._num_envs):
            outside = rows[(rows < 0) | (rows >= self._num_envs)].tolist()
            raise ValueError(f"env_ids: {name_rows(outside)} out of range; there are {self._num_envs} rows, from 0")
        if len(np.unique(rows)) != len(rows):
            raise ValueError("env_ids: a row is named more than once")
        return rows

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed")

    def _refuse_step(self) -> None:
        self._require_open()
        if self._state is None:
            raise RuntimeError("step() before init_state(): no row has an episode yet")
        raise RuntimeError(f"{name_rows(self._waiting.tolist())} finished and must be reset before the next step")

    def _raise_alarm(self, actions: torch.Tensor, control: torch.Tensor, state: TorchEnvState) -> None:
        """Say which tensor is to blame. In the order of the step, so that the cause is named, not its consequence."""
        unsound = self._backend.describe_fault() if float(self._backend.fault) != 0.0 else ""
        for name, verdict in zip(self.obs_groups_spec, self._reset_verdicts, strict=True):
            if float(verdict) != 0.0:
                restarted = name_rows(self._just_reset.tolist())
                raise ValueError(f"observation '{name}' not finite after the reset of {restarted} one step ago")
        suspects = {"actions": actions, "control": control}
        suspects |= {f"observation '{name}'": obs for name, obs in state.obs.items()}
        suspects["reward"] = state.reward
        for name, tensor in suspects.items():
            if bad := bad_rows(tensor):
                raise ValueError(f"{name} not finite in {name_rows(bad)}" + (f"; {unsound}" if unsound else ""))
        raise RuntimeError(unsound)


_UNSET = torch.empty(0)
"""Stands for what `update_state` must set; its shape matches nothing."""
