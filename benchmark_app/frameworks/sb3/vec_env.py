"""A `TorchEnv` as SB3 wants it: NumPy arrays, one observation, and a list of infos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.vec_env import VecEnv

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.frameworks.inputs import Inputs

from .networks import observation_space, side_by_side

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

Array = npt.NDArray[Any]


class TorchVecEnv(VecEnv):  # type: ignore[misc]
    """The environment behind `step`, for the algorithms.

    Args:
        env: The environment, which is reset here, once.
        step: What steps it.
        bound: Bound of the actions SB3 may send.
    """

    def __init__(self, env: TorchEnv, step: Callable[[torch.Tensor], TorchEnvState], *, bound: float) -> None:
        actions = gymnasium.spaces.Box(-bound, bound, env.action_space.shape, np.float32)
        self._inputs = Inputs(env)
        super().__init__(env.num_envs, observation_space(self._inputs), actions)
        self._device = env.device
        self._step = step
        self._first = self._observation(env.reset()[0])
        # Most steps finish no row, and SB3 only reads infos: one dictionary does for all.
        self._no_dones = np.zeros(env.num_envs, dtype=bool)
        self._no_dones.setflags(write=False)
        self._no_infos: list[dict[str, Any]] = [{}] * env.num_envs

    def reset(self) -> Array:
        """Return the observations of the one reset there was; finished rows are reset by the environment."""
        return self._first

    def step_async(self, actions: Array) -> None:
        """Take the actions `[N, A]` of the next step."""
        self._actions = torch.from_numpy(actions).to(self._device)

    def step_wait(self) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
        """Step; observations `[N, all]`, rewards `[N]`, dones `[N]` and infos."""
        state = self._step(self._actions)
        # SB3 adds the bootstrap value to the rewards in place.
        rewards = state.reward.cpu().numpy().copy()
        obs = self._observation(state.obs)
        if state.final_mask is None or state.final_observation is None:
            return obs, rewards, self._no_dones, self._no_infos
        dones, infos = state.final_mask.cpu().numpy(), self._no_infos.copy()
        final, truncated = self._observation(state.final_observation), state.truncated.cpu().numpy()
        for row in dones.nonzero()[0].tolist():
            infos[row] = {"terminal_observation": final[row], "TimeLimit.truncated": bool(truncated[row])}
        return obs, rewards, dones, infos

    def _observation(self, obs: dict[str, torch.Tensor]) -> Array:
        array: Array = side_by_side(obs, self._inputs).cpu().numpy()
        return array

    def close(self) -> None:
        """Leave the environment to whoever opened it."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Answer what SB3 asks when it is built; rendering is the environment's own business."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(attr_name)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> Sequence[bool]:
        """No row is an environment of its own."""
        return [False] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> NoReturn:
        """No row is an environment of its own."""
        raise NotImplementedError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> NoReturn:
        """No row is an environment of its own."""
        raise NotImplementedError(method_name)
