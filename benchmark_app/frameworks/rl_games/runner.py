"""What PPO and SAC share: rl_games' `Runner`, and a `TorchEnv` as its vectorised environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from gymnasium import spaces
from rl_games.common import env_configurations, vecenv
from rl_games.common.ivecenv import IVecEnv
from rl_games.torch_runner import Runner

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.frameworks.base import TrainingRun

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

_ENV = "benchmark_app"


def load_runner(
    run: TrainingRun, vec_env: VecEnv, decided: Mapping[str, Any], of_network: Mapping[str, Any] | None = None
) -> Runner:
    """A runner that has read the run's configuration.

    It switches TF32 on and puts torch's other global settings as rl_games likes them; a workflow decides on those
    after the learner is built.

    Args:
        run: The training.
        vec_env: What the runner's agent will step.
        decided: Settings of `config` that only this run knows.
        of_network: Those of `network`.
    """
    params = native_params(run.config)
    params["network"] |= of_network or {}
    params["seed"] = run.seed
    params["torch_threads"] = 0  # leaves them as they are
    params["config"] |= {
        "name": run.log_dir.name,
        "env_name": _ENV,
        "num_actors": vec_env.num_envs,
        "device": str(vec_env.device),
        "train_dir": str(run.log_dir.parent),
        "full_experiment_name": run.log_dir.name,
        "print_stats": False,
        **decided,
    }
    # The configuration is copied deeply on its way to the agent, so the environment goes by name.
    vecenv.register(_ENV, lambda *_, **__: vec_env)
    env_configurations.register(_ENV, {"vecenv_type": _ENV})
    runner = Runner()
    runner.load({"params": params})
    return runner


def native_params(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as rl_games reads it, in a copy.

    What is off it wants absent; and it wants an initialisation, which is to leave the weights to `draw_weights`.
    """
    params = _without_none(config)
    params["network"]["mlp"]["initializer"] = {"name": "default"}
    return params


def _without_none(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_none(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value is not None
    }


Observe = Callable[[dict[str, torch.Tensor]], Any]


class VecEnv(IVecEnv):  # type: ignore[misc]
    """A `TorchEnv` as rl_games wants it.

    Args:
        env: The environment; it is reset here, once.
        step: How to step it.
        observe: From observation groups to what the agent sees of them; None: all of them, as they are.
        observation_space: The space of that.
    """

    def __init__(
        self,
        env: TorchEnv,
        step: Callable[[torch.Tensor], TorchEnvState],
        observe: Observe | None,
        observation_space: spaces.Space[Any],
    ) -> None:
        self.num_envs = env.num_envs
        self.device = env.device
        self._spaces = {"observation_space": observation_space, "action_space": env.action_space}
        self._step = step
        self._observe = observe
        self._no_dones = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
        obs = env.reset()[0]
        self._first_obs = obs if observe is None else observe(obs)

    def get_env_info(self) -> dict[str, Any]:
        """The spaces."""
        return self._spaces

    def reset(self) -> Any:
        """The observations of the one reset; rl_games asks for them once, when it starts to train."""
        return self._first_obs

    def step(self, actions: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Observations, rewards `[N]` and ends of episodes `[N]`; beside them, the time limits `time_outs` `[N]`.

        Where an episode ended, `final` has the observations it ended at; its other rows may hold anything.
        """
        state = self._step(actions)
        observe, dones, final = self._observe, state.final_mask, state.final_observation
        infos: dict[str, Any] = {"time_outs": state.truncated}
        if dones is None or final is None:
            dones = self._no_dones
        else:
            infos["final"] = final if observe is None else observe(final)
        return state.obs if observe is None else observe(state.obs), state.reward, dones, infos


def box(width: int) -> spaces.Box:
    """The space of one group of observations."""
    return spaces.Box(-float("inf"), float("inf"), (width,))
