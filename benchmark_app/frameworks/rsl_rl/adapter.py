"""rsl_rl behind the adapter contract: `OnPolicyRunner.learn` runs, instance attributes are wrapped to observe it.

rsl_rl shuffles a rollout once and walks the same minibatches in every epoch. No setting changes that.
"""

from __future__ import annotations

import os

# GitPython, which rsl_rl imports, refuses to be imported where there is no git, unless told to be quiet.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from collections.abc import Callable
from contextlib import redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.base import Checkpoint, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.checkpoints import as_policy, load_actor, read_checkpoint, refusing, save_atomically
from benchmark_app.frameworks.inputs import Inputs
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.registry import ranks_of
from benchmark_app.frameworks.start import seed_everything

from .models import example_of, model_settings

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = "rsl_rl"

_PARTS = ("actor_state_dict", "critic_state_dict")


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> _Learner:
    """Build the runner; see `base.Adapter`."""
    return _Learner(env, run, hooks)


def policy(env: TorchEnv, agent: Agent, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the actor of a checkpoint; its normalisation statistics are part of it and stay as they are."""
    weights = read_checkpoint(checkpoint, name, _PARTS, env.device)["actor_state_dict"]
    sees = Inputs(env).actor
    settings = model_settings(config["actor"], sees)
    model = settings.pop("class_name")
    actor = model(example_of(sees), {"actor": sees.groups}, "actor", env.action_space.shape[0], **settings)
    load_actor(checkpoint.path, actor, weights)
    actor.to(env.device).eval()
    return as_policy(actor)


class _Learner:
    """The library's runner with the hooks in place; see `base.Learner`."""

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        seed_everything(run.seed)
        exact = run.agent.timeout_bootstrap == "exact"
        config = deepcopy(run.config)  # the runner writes into it
        config["algorithm"]["class_name"] = _ExactPPO if exact else PPO
        inputs = Inputs(env)
        for network, sees in (("actor", inputs.actor), ("critic", inputs.critic)):
            config[network] = model_settings(config[network], sees)
        config["obs_groups"] = {"actor": inputs.actor.groups, "critic": inputs.critic.groups}
        vec_env = _VecEnv(env, hooks.env_step, exact=exact)
        with ranks_of(run.world_size):
            self.runner = _Runner(vec_env, config, log_dir=str(run.log_dir), device=str(env.device))
        self.runner.logger.git_status_repos = []
        algorithm = self.runner.alg
        self.actor, self.critic, self.optimizers = algorithm.actor, algorithm.critic, (algorithm.optimizer,)
        self._env, self._iterations = env, run.iterations
        self._hook(hooks)
        if run.resume is not None:
            content = read_checkpoint(run.resume, name, _PARTS, env.device, also=("optimizer_state_dict",))
            load_actor(run.resume.path, self.actor, content["actor_state_dict"])
            with refusing(run.resume.path):
                algorithm.load(content, None, strict=True)

    def _hook(self, hooks: TrainingHooks) -> None:
        runner = self.runner
        compute_returns, log = runner.alg.compute_returns, runner.logger.log

        def report_then_compute_returns(obs: TensorDict) -> None:
            hooks.rollout_ended()
            compute_returns(obs)

        def log_then_report(**facts: Any) -> None:
            # The library prints twenty lines per iteration beside writing them to TensorBoard; only that is wanted.
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
                log(**facts)
            hooks.iteration_ended()

        runner.alg.compute_returns = report_then_compute_returns
        runner.logger.log = log_then_report

    def learn(self) -> None:
        """Run `OnPolicyRunner.learn`."""
        self.runner.learn(self._iterations)

    def save(self, stem: Path) -> Path:
        """Write `stem` + ".pt"."""
        return save_atomically(stem.with_name(stem.name + ".pt"), lambda path: self.runner.save_checkpoint(str(path)))

    def close(self) -> None:
        """Close the TensorBoard writer."""
        if self.runner.logger.writer is not None:
            self.runner.logger.writer.close()

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        actions: torch.Tensor = self.actor(obs)
        return actions

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        values: torch.Tensor = self.critic(obs)
        return values.squeeze(1)

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        storage = self.runner.alg.storage
        scalars = {key: getattr(storage, key).squeeze(-1) for key in ("rewards", "values", "returns", "advantages")}
        sees = Inputs(self._env).actor
        found = {"actions": storage.actions, **scalars}
        found |= {
            key: storage.observations[group] for key, group in (("obs", sees.vector), ("images", sees.image)) if group
        }
        return {key: value.clone() for key, value in found.items()}


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
        self._no_dones = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
        self._obs = self._tensordict(env.reset()[0])

    def get_observations(self) -> TensorDict:
        return self._obs

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        state = self._step(actions)
        self._obs = self._tensordict(state.obs)
        dones, final = state.final_mask, state.final_observation
        extras: dict[str, Any] = {}
        if not self._exact:
            extras["time_outs"] = state.truncated
        elif final is not None:
            extras["final"] = (self._tensordict(final), state.truncated)
        return self._obs, state.reward, self._no_dones if dones is None else dones, extras

    @property
    def unwrapped(self) -> _VecEnv:
        """Where random network distillation looks for `step_dt`."""
        return self

    @property
    def step_dt(self) -> float:
        """Control step [s]."""
        step: float = self.cfg.control_dt
        return step

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

    def save_checkpoint(self, path: str) -> None:
        """Write the library's checkpoint."""
        super().save(path)
