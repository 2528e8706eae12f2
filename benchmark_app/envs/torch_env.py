"""The one environment every library trains on: lifecycle, autoreset, checks and episode accounting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import warp as wp

from benchmark_app.physics.base import SimBackend, name_rows

from .cfg import EnvCfg
from .checks import HostReport, bad_rows, checked_rows, require_tensor
from .episodes import EpisodeLog, Episodes, stream_seed
from .kernels import begin_episodes, judge_first, judge_step
from .state import TorchEnvState
from .task import TaskHooks

if TYPE_CHECKING:
    from gymnasium.spaces import Box


class TorchEnv(TaskHooks):
    """N environments stepped together, with SAME_STEP autoreset.

    A step runs in this order: `apply_action`, the engine, `update_state`, the time limit, one host read, the reset of
    finished rows. The host read carries at once whether every action, control, observation and reward was finite,
    whether the engine is sound, and which rows finished. Nothing is ever sanitised.

    A task subclasses it and implements the hooks of `TaskHooks`.

    Args:
        cfg: Task settings.
        backend: The engine, simulating `num_envs` rows. The environment closes it.
        num_envs: Rows N.
        device: Torch device of every tensor; the engine's.

    Raises:
        ValueError: The engine's rows or device differ from those asked for.

    Attributes:
        control: Joint efforts `[N, D]`, for `apply_action` to fill.
    """

    def __init__(self, cfg: EnvCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu") -> None:
        if backend.num_envs != num_envs:
            raise ValueError(f"num_envs={num_envs}: the engine simulates {backend.num_envs} rows")
        if torch.device(device).type != backend.device.type:
            raise ValueError(f"device={device}: the engine is on {backend.device}")
        self._cfg = cfg
        self._backend = backend
        self._num_envs = num_envs
        self._device = backend.device
        self._on_cpu = backend.device.type == "cpu"
        self._state: TorchEnvState | None = None
        self._autoreset = True
        self._closed = False
        self._log = EpisodeLog(capacity=max(65536, num_envs))
        self._waiting = np.zeros(0, dtype=np.int64)
        self._just_reset = self._waiting
        self._action_shape = (num_envs, self.num_actions)
        wp.init()
        with torch.inference_mode(False):  # a library may step under inference mode now and without it later
            self._allocate()
        self.seed(0)
        self._run_step: Any = None
        self._run_restart: Any = None

    def _allocate(self) -> None:
        """Everything that lives as long as the environment, always updated in place."""
        n, device = self._num_envs, self._device
        widths = [self.num_actions, len(self._backend.joint_names), *self.obs_groups_spec.values(), 1]
        # All that must be finite, one after the other, so that one pass can judge it.
        self._judged = torch.zeros(n * sum(widths), device=device)
        actions, control, *groups, reward = torch.split(self._judged, [n * width for width in widths])
        self._actions = actions.view(self._action_shape)
        self.control = control.view(n, -1)
        self._flags = torch.zeros(2, n, dtype=torch.bool, device=device)
        self._steps = torch.zeros(n, dtype=torch.int64, device=device)
        obs = {name: group.view(n, -1) for name, group in zip(self.obs_groups_spec, groups, strict=True)}
        self._work = TorchEnvState(obs, reward, self._flags[0], self._flags[1], {"steps": self._steps})
        self._views = [reward, self._work.terminated, *obs.values()]
        self._returns = torch.zeros(n, device=device)
        self._rows = torch.zeros(n, dtype=torch.bool, device=device)  # finished, or to be reset
        self._seed = torch.zeros(1, dtype=torch.int32, device=device)
        self._episode = torch.zeros(n, dtype=torch.int32, device=device)
        self._uniform = torch.zeros(n, self.num_reset_randoms, device=device)
        self._tally = torch.zeros(3, n, dtype=torch.float64, device=device)  # length, return, number of the episode
        # What the host reads each step: whether each row finished, then the alarms, 0 when all is well.
        self._report = torch.zeros(n + 3, device=device)
        self._host = HostReport(self._report, num_envs=n)

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
        """Number the episodes anew, for training; it changes rows when they are reset next.

        Row r plays the episodes r, r+N, r+2N, …; the initial state of each depends on the seed and its number only,
        whatever N and whatever the other rows did.
        """
        self._seed_stream("training", seed)

    def seed_episodes(self, seed: int) -> None:
        """The same for evaluation: episodes of another stream, which training never saw. Follow it with `reset()`."""
        self._seed_stream("evaluation", seed)

    def _seed_stream(self, stream: str, seed: int) -> None:
        self._seed.fill_(stream_seed(stream, seed))
        torch.arange(-self._num_envs, 0, out=self._episode)

    def drain_episodes(self) -> Episodes:
        """Episodes finished since the last call, in order. One host read; call it once per iteration."""
        return self._log.drain()

    def init_state(self) -> TorchEnvState:
        """Start an episode in every row.

        Returns:
            The first state: reward 0, nothing terminated, truncated or final.
        """
        self._require_open()
        return self._reset_now(np.arange(self._num_envs))

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
            rows = checked_rows(env_ids, self._num_envs)
            if self._state is None:
                raise RuntimeError("reset(env_ids) before init_state(): no row has an episode yet")
        state = self._reset_now(rows)
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
        if actions.requires_grad:
            raise ValueError("actions: expected no gradients; pass actions.detach()")
        self._actions.copy_(actions)
        self._run_step()
        finished, alarms = self._host.read()
        if any(alarms.tolist()):  # NaN is true
            self._raise_alarm()
        rows = finished.nonzero()[0]
        state = self._snapshot()
        if len(rows):
            self._finish_rows(state, rows)
        state.info["steps"] = self._steps.clone()
        self._state = state
        return state

    def close(self) -> None:
        """Close the engine. Calling it twice is harmless."""
        if not self._closed:
            self._closed = True
            self._backend.close()

    # The lifecycle.

    def _step_body(self) -> None:
        work, backend, control = self._work, self._backend, self.control
        chosen = self.apply_action(self._actions, work)
        if chosen is not control:
            require_tensor("control", chosen, tuple(control.shape), self._device)
            control.copy_(chosen)
        backend.step(control)
        self._require_in_place(self.update_state(work))
        self.launch(
            judge_step,
            self._num_envs,
            self._judged,
            work.reward,
            work.terminated,
            self._episode,
            backend.fault.view(1),
            self._cfg.max_episode_steps,
            self._steps,
            self._returns,
            work.truncated,
            self._rows,
            self._tally,
            self._report,
        )

    def _restart_body(self) -> None:
        self.launch(
            begin_episodes,
            self._num_envs,
            self._rows,
            self._seed,
            self._episode,
            self._steps,
            self._returns,
            self._uniform,
        )
        self._backend.reset_rows(self._rows, *self.initial_state(self._rows, self._uniform))
        self.observe(self._work)
        self._require_in_place(self._work)
        for group in self._work.obs.values():
            self.launch(judge_first, self._num_envs, self._rows, group, self._report)

    def launch(self, kernel: Any, dim: int, *args: torch.Tensor | float | bool) -> None:
        """Launch a Warp kernel of `dim` threads; torch tensors among its arguments are passed by reference."""
        inputs = [wp.from_torch(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
        wp.launch(kernel, dim=dim, inputs=inputs, device=str(self._device))

    def _runner(self, body: Callable[[], None]) -> Callable[[], None]:
        """What runs a body: one recorded graph where task and engine allow it."""
        run = self._backend.record(body) if vars(type(self)).get("recordable") else body
        if self._on_cpu:
            return run

        def run_on_torch_stream() -> None:
            with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(self._device))):
                run()

        return run_on_torch_stream

    def _snapshot(self) -> TorchEnvState:
        """A copy of the private state, the caller's to keep; without `steps`, which a reset may still change."""
        work = self._work
        return TorchEnvState(self._copy_obs(), work.reward.clone(), work.terminated.clone(), work.truncated.clone())

    def _copy_obs(self) -> dict[str, torch.Tensor]:
        return {name: group.clone() for name, group in self._work.obs.items()}

    def _finish_rows(self, state: TorchEnvState, rows: np.ndarray) -> None:
        """Record the episodes that ended in `rows` of the snapshot `state`, and start the next ones in them."""
        env_ids = torch.from_numpy(rows)
        if not self._on_cpu:
            env_ids = env_ids.to(self._device, non_blocking=True)
        self._log.append(rows, self._tally.index_select(1, env_ids), self.episode_success(self._work, env_ids))
        if not self._autoreset:
            self._waiting = rows
            return
        state.final_observation, state.final_mask = state.obs, self._rows.clone()
        self._run_restart()
        self._just_reset = rows
        state.obs = self._copy_obs()

    def _reset_now(self, rows: np.ndarray) -> TorchEnvState:
        """Reset outside a step. The result is judged at once, since nothing here is in a hurry."""
        if self._run_restart is None:
            self._run_step, self._run_restart = self._runner(self._step_body), self._runner(self._restart_body)
        self._rows.zero_()
        self._rows[torch.from_numpy(rows).to(self._device)] = True
        self._flags.zero_()
        self._work.reward.zero_()
        self._run_restart()
        self._waiting = np.setdiff1d(self._waiting, rows)
        state = self._snapshot()
        state.info["steps"] = self._steps.clone()
        for name, obs in state.obs.items():
            if bad := bad_rows(obs):
                self._report.zero_()
                raise ValueError(f"observation '{name}' not finite in {name_rows(bad)} after a reset")
        self._state = state
        return state

    def _require_in_place(self, state: TorchEnvState) -> None:
        found = [state.reward, state.terminated, *state.obs.values()]
        if len(found) != len(self._views) or any(a is not b for a, b in zip(found, self._views, strict=True)):
            raise ValueError(
                "update_state and observe must fill state.obs, state.reward and state.terminated in place; "
                "a tensor was replaced"
            )

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("the environment is closed")

    def _refuse_step(self) -> None:
        self._require_open()
        if self._state is None:
            raise RuntimeError("step() before init_state(): no row has an episode yet")
        raise RuntimeError(f"{name_rows(self._waiting.tolist())} finished and must be reset before the next step")

    def _raise_alarm(self) -> None:
        """Say which tensor is to blame. In the order of the step, so that the cause is named, not its consequence."""
        restart_failed = float(self._report[-1]) != 0.0
        self._report[self._num_envs :].zero_()
        if restart_failed:
            raise ValueError(f"an observation was not finite after the reset of {name_rows(self._just_reset.tolist())}")
        unsound = self._backend.describe_fault() if float(self._backend.fault) != 0.0 else ""
        suspects = {"actions": self._actions, "control": self.control}
        suspects |= {f"observation '{name}'": obs for name, obs in self._work.obs.items()}
        suspects["reward"] = self._work.reward
        for name, tensor in suspects.items():
            if bad := bad_rows(tensor):
                raise ValueError(f"{name} not finite in {name_rows(bad)}" + (f"; {unsound}" if unsound else ""))
        raise RuntimeError(unsound)
