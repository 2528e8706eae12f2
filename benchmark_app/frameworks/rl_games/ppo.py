"""rl_games' PPO with the description's arithmetic where rl_games has its own, and with the hooks in place.

`A2CAgent.train` runs. Its minibatches are slices of the rollout laid out environment after environment, never
shuffled; no setting changes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from rl_games.algos_torch.a2c_continuous import A2CAgent
from rl_games.algos_torch.model_builder import ModelBuilder
from rl_games.common.datasets import PPODataset
from rl_games.common.schedulers import IdentityScheduler
from torch.distributions import Normal

from benchmark_app.frameworks.agent import PPOAgent
from benchmark_app.frameworks.base import Checkpoint, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.checkpoints import as_policy, load_actor, read_checkpoint, refusing, save_atomically
from benchmark_app.frameworks.inputs import Inputs
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.ppo_rules import adapted_rate, clip_each, mean_divergence
from benchmark_app.frameworks.start import draw_weights, seed_everything

from .networks import Actor, Critic, share
from .runner import VecEnv, box, load_runner, native_params

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv


def policy(env: TorchEnv, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the actor of a checkpoint; its normalisation statistics are part of it and stay as they are."""
    weights = read_checkpoint(checkpoint, "rl_games", ("model",), env.device)["model"]
    params, inputs = native_params(config), Inputs(env)
    params["network"]["inputs"] = inputs
    model = (
        ModelBuilder()
        .load(params)
        .build(
            {
                "actions_num": env.action_space.shape[0],
                "input_shape": {group: space.shape for group, space in _spaces(env, inputs).items()},
                "normalize_input": config["config"]["normalize_input"],
            }
        )
    )
    actor = Actor(model)
    load_actor(checkpoint.path, actor, share(weights, actor.places))
    actor.to(env.device).eval()
    return as_policy(actor)


def _spaces(env: TorchEnv, inputs: Inputs) -> dict[str, spaces.Space[Any]]:
    """The space of each group that a network sees."""
    found: dict[str, spaces.Space[Any]] = {}
    for group in inputs.groups:
        if group in env.obs_groups_spec:
            found[group] = box(env.obs_groups_spec[group])
        else:
            image = env.image_groups[group]
            most = np.inf if image.dtype == "float32" else 255
            found[group] = spaces.Box(0, most, image.shape, getattr(np, image.dtype))
    return found


def _select(groups: tuple[str, ...], obs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {group: obs[group] for group in groups}


class PPOLearner:
    """The library's runner and agent; see `base.Learner`."""

    actor: torch.nn.Module
    critic: torch.nn.Module
    optimizers: Sequence[torch.optim.Optimizer]

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        assert isinstance(run.agent, PPOAgent)
        seed_everything(run.seed)
        self._inputs = inputs = Inputs(env)
        space = spaces.Dict(_spaces(env, inputs))
        there = {*env.obs_groups_spec, *env.image_groups}
        some = None if set(inputs.groups) == there else partial(_select, tuple(inputs.groups))
        vec_env = VecEnv(env, hooks.env_step, some, space)
        decided = {
            "minibatch_size": env.num_envs * run.agent.rollout // run.agent.minibatches,
            "seq_length": 1,  # of recurrent networks, yet it must divide the samples of any other
        }
        if run.world_size > 1:
            decided["multi_gpu"] = True
        self.runner = load_runner(run, vec_env, decided, {"inputs": inputs})
        self.agent = _Agent(hooks, run.agent, self.runner.params)
        self.runner.algo_factory.register_builder(self.runner.algo_name, lambda **_: self.agent)
        self._model = self.agent.model
        self.actor, self.critic, self.optimizers = self.agent.actor, self.agent.critic, (self.agent.optimizer,)
        draw_weights(run.seed, self.actor, self.critic)
        if run.resume is not None:
            self._resume(run.resume, env.device)
        self.agent.max_epochs = self.agent.epoch_num + run.iterations

    def _resume(self, checkpoint: Checkpoint, device: torch.device) -> None:
        content = read_checkpoint(checkpoint, "rl_games", ("model",), device, also=("optimizer",))
        for network in (self.agent.actor, self.agent.critic):
            load_actor(checkpoint.path, network, share(content["model"], network.places))
        with refusing(checkpoint.path):
            self.agent.set_full_state_weights(content)
        self.agent.last_lr = self.agent.optimizer.param_groups[0]["lr"]

    def learn(self) -> None:
        """Run `Runner.run_train`, which trains the agent it is given."""
        self.runner.run_train({})

    def save(self, stem: Path) -> Path:
        """Write `stem` + ".pth"."""
        state = self.agent.get_full_state_weights()
        state["model"] = self._model.state_dict()  # under the names it has without torch.compile
        state["last_mean_rewards"] = float(state["last_mean_rewards"])  # of NumPy, it would have to be unpickled
        return save_atomically(stem.with_name(stem.name + ".pth"), lambda path: torch.save(state, path))

    def close(self) -> None:
        """Close the TensorBoard writer, which rank 0 alone has."""
        if self.agent.global_rank == 0:
            self.agent.writer.close()

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        actions: torch.Tensor = self.actor.eval()(obs)
        return actions

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        values: torch.Tensor = self.critic.eval()(obs)
        return values

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        stored = self.agent.experience_buffer.tensor_dict
        found = {key: stored[key].squeeze(2) for key in ("rewards", "values")}
        sees = self._inputs.actor
        found |= {key: stored["obses"][group] for key, group in (("obs", sees.vector), ("images", sees.image)) if group}
        found["actions"] = stored["actions"]
        by_step = (self.agent.num_actors, self.agent.horizon_length)
        found |= {key: value.view(by_step).transpose(0, 1) for key, value in self.agent.targets.items()}
        return {key: value.clone() for key, value in found.items()}


class _Dataset(PPODataset):  # type: ignore[misc]
    """Samples that keep the mean and deviation they were drawn with; rl_games replaces them by the latest ones."""

    def update_mu_sigma(self, mu: torch.Tensor, sigma: torch.Tensor) -> None:
        """Leave them, so that the KL divergence is to the policy that acted."""


class _Agent(A2CAgent):  # type: ignore[misc]
    """The library's agent.

    Attributes:
        actor: The policy's share of its model.
        critic: The value's share of its model.
        targets: `returns` and `advantages` of the last update, `[N * T]`, environment after environment.
        last_lr: The learning rate; rl_games gives it to the optimizer after every step.
    """

    last_lr: float

    def __init__(self, hooks: TrainingHooks, agent: PPOAgent, params: dict[str, Any]) -> None:
        super().__init__("run", params)
        self.actor, self.critic = Actor(self.model), Critic(self.model)
        self.targets = {key: torch.zeros(self.batch_size, device=self.device) for key in ("returns", "advantages")}
        self.dataset = _Dataset(
            self.batch_size, self.minibatch_size, self.is_discrete, self.is_rnn, self.device, self.seq_length
        )
        if self.is_adaptive_lr:
            self.scheduler = IdentityScheduler()  # rl_games' own acts one step late, and within other bounds
        # The last thing before a step: several ranks have their gradients in common by then.
        clips, self.truncate_grads = bool(params["config"].get("truncate_grads")), False
        if clips:
            self.optimizer.register_step_pre_hook(self._clip)
        self._hooks = hooks
        self._exact_bootstrap = agent.timeout_bootstrap == "exact"
        self._normalize_minibatches = agent.normalize_advantage == "minibatch"
        self._shape = params["config"]["reward_shaper"]
        self.rewards_shaper = self._shape_and_bootstrap
        self._bootstrap: torch.Tensor | None = None
        self._iteration_open = False

    # What is reported, and what is not written.

    def train(self) -> None:
        """Train, and report the last iteration; `update_epoch` reports the others."""
        super().train()
        self._hooks.iteration_ended()

    def update_epoch(self) -> Any:
        """Count an iteration; all of the one before is done and logged by now."""
        if self._iteration_open:
            self._hooks.iteration_ended()
        self._iteration_open = True
        return super().update_epoch()

    def get_values(self, obs: dict[str, Any]) -> Any:
        """The values after a rollout, which is what rl_games asks for first when it has ended."""
        self._hooks.rollout_ended()
        return super().get_values(obs)

    def save(self, fn: str) -> None:
        """Leave out the checkpoints rl_games would write by itself."""

    # Time limits, bootstrapped exactly.

    def _preproc_obs(self, obs_batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Hand observations on: rl_games would scale the bytes of images, which the networks do (`inputs.Pixels`)."""
        return dict(obs_batch)

    def env_step(self, actions: torch.Tensor) -> tuple[Any, ...]:
        """Step, and value the observations that time limits cut off; rl_games would value those before them."""
        obs, rewards, dones, infos = super().env_step(actions)
        if self._exact_bootstrap:
            final, truncated, infos = infos.get("final"), infos["time_outs"], {}
            # Rows that did not finish may hold anything.
            self._bootstrap = (
                None if final is None else torch.where(truncated, self.gamma * self.critic(final), 0.0).unsqueeze(1)
            )
        return obs, rewards, dones, infos

    def _shape_and_bootstrap(self, rewards: torch.Tensor) -> torch.Tensor:
        """Shape rewards `[N, 1]` for learning; rl_games logs them as they were."""
        shaped: torch.Tensor = self._shape(rewards)
        return shaped if self._bootstrap is None else shaped + self._bootstrap

    # The update.

    def prepare_dataset(self, batch_dict: dict[str, Any]) -> None:
        """Prepare it, and keep what is learned from."""
        super().prepare_dataset(batch_dict)
        self.targets = {"returns": batch_dict["returns"], "advantages": self.dataset.values_dict["advantages"]}

    def calc_gradients(self, input_dict: dict[str, Any]) -> None:
        """Compute the gradients of a minibatch and take the step."""
        if self._normalize_minibatches:
            advantages = input_dict["advantages"]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            input_dict = {**input_dict, "advantages": advantages}
        self._acting = input_dict["mu"], input_dict["sigma"]
        super().calc_gradients(input_dict)

    def calc_losses(self, *arguments: Any) -> Any:
        """Compute the losses of a minibatch, the learning rate adapted first."""
        if self.is_adaptive_lr:
            self._adapt_rate(mu=arguments[8])
        return super().calc_losses(*arguments)

    def _adapt_rate(self, mu: torch.Tensor) -> None:
        """Follow the KL divergence from the policy that acted to the present one, before the step it is for."""
        acted = Normal(*self._acting, validate_args=False)  # type: ignore[misc]
        present = Normal(mu.float(), self.actor.sigma.exp(), validate_args=False)
        self.last_lr = adapted_rate(self.last_lr, mean_divergence(acted, present), self.kl_threshold)
        self.update_lr(self.last_lr)

    def _clip(self, *_: Any) -> None:
        """Clip the gradient of each network by itself, where rl_games clips them as one."""
        clip_each((self.actor, self.critic), self.grad_norm)
