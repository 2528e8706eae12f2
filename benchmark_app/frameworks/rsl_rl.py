"""rsl_rl behind the adapter contract: `OnPolicyRunner.learn` runs, instance attributes are wrapped to observe it.

rsl_rl shuffles a rollout once and walks the same minibatches in every epoch; skrl reshuffles for each epoch. No setting
of either changes that.
"""

from __future__ import annotations

import os

# GitPython, which rsl_rl imports, refuses to be imported where there is no git, unless told to be quiet.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

import random
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from benchmark_app.envs.state import TorchEnvState

from .agent import ParameterMapping, PPOAgent
from .base import Policy, StopTraining, TrainingHooks, TrainingRun
from .checkpoints import load_actor, read_checkpoint, save_atomically
from .registry import single_process

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = "rsl_rl"

_SETTINGS = {
    "algorithm": "algorithm.class_name",
    "rollout": "num_steps_per_env",
    "epochs": "algorithm.num_learning_epochs",
    "minibatches": "algorithm.num_mini_batches",
    "learning_rate": "algorithm.learning_rate",
    "schedule": "algorithm.schedule",
    "desired_kl": "algorithm.desired_kl",
    "gamma": "algorithm.gamma",
    "lam": "algorithm.lam",
    "clip": "algorithm.clip_param",
    "clip_value_loss": "algorithm.use_clipped_value_loss",
    "value_loss_coef": "algorithm.value_loss_coef",
    "entropy_coef": "algorithm.entropy_coef",
    "max_grad_norm": "algorithm.max_grad_norm",
    "hidden_layers": "actor.hidden_dims",
    "activation": "actor.activation",
    "init_noise_std": "actor.distribution_cfg.init_std",
    "normalize_observations": "actor.obs_normalization",
}


def mapping(agent: PPOAgent) -> list[ParameterMapping]:
    """How each parameter reaches rsl_rl. Its PPO is what the shared description describes, so all of it is exact."""
    native = {"iterations": f"learn(num_learning_iterations={agent.iterations})"}
    for parameter, path in _SETTINGS.items():
        value: Any = _config(agent, critic_group="policy")
        for key in path.split("."):
            value = value[key]
        native[parameter] = f"{path}={value.__name__ if isinstance(value, type) else value}"
    native["timeout_bootstrap"] = (
        "reward + gamma * V(final observation), in PPO.process_env_step"
        if agent.timeout_bootstrap == "exact"
        else "extras['time_outs']: reward + gamma * V(observation before the last step)"
    )
    return [ParameterMapping(parameter=key, quality="exact", native=native[key]) for key in vars(agent)]


def train(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> Path:
    """Train through `OnPolicyRunner.learn`; see `base.Adapter`."""
    runner = build(env, run, hooks)
    try:
        with suppress(StopTraining):
            runner.learn(run.agent.iterations)
    finally:
        if runner.logger.writer is not None:
            runner.logger.writer.close()
    return runner.save_checkpoint(run.checkpoint_dir / "policy")


def policy(env: TorchEnv, agent: PPOAgent, checkpoint: Path) -> Policy:
    """Load the actor of a checkpoint; its normalisation statistics are part of it and stay as they are."""
    parts = ("actor_state_dict", "critic_state_dict")
    weights = read_checkpoint(checkpoint, name, parts, env.device)["actor_state_dict"]
    example = {group: torch.zeros(1, dim) for group, dim in env.obs_groups_spec.items()}
    config = _config(agent, critic_group="policy")
    config["actor"].pop("class_name")
    actor = MLPModel(example, config["obs_groups"], "actor", env.action_space.shape[0], **config["actor"])
    load_actor(checkpoint, actor, weights)
    actor.to(env.device).eval()

    @torch.no_grad()
    def act(obs: dict[str, torch.Tensor]) -> torch.Tensor:
        actions: torch.Tensor = actor(obs)
        return actions

    return act


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> _Runner:
    """Seed, reset the environment, and build the runner with the hooks in place."""
    random.seed(run.seed)
    np.random.seed(run.seed % 2**32)
    torch.manual_seed(run.seed)
    config = _config(run.agent, critic_group="critic" if "critic" in env.obs_groups_spec else "policy")
    vec_env = _VecEnv(env, hooks.env_step, exact=run.agent.timeout_bootstrap == "exact")
    with single_process():
        runner = _Runner(vec_env, config, log_dir=str(run.log_dir), device=str(env.device))
    runner.logger.git_status_repos = []

    compute_returns, log = runner.alg.compute_returns, runner.logger.log

    def report_then_compute_returns(obs: TensorDict) -> None:
        hooks.rollout_ended()
        compute_returns(obs)

    def log_then_report(**facts: Any) -> None:
        # The library prints twenty lines per iteration beside writing them to TensorBoard; only the latter is wanted.
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            log(**facts)
        hooks.iteration_ended(runner.save_checkpoint)

    runner.alg.compute_returns = report_then_compute_returns
    runner.logger.log = log_then_report
    return runner


def _config(agent: PPOAgent, *, critic_group: str) -> dict[str, Any]:
    """The runner's configuration. Fresh at every call, because the runner writes into it."""
    network = {
        "class_name": MLPModel,
        "hidden_dims": list(agent.hidden_layers),
        "activation": agent.activation,
        "obs_normalization": agent.normalize_observations,
    }
    noise = {"class_name": "GaussianDistribution", "init_std": agent.init_noise_std, "std_type": "log"}
    return {
        "num_steps_per_env": agent.rollout,
        "save_interval": agent.iterations,
        "check_for_nan": False,  # the environment refuses non-finite values itself, and costs no host reads for it
        "obs_groups": {"actor": ["policy"], "critic": [critic_group]},
        "actor": {**network, "distribution_cfg": noise},
        "critic": network.copy(),
        "algorithm": {
            "class_name": _ExactPPO if agent.timeout_bootstrap == "exact" else PPO,
            "num_learning_epochs": agent.epochs,
            "num_mini_batches": agent.minibatches,
            "learning_rate": agent.learning_rate,
            "schedule": agent.schedule,
            "desired_kl": agent.desired_kl,
            "gamma": agent.gamma,
            "lam": agent.lam,
            "clip_param": agent.clip,
            "use_clipped_value_loss": agent.clip_value_loss,
            "value_loss_coef": agent.value_loss_coef,
            "entropy_coef": agent.entropy_coef,
            "max_grad_norm": agent.max_grad_norm,
        },
    }


class _VecEnv(VecEnv):  # type: ignore[misc]
    """A `TorchEnv` as rsl_rl wants it."""

    def __init__(self, env: TorchEnv, step: Callable[[torch.Tensor], TorchEnvState], *, exact: bool) -> None:
        self.num_envs = env.num_envs
        self.num_actions = env.action_space.shape[0]
        self.max_episode_length = env.cfg.max_episode_steps
        self.device = env.device
        self.cfg = env.cfg
        self._step = step
        self._exact = exact
        self._obs = self._tensordict(env.reset()[0])

    def get_observations(self) -> TensorDict:
        return self._obs

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        state = self._step(actions)
        self._obs = self._tensordict(state.obs)
        extras: dict[str, Any] = {}
        if not self._exact:
            extras["time_outs"] = state.truncated
        elif state.final_observation is not None:
            extras["final"] = (self._tensordict(state.final_observation), state.truncated)
        return self._obs, state.reward, state.terminated | state.truncated, extras

    def _tensordict(self, obs: dict[str, torch.Tensor]) -> TensorDict:
        return TensorDict(obs, batch_size=[self.num_envs], device=self.device)


class _ExactPPO(PPO):  # type: ignore[misc]
    """PPO that adds the value of the observation an episode was cut off at, where rsl_rl takes the one before."""

    def process_env_step(
        self, obs: TensorDict, rewards: torch.Tensor, dones: torch.Tensor, extras: dict[str, Any]
    ) -> None:
        if "final" in extras:
            final_obs, truncated = extras["final"]
            # Not in place: the logger sums the same rewards. Rows that did not finish may hold anything.
            rewards = rewards + torch.where(truncated, self.gamma * self.critic(final_obs).squeeze(1), 0.0)
        super().process_env_step(obs, rewards, dones, extras)


class _Runner(OnPolicyRunner):  # type: ignore[misc]
    """The library's runner, except that the hooks decide when a checkpoint is due."""

    def save(self, path: str, infos: dict[str, Any] | None = None) -> None:
        """Leave out the checkpoints `learn` would write by itself."""

    def save_checkpoint(self, stem: Path) -> Path:
        """Write the library's checkpoint as `stem` + ".pt"."""
        save = super().save
        return save_atomically(stem.with_name(stem.name + ".pt"), lambda path: save(str(path)))
