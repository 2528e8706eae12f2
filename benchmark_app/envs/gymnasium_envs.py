"""A `TorchEnv` as an environment of Gymnasium: N rows as its vector environment, one row as its plain one.

NumPy in and out. Observations are the policy's group as a `Box`; where a task has other groups too (a critic's,
images), all of them as a `Dict`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import Env, Space, spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .torch_env import TorchEnv

Observation = Any
"""A float32 array, or a dictionary of arrays by group; images are uint8 (colours) or float32 (depths)."""
OWN_METRICS = frozenset({"episode_return", "episode_length"})


class TorchVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """N rows of a `TorchEnv` as Gymnasium's vector environment. Every array returned is the caller's to keep.

    Rewards are float64 `[N]`, `terminations` and `truncations` bool `[N]`, never both set. Each step's and reset's
    `infos` hold, with Gymnasium's masks (`_is_success`, …):

    - `is_success`, bool `[N]`: whether the episode, had it ended with this step, would have succeeded. False at a
      reset, and always for a task that knows no success.
    - `metrics`, float64 `[N]` each: `episode_return` and `episode_length` of the episode so far, and what the task
      measures, as of this step. NaN, with False in its mask: not measured in this episode so far, which is never 0.

    With `SAME_STEP`, the default, a row that finished already shows its next episode; the last observation of the one
    that ended stands in `infos["final_obs"]` (an object array, None in other rows), and its `is_success` and `metrics`
    in `infos["final_info"]`. With `DISABLED` a row that finished stays frozen until it is reset: its observation,
    success and metrics remain those of the end, its reward is 0, its action is ignored and its end is not flagged
    again; `infos["frozen"]`, bool `[N]`, says in which rows the step did nothing.

    Args:
        env: The environment; closed with this one. It is set to report at every step.
        autoreset_mode: `AutoresetMode.SAME_STEP` or `DISABLED`, or their values.

    Raises:
        ValueError: Another autoreset mode, or a metric of the task has a name that is taken here.

    Attributes:
        torch_env: The environment inside.
        task: Short name of the task.
        task_description: What the robot is to do, in one sentence.
    """

    def __init__(self, env: TorchEnv, autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP) -> None:
        mode = AutoresetMode(autoreset_mode)
        if mode is AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"autoreset_mode={mode.value}: a row is reset within the step it ended in, or by you; choose "
                f"{AutoresetMode.SAME_STEP.value} or {AutoresetMode.DISABLED.value}"
            )
        if taken := sorted(OWN_METRICS & set(env.metrics)):
            raise ValueError(f"metrics: {', '.join(taken)} is counted for every task; give the task's another name")
        self.torch_env = env
        self.task = env.cfg.name
        self.task_description = env.cfg.description
        self._max_episode_steps = env.cfg.max_episode_steps
        self.num_envs = env.num_envs
        self.metadata = {"autoreset_mode": mode, "render_modes": []}
        self.single_observation_space = _observation_space(env)
        self.single_action_space = env.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        env.set_autoreset(mode is AutoresetMode.SAME_STEP)
        env.set_reporting(True)
        self._same_step = mode is AutoresetMode.SAME_STEP
        self._started = False
        # The record of the episode each row is in.
        self._length = np.zeros(self.num_envs, dtype=np.int64)
        self._return = np.zeros(self.num_envs, dtype=np.float32)
        self._success = np.zeros(self.num_envs, dtype=np.bool_)
        self._metrics = {name: np.full(self.num_envs, np.nan) for name in env.metrics}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode in every row, or in some.

        Args:
            seed: Numbers the episodes anew: row r plays the episodes r, r+N, r+2N, … of this seed. None goes on with
                the next ones; before the first seed, one is drawn at random.
            options: `{"reset_mask": mask}` resets the rows of a bool array `[N]`, at least one, and leaves the others
                where they are; nothing else is known.

        Returns:
            Observations of all rows; `infos` of the rows that were reset.

        Raises:
            ValueError: Unknown options, a mask of another shape or without a row, a seed together with a mask.
            TypeError: The mask is no bool array.
            gymnasium.error.ResetNeeded: A mask before the first reset of all rows.
        """
        mask = _reset_mask(options, self.num_envs)
        if mask is not None and seed is not None:
            raise ValueError("seed and options['reset_mask']: a seed numbers the episodes of all rows; reset them all")
        if mask is not None:
            self._require_reset("reset(options={'reset_mask': …})")
        super().reset(seed=seed)
        if seed is not None or not self._started:
            assert self.np_random_seed is not None
            self.torch_env.seed(self.np_random_seed)
        return self._start(mask)

    def step(self, actions: np.ndarray) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take one control step in every row.

        Args:
            actions: Floating-point array `[N, num_actions]`, computed with as float32.

        Raises:
            TypeError: Not floating-point numbers.
            ValueError: Another shape, or something was not finite; see `TorchEnv.step`.
            gymnasium.error.ResetNeeded: Before the first reset.
            RuntimeError: The environment is closed, or the engine lost correctness.
        """
        self._require_reset("step()")
        actions = np.asarray(actions)
        if actions.dtype.kind != "f":
            raise TypeError(f"actions: expected floating-point numbers, got {actions.dtype}")
        sent = torch.from_numpy(actions.astype(np.float32)).to(self.torch_env.device)
        state = self.torch_env.step(sent)
        reward, terminated, truncated = (_numpy(part) for part in (state.reward, state.terminated, state.truncated))
        ended, every = terminated | truncated, np.ones(self.num_envs, dtype=np.bool_)
        infos: dict[str, Any] = {}
        stepped = every
        if not self._same_step:
            frozen = _numpy(state.info["frozen"])
            stepped = ~frozen
            infos |= _batched({"frozen": frozen}, every)
        self._length += stepped
        self._return += reward  # 0 in frozen rows
        self._note(state.info, stepped)
        if self._same_step and ended.any():
            infos |= {"final_obs": self._final_obs(state.final_observation, ended), "_final_obs": ended}
            infos |= _batched({"final_info": self._record()}, ended)
            self._begin(ended)
        infos |= _batched(self._record(), every)
        return self._observation(state.obs), reward.astype(np.float64), terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environment inside."""
        self.torch_env.close()

    def _start(self, mask: np.ndarray | None) -> tuple[Observation, dict[str, Any]]:
        """Reset the rows of a mask, or all, with whatever seed there is."""
        obs, _ = self.torch_env.reset(None if mask is None else torch.from_numpy(np.flatnonzero(mask)))
        self._started = True
        rows = np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask
        self._begin(rows)
        return self._observation(obs), _batched(self._record(), rows)

    def _require_reset(self, call: str) -> None:
        if not self._started:
            raise ResetNeeded(f"{call} before reset(): no row has an episode yet")

    def _begin(self, rows: np.ndarray) -> None:
        for part in (self._length, self._return, self._success):
            part[rows] = 0
        for metric in self._metrics.values():
            metric[rows] = np.nan

    def _record(self) -> dict[str, Any]:
        lengths, returns = self._length.astype(np.float64), self._return.astype(np.float64)
        metrics = {"episode_return": returns, "episode_length": lengths, **self._metrics}
        return {"is_success": self._success, "metrics": metrics}

    def _note(self, info: dict[str, Any], stepped: np.ndarray) -> None:
        """Keep what the task says of the rows that took a step; frozen ones keep what it said at their end."""
        if "is_success" in info:
            np.copyto(self._success, _numpy(info["is_success"]), where=stepped)
        for name, values in info["metrics"].items():
            np.copyto(self._metrics[name], _numpy(values), where=stepped)

    def _observation(self, obs: dict[str, torch.Tensor]) -> Observation:
        """The groups as arrays, over memory of the state's own tensors, which nobody writes again."""
        if isinstance(self.single_observation_space, spaces.Box):
            return _numpy(obs["policy"])
        return {name: _numpy(group) for name, group in obs.items()}

    def _final_obs(self, obs: dict[str, torch.Tensor] | None, ended: np.ndarray) -> np.ndarray:
        assert obs is not None
        groups = self._observation(obs)
        final = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            # Copies, so that a row kept in a replay buffer keeps no other alive.
            if isinstance(groups, dict):
                final[row] = {name: group[row].copy() for name, group in groups.items()}
            else:
                final[row] = groups[row].copy()
        return final


class TorchSingleEnv(Env[Observation, np.ndarray]):
    """A `TorchEnv` of one row as Gymnasium's plain environment.

    `info` holds at every step and reset `is_success` (bool) and `metrics` (name to float), with the meanings
    `TorchVectorEnv` gives them; a metric that is not measured yet is left out. The time limit is the task's own:
    `truncated` comes from it, and no `TimeLimit` is needed around this.

    Args:
        env: The environment, of one row; closed with this one.

    Raises:
        ValueError: It has more rows.

    Attributes:
        torch_env: The environment inside.
        task: Short name of the task.
        task_description: What the robot is to do, in one sentence.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as in gymnasium.Env

    def __init__(self, env: TorchEnv) -> None:
        if env.num_envs != 1:
            raise ValueError(f"num_envs={env.num_envs}: a plain environment has one row; use TorchVectorEnv")
        self._rows = TorchVectorEnv(env, AutoresetMode.DISABLED)
        self.torch_env = env
        self.task = self._rows.task
        self.task_description = self._rows.task_description
        self._max_episode_steps = self._rows._max_episode_steps
        self.observation_space = self._rows.single_observation_space
        self.action_space = self._rows.single_action_space
        self._started = False
        self._over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode.

        Args:
            seed: Numbers the episodes anew, from 0. None goes on with the next one; before the first seed, one is
                drawn at random.
            options: None are known.

        Raises:
            ValueError: Any options.
        """
        if options:
            raise ValueError(f"options={options}: this environment has none")
        super().reset(seed=seed)
        if seed is not None or not self._started:
            self.torch_env.seed(self.np_random_seed)
        obs, infos = self._rows._start(None)
        self._started, self._over = True, False
        return _row(obs), _info(infos)

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one control step.

        Args:
            action: Floating-point array `[num_actions]`, computed with as float32.

        Raises:
            TypeError: Not floating-point numbers.
            ValueError: Another shape, or something was not finite; see `TorchEnv.step`.
            gymnasium.error.ResetNeeded: Before the first reset, or after the episode ended.
            RuntimeError: The environment is closed, or the engine lost correctness.
        """
        if self._over:
            raise ResetNeeded("step() after the episode ended: call reset() to start the next one")
        action = np.asarray(action)
        if action.shape != self.action_space.shape:
            raise ValueError(f"action: expected shape {list(self.action_space.shape or ())}, got {list(action.shape)}")
        obs, reward, terminated, truncated, infos = self._rows.step(action[np.newaxis])
        self._over = bool(terminated[0] or truncated[0])
        return _row(obs), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _info(infos)

    def close(self) -> None:
        """Close the environment inside. Calling it twice is harmless."""
        self._rows.close()


def _observation_space(env: TorchEnv) -> Space[Any]:
    groups = env.group_spaces
    return groups["policy"] if list(groups) == ["policy"] else spaces.Dict(groups)


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.cpu().numpy()


def _row(obs: Observation) -> Observation:
    return {name: group[0] for name, group in obs.items()} if isinstance(obs, dict) else obs[0]


def _info(infos: dict[str, Any]) -> dict[str, Any]:
    found = infos["metrics"]
    metrics = {name: float(value[0]) for name, value in found.items() if f"_{name}" in found and found[f"_{name}"][0]}
    return {"is_success": bool(infos["is_success"][0]), "metrics": metrics}


def _batched(info: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """Arrays by name as Gymnasium batches what only some rows have: 0 in the others, and a mask `_name` beside each.

    NaN, of what a row does not have yet, stays NaN and is masked too.
    """
    batched: dict[str, Any] = {}
    for name, value in info.items():
        if isinstance(value, dict):
            batched[name], batched[f"_{name}"] = _batched(value, rows), rows.copy()
        else:
            batched[name] = np.where(rows, value, np.zeros_like(value))
            batched[f"_{name}"] = rows & ~np.isnan(value)
    return batched


def _reset_mask(options: dict[str, Any] | None, num_envs: int) -> np.ndarray | None:
    """The rows that the options of a reset name, as Gymnasium's own vector environments read them; None: all."""
    if unknown := set(options or ()) - {"reset_mask"}:
        raise ValueError(f"options: {', '.join(sorted(map(str, unknown)))} unknown; there is only reset_mask")
    if not options:
        return None
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        found = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
        raise TypeError(f"options['reset_mask']: expected a NumPy array of bool, got {found}")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask']: expected shape [{num_envs}], got {list(mask.shape)}")
    if not mask.any():
        raise ValueError("options['reset_mask']: names no row")
    return mask
