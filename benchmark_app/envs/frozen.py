"""Rows that wait for a reset while autoreset is off: the step passes them by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .kernels import freeze, keep, rest, settle, silence

if TYPE_CHECKING:
    from .device_side import DeviceSide


class FrozenRows:
    """Which rows are frozen, and the state in which each of them ended. Every method is a few launches.

    An engine steps all rows or none. So a frozen row is stepped with the rest, with nothing acting on it, and is put
    back where it was.

    Args:
        env: The environment, its tensors made.

    Attributes:
        mask: bool `[N]`.
    """

    def __init__(self, env: DeviceSide) -> None:
        self._env = env
        self.mask = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
        self._states = tuple(torch.zeros_like(tensor) for tensor in env.backend.robot_state.values())
        self._obs = {name: torch.zeros_like(group) for name, group in env._work.obs.items()}

    def rest(self, values: torch.Tensor) -> None:
        """Let nothing act on frozen rows: 0 in `values` `[N, …]`."""
        self._env.launch(rest, self._env.num_envs, self.mask, values)

    def put_back(self) -> None:
        """Undo what the engine's step did to frozen rows."""
        env = self._env
        for live, kept in zip(env.backend.robot_state.values(), self._states, strict=True):
            env.launch(keep, env.num_envs, self.mask, live, kept)
        env.backend.reset_rows(self.mask, *self._states)

    def settle(self) -> None:
        """Give frozen rows their terminal observation again: a task's own buffers may have moved on."""
        for name, live in self._env._work.obs.items():
            self._env.launch(settle, self._env.num_envs, self.mask, self._obs[name], live)

    def silence(self) -> None:
        """Take reward and termination from frozen rows, before the step is judged."""
        env = self._env
        env.launch(silence, env.num_envs, self.mask, env._work.reward, env.terms, env._work.terminated)

    def freeze(self) -> None:
        """Take back the judgement of frozen rows, and freeze those that have just finished."""
        env = self._env
        env.launch(freeze, env.num_envs, self.mask, env._steps, env._work.truncated, env._rows, env._report)

    def thaw(self, rows: torch.Tensor) -> None:
        """The rows of a bool mask `[N]` are about to be reset."""
        self.mask.logical_and_(~rows)

    def hold(self, rows: torch.Tensor) -> None:
        """Freeze rows `[K]` as they are now, between two steps."""
        self.adopt()
        self.mask[rows] = True

    def adopt(self) -> None:
        """Take the rows as they are for the state in which they ended."""
        env = self._env
        for live, kept in zip(env.backend.robot_state.values(), self._states, strict=True):
            kept.copy_(live)
        for name, live in env._work.obs.items():
            self._obs[name].copy_(live)
