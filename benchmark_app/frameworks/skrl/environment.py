"""A `TorchEnv` as skrl wants it, and the observation an episode ended at where skrl would use the one after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium.spaces import Box
from skrl.envs.wrappers.torch import Wrapper

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.frameworks.inputs import Inputs

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

_FINAL = "final"


def space_of(env: TorchEnv, group: str = "policy") -> Box:
    """The space of one row of an observation group, with images flat in it."""
    return Box(-np.inf, np.inf, (Inputs(env).flat_groups[group],), np.float32)


class EnvWrapper(Wrapper):  # type: ignore[misc]
    """A `TorchEnv` as skrl wants it: flags and rewards `[N, 1]`, the critic's observations through `state()`.

    Attributes:
        inputs: What actor and critic see.
    """

    def __init__(self, env: TorchEnv, step: Callable[[torch.Tensor], TorchEnvState], *, exact: bool) -> None:
        super().__init__(env)
        self._step = step
        self._exact = exact
        self.inputs = Inputs(env)
        self._obs = self.inputs.flat(env.reset()[0])
        self._spaces = {group: space_of(env, group) for group in self.inputs.flat_groups}

    @property
    def observation_space(self) -> Box:
        """Space of the policy's observations."""
        return self._spaces["policy"]

    @property
    def state_space(self) -> Box | None:
        """Space of the critic's observations, None where the environment has none of its own for it."""
        return self._spaces.get("critic")

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the present observations: the environment was reset once, and resets finished rows itself."""
        return self._obs["policy"], {}

    def state(self) -> torch.Tensor | None:
        """The critic's observations, None where the environment has none of its own for it."""
        return self._obs.get("critic")

    def step(
        self, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Step through the hooks."""
        state = self._step(actions)
        self._obs = self.inputs.flat(state.obs)
        infos: dict[str, Any] = {}
        if self._exact and state.final_observation is not None and state.final_mask is not None:
            infos[_FINAL] = (self.inputs.flat(state.final_observation), state.final_mask.unsqueeze(1))
        return (
            self._obs["policy"],
            state.reward.unsqueeze(1),
            state.terminated.unsqueeze(1),
            state.truncated.unsqueeze(1),
            infos,
        )

    def render(self, *args: Any, **kwargs: Any) -> None:
        """Draw nothing: rendering is the environment's own business."""

    def close(self) -> None:
        """Leave the environment to whoever opened it."""


class FinalObservations:
    """Goes before a skrl agent's class: where an episode ended, the observation it ended at is the next one.

    What skrl then bootstraps a time limit with is the value of that observation, the exact one; its own choice is the
    first of the next episode. Whether it happens at all is the wrapper's `exact`.
    """

    def record_transition(
        self,
        *,
        next_observations: torch.Tensor,
        next_states: torch.Tensor | None,
        infos: dict[str, Any],
        **transition: Any,
    ) -> None:
        """Hand the transition on."""
        if _FINAL in infos:
            final, finished = infos[_FINAL]  # rows that did not finish may hold anything
            next_observations = torch.where(finished, final["policy"], next_observations)
            if next_states is not None:
                next_states = torch.where(finished, final["critic"], next_states)
        super().record_transition(  # type: ignore[misc]
            next_observations=next_observations, next_states=next_states, infos=infos, **transition
        )
