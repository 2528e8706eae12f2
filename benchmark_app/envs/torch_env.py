"""The one environment every library trains on: lifecycle, autoreset, checks and episode accounting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmark_app.physics.base import SimBackend

from .cfg import EnvCfg
from .checks import checked_rows, find_suspects, require_tensor
from .episodes import EpisodeLog, Episodes
from .failures import NO_ROWS, Failures
from .numbering import Deal, stream_seed
from .observing import judged
from .playback import Playback
from .receipts import ReceiptCheck
from .state import Copy, TorchEnvState
from .training_state import VERSION, check_training_state, export_tensors, import_tensors

if TYPE_CHECKING:
    from gymnasium.spaces import Box

    from .nan_guard import NanGuard


class TorchEnv(Failures, Playback):
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
        control: Joint efforts `[N, D]`, or target positions (`SceneSpec.actuator`), for `apply_action` to fill.
    """

    def __init__(self, cfg: EnvCfg, backend: SimBackend, num_envs: int, *, device: torch.device | str = "cpu") -> None:
        if backend.num_envs != num_envs:
            raise ValueError(f"num_envs={num_envs}: the engine simulates {backend.num_envs} rows")
        if torch.device(device).type != backend.device.type:
            raise ValueError(f"device={device}: the engine is on {backend.device}")
        super().__init__(cfg, backend)
        self._reporting = False
        self._everywhere = torch.arange(num_envs, device=self._device)
        self._log = self._new_log()
        self._receipts = ReceiptCheck() if self.produces_completion_receipts else None
        self._action_shape = (num_envs, self.num_actions)
        self.seed(0)

    @property
    def state(self) -> TorchEnvState | None:
        """The last state returned; None before the first `init_state` or `reset`."""
        return self._state

    @property
    def action_space(self) -> Box:
        """Space of one row of actions. Values outside are allowed; the task clamps them."""
        from gymnasium.spaces import Box

        return Box(-1.0, 1.0, (self.num_actions,), np.float32)

    @property
    def produces_completion_receipts(self) -> bool:
        """Whether a step returns before the engine is done; False: outputs are ordered when `step` returns.

        True: every step's `state.info["completion"]` is a `CompletionToken` to wait for before another stream reads.
        """
        return self._backend.capabilities.completion_receipts

    def get_backend_runtime_diagnostics(self) -> dict[str, Any]:
        """Plain-JSON facts about the engine: `available` with `diagnostics`, or why not. Cold path."""
        facts: dict[str, Any] = {"backend_type": type(self._backend).__name__, "available": not self._closed}
        if self._closed:
            return facts | {"unavailable_reason": "the environment is closed"}
        try:
            return facts | {"diagnostics": self._backend.diagnostics()}
        except Exception as error:  # whatever keeps an engine from telling must not end a run
            return facts | {"available": False, "unavailable_reason": f"{type(error).__name__}: {error}"}

    def set_autoreset(self, enabled: bool) -> None:
        """Reset finished rows within the step (the default), or leave them to the caller.

        Without autoreset the returned observations are the terminal ones and `final_observation` stays None. A row
        that ended is frozen from the next step on until it is passed to `reset`: whatever its action, it stays in the
        state it ended in, shows its terminal observation, gets reward 0, and is neither counted nor flagged again;
        `state.info["frozen"]` tells these rows. After switching autoreset on, they must be reset before the next step.

        Raises:
            RuntimeError: The environment is closed.
        """
        self._require_open()
        if not isinstance(enabled, bool):
            raise TypeError(f"set_autoreset: expected bool, got {enabled!r}")
        self._autoreset = enabled
        self._freezing = not enabled or len(self._waiting) > 0
        if self._state is not None:
            self._prepare()

    def set_reporting(self, enabled: bool) -> None:
        """Have every step tell, in `state.info`, what the task says of it; off at first, because it costs time.

        `is_success` bool `[N]` (where the task knows success): whether the episode, had it ended with this step, would
        have succeeded. `metrics`: name to float32 `[N]`, NaN where nothing was measured. `reward_terms`: name to
        float32 `[N]`. Of a row that finished they are those of its last step, as its reward is.

        Raises:
            RuntimeError: The environment is closed.
        """
        self._require_open()
        if not isinstance(enabled, bool):
            raise TypeError(f"set_reporting: expected bool, got {enabled!r}")
        self._reporting = enabled

    def set_nan_guard(self, guard: NanGuard | None) -> None:
        """Have a guard remember the last steps on the device, and dump them when a step fails; None: no guard.

        Finding what is wrong costs the guard nothing: it is told by the environment's own verdict.

        Raises:
            RuntimeError: The environment is closed.
        """
        self._require_open()
        if guard is not None:
            guard.bind(self)
        self._guard = guard
        self._runners.clear()  # its launch is part of what is recorded
        if self._state is not None:
            self._prepare()

    def set_copy(self, copy: Copy) -> None:
        """Have what a step or reset gives copied elsewhere than to fresh tensors, which are the caller's to keep.

        Args:
            copy: Copies a tensor and returns the copy, on whatever device. Of an image group, too.

        Raises:
            RuntimeError: The environment is closed.
        """
        self._require_open()
        self._copy = copy

    def set_simulation_watch(self, watch: Callable[[Callable[[], None]], None] | None) -> None:
        """Have the engine's part of every step run by `watch`, so that it can be timed; None: within the step.

        Where a step is recorded, it is then recorded in three parts: up to the engine, the engine (`SimBackend.step`,
        all physics steps of a control step), and the rest. The same is launched in the same order, so that what a step
        gives stays bitwise the same; only its time does not.

        Args:
            watch: Called once a step with what runs the engine's part, which it must call once.

        Raises:
            RuntimeError: The environment is closed.
        """
        self._require_open()
        self._watch = watch
        self._runners.clear()
        if self._state is not None:
            self._prepare()

    def export_training_state(self) -> dict[str, Any]:
        """Everything a later step depends on, random numbers included, in plain data and copies on the CPU. Cold path.

        Episodes that finished and were not drained yet are no part of it.

        Returns:
            `version`, `num_envs`, `autoreset`, and the tensors by name in `env`, `backend` and `task`.

        Raises:
            RuntimeError: The environment is closed, has no state yet, or its last step failed.
            ValueError: The last autoreset gave an observation that is not finite.
        """
        self._require_open()
        if self._state is None:
            raise RuntimeError("export_training_state() before init_state(): no row has an episode yet")
        if self._failed:
            self._refuse_after_failure()
        _, alarms = self._host.read()
        if any(alarms.tolist()):
            self._raise_alarm()
        return {
            "version": VERSION,
            "num_envs": self._num_envs,
            "autoreset": self._autoreset,
            "env": export_tensors(self._carried()),
            "backend": self._backend.export_state(),
            "task": export_tensors(self.task_state()),
        }

    def import_training_state(self, state: Mapping[str, Any]) -> None:
        """Continue from an exported state: bitwise the same where `backend.capabilities.exact_state`. Cold path.

        Episodes not drained yet are forgotten. A state that is refused changes nothing.

        Args:
            state: What `export_training_state` gave in an environment of the same task, engine and size.

        Raises:
            TypeError, ValueError: It is not; the message names the key.
            RuntimeError: The environment is closed.
        """
        self._require_open()
        sections = {"env": self._carried(), "backend": self._backend.export_state(), "task": self.task_state()}
        check_training_state(state, self._num_envs, sections)
        self._autoreset, self._deal = state["autoreset"], None
        self._waiting, self._just_reset = state["env"]["frozen"].numpy().nonzero()[0], NO_ROWS
        self._freezing = not self._autoreset or len(self._waiting) > 0
        self._prepare()
        import_tensors(self._carried(), state["env"])
        import_tensors(self.task_state(), state["task"])
        self._backend.import_state(state["backend"])
        self._frozen.adopt()
        self._report.zero_()
        self._failed = ""
        self._log = self._new_log()
        self._state = self._with_info(self._snapshot())

    def seed(self, seed: int) -> None:
        """Number the episodes anew, for training; it changes rows when they are reset next.

        Row r plays the episodes r, r+N, r+2N, …; the initial state of each depends on the seed and its number only,
        whatever N and whatever the other rows did.
        """
        self._seed_stream("training", seed)

    def seed_episodes(self, seed: int, count: int | None = None) -> None:
        """The same for evaluation: episodes of another stream, which training never saw. Follow it with `reset()`.

        Args:
            seed: The user's seed.
            count: Play the episodes 0 to count-1 only. A row that has none left is frozen, as without autoreset, in
                the state its last one ended in; one that never had any, in an initial state.

        Raises:
            ValueError: `count` is less than 1.
        """
        if count is not None and count < 1:
            raise ValueError(f"count={count}: must be at least 1")
        self._seed_stream("evaluation", seed, count)

    def _seed_stream(self, stream: str, seed: int, count: int | None = None) -> None:
        self._deal = None if count is None else Deal(self._num_envs, count, self._first_row, self._total_rows)
        self._seed.fill_(stream_seed(stream, seed))
        self._number_episodes()

    def drain_episodes(self) -> Episodes:
        """Episodes finished since the last call, in order. One host read; call it once per iteration."""
        return self._log.drain()

    def init_state(self) -> TorchEnvState:
        """Start an episode in every row.

        Returns:
            The first state: reward 0, nothing terminated, truncated or final.
        """
        self._require_open()
        self._require_renderer()
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
            RuntimeError: The environment is closed, or only some rows were named before all had a first episode or
                after a step had failed: then all rows begin anew, and the engine's fault is forgotten.
        """
        self._require_open()
        self._require_renderer()
        if env_ids is None:
            rows = np.arange(self._num_envs)
        else:
            rows = checked_rows(env_ids, self._num_envs)
            if self._state is None:
                raise RuntimeError("reset(env_ids) before init_state(): no row has an episode yet")
            if self._failed and len(rows) < self._num_envs:
                self._refuse_after_failure()
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
            RuntimeError: The environment is closed or has no state yet, an earlier step failed and not all rows were
                reset since, autoreset was switched on while rows were
                frozen, or the engine lost correctness or did not give the completion receipt it promised.
        """
        if self._closed or self._state is None or self._failed or self._must_reset():
            self._refuse_step()
        require_tensor("actions", actions, self._action_shape, self._device)
        if actions.requires_grad:
            raise ValueError("actions: expected no gradients; pass actions.detach()")
        self._actions.copy_(actions)
        if self._receipts is not None:
            self._withdraw_receipt()
        self._run_step()
        self._look(len(self._waiting))
        finished, alarms = self._host.read()
        if any(alarms.tolist()):  # NaN is true
            self._raise_alarm()
        rows = finished.nonzero()[0]
        state = self._snapshot("final" if len(rows) and self._autoreset else "obs")
        if self._reporting:
            self._tell(state)
        if len(rows):
            self._finish_rows(state, rows)
        self._with_info(state)
        if self._receipts is not None:
            state.info["completion"] = self._receipts.accept(self._backend.receipt())
        self._state = state
        return state

    def close(self) -> None:
        """Close the engine. Calling it twice is harmless."""
        if not self._closed:
            self._closed = True
            self._drop_play_renderer()
            if self._images is not None:
                self._images.close()
            self._backend.close()

    # The lifecycle.

    def _snapshot(self, obs: str = "obs") -> TorchEnvState:
        """A copy of the private state; without `steps`, which a reset may still change. `obs`: which these become."""
        work, copy = self._work, self._copy
        return TorchEnvState(
            self._copy_obs(obs),
            copy("reward", work.reward),
            copy("terminated", work.terminated),
            copy("truncated", work.truncated),
        )

    def _with_info(self, state: TorchEnvState) -> TorchEnvState:
        """Fill in the `info` of a snapshot."""
        state.info["steps"] = self._copy("steps", self._steps)
        if self._freezing:  # rows of the mask that carry no flag: their end was told before
            state.info["frozen"] = self._frozen.mask & ~(self._work.terminated | self._work.truncated)
        return state

    def _finish_rows(self, state: TorchEnvState, rows: np.ndarray) -> None:
        """Record the episodes that ended in `rows` of the snapshot `state`, and start the next ones in them."""
        env_ids = torch.from_numpy(rows)
        if not self._on_cpu:
            env_ids = env_ids.to(self._device, non_blocking=True)
        success, metrics = self._outcome(env_ids)
        self._log.append(rows, self._tally.index_select(1, env_ids), metrics, success)
        if not self._autoreset:
            self._waiting = np.union1d(self._waiting, rows)
            return
        state.final_observation, state.final_mask = state.obs, self._copy("final_mask", self._rows)
        if self._deal is not None:
            rows = self._retire(rows, self._deal)
        self._restart(len(rows))
        self._just_reset = rows
        state.obs = self._copy_obs()

    def _retire(self, rows: np.ndarray, deal: Deal) -> np.ndarray:
        """Freeze those of the finished `rows` that have no episode left; return the others, which begin their next."""
        more = deal.has_more(rows)
        again: np.ndarray = rows[more]
        over = rows[~more]
        deal.begin(again)
        if len(over) or self._freezing:
            self._freezing = True
            self._prepare()
            self._rows.zero_()
            self._rows[torch.from_numpy(again).to(self._device)] = True
            self._frozen.hold(torch.from_numpy(over).to(self._device))
            self._frozen.thaw(self._rows)  # the step froze them with all that finished
            self._waiting = np.union1d(self._waiting, over)
        return again

    def _outcome(self, env_ids: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor]:
        """Success bool `[K]` (or None) and metrics `[M, K]` of the episodes in some rows, as of this step."""
        success = self.episode_success(self._work, env_ids)
        if success is not None:
            require_tensor("episode_success", success, (len(env_ids),), self._device, torch.bool)
        metrics = self.episode_metrics(self._work, env_ids)
        require_tensor("episode_metrics", metrics, (len(self.metrics), len(env_ids)), self._device)
        return success, metrics

    def _tell(self, state: TorchEnvState) -> None:
        """Put what the task says of this step into the `info` of its snapshot, before finished rows are reset."""
        success, metrics = self._outcome(self._everywhere)
        if success is not None:
            state.info["is_success"] = success
        state.info["metrics"] = dict(zip(self.metrics, metrics, strict=True))
        state.info["reward_terms"] = dict(zip(self.reward_terms, self.terms.clone().unbind(1), strict=True))

    def _reset_now(self, rows: np.ndarray) -> TorchEnvState:
        """Reset outside a step. The result is judged at once, since nothing here is in a hurry."""
        idle = NO_ROWS
        if self._deal is not None:
            idle = self._deal.begin(rows)
            self._freezing = True
            self._prepare()  # sooner or later it is needed, and recording takes longer than a step should
        self._waiting = np.union1d(np.setdiff1d(self._waiting, rows), idle)
        self._freezing = not self._autoreset or len(self._waiting) > 0
        self._prepare()
        self._rows.zero_()
        self._rows[torch.from_numpy(rows).to(self._device)] = True
        self._flags.zero_()
        self._work.reward.zero_()
        self._frozen.thaw(self._rows)
        if self._failed:  # all rows begin anew, and so does the engine
            self._backend.clear_fault()
            self._failed = ""
        self._restart(len(rows))
        if len(idle):
            self._frozen.hold(torch.from_numpy(idle).to(self._device))
        state = self._with_info(self._snapshot())
        suspects = find_suspects(judged(state.obs))
        for name, bad in suspects.items():
            self._report.zero_()
            self._fail(ValueError(f"{name} not finite in {self._named(bad)} after a reset"), suspects)
        self._state = state
        return state

    def _withdraw_receipt(self) -> None:
        """A receipt of an earlier step must not pass for this one's; a state the caller holds keeps its own."""
        if self._state is not None and "completion" in self._state.info:
            info = {key: value for key, value in self._state.info.items() if key != "completion"}
            self._state = replace(self._state, info=info)

    def _new_log(self) -> EpisodeLog:
        return EpisodeLog(max(65536, self._num_envs), self.reward_terms, self.metrics)
