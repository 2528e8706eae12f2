"""PPO in pure torch, small enough to read at one sitting: the fifth library, and a reference for the other four.

Written from the papers (Schulman et al. 2017; generalised advantages: Schulman et al. 2016) and the shared description;
no line is a library's. So the contract tests do not only compare the libraries with one another: from one seed and with
one minibatch, each must arrive at the networks this page of arithmetic arrives at. What papers and description leave
open, the bounds of the adaptive rate and the epsilons, is as in rsl_rl.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import distributed, nn
from torch.distributions import Normal, kl_divergence
from torch.utils.tensorboard import SummaryWriter

from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.base import Checkpoint, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.checkpoints import load_actor, read_checkpoint, save_atomically
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.start import draw_weights

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = "tiny"

_PARTS = ("actor", "critic")
_ACTIVATIONS = {"elu": nn.ELU, "relu": nn.ReLU, "tanh": nn.Tanh}


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> _Learner:
    """Build the networks and load what is resumed; see `base.Adapter`."""
    learner = _Learner(env, run, hooks)
    if run.resume is not None:
        content = read_checkpoint(run.resume, name, _PARTS, env.device, also=("optimizer",))
        load_actor(run.resume.path, learner.actor, content["actor"])
        load_actor(run.resume.path, learner.critic, content["critic"])
        learner.optimizer.load_state_dict(content["optimizer"])  # the learning rate of that moment with it
    return learner


def policy(env: TorchEnv, agent: Agent, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the actor of a checkpoint; its normalisation statistics are part of it and stay as they are."""
    weights = read_checkpoint(checkpoint, name, _PARTS, env.device)["actor"]
    actor = _Actor(env.obs_groups_spec["policy"], env.action_space.shape[0], config).to(env.device)
    load_actor(checkpoint.path, actor, weights)
    return torch.no_grad()(lambda obs: actor(obs["policy"]))


class _Learner:
    """The library's loop with the hooks in it; see `base.Learner`."""

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        self.config, self.update, self.hooks, self.iterations = run.config, run.config["update"], hooks, run.iterations
        dims, actions = env.obs_groups_spec, env.action_space.shape[0]
        self.critic_group = "critic" if "critic" in dims else "policy"
        self.actor = _Actor(dims["policy"], actions, run.config).to(env.device)
        self.critic = _Network(dims[self.critic_group], 1, run.config).to(env.device)
        draw_weights(run.seed, self.actor, self.critic)
        self.world_size = run.world_size
        if self.world_size > 1:
            self._join_ranks()
        parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(parameters, lr=self.update["learning_rate"])
        self.optimizers = (self.optimizer,)
        shape = (run.config["horizon"], env.num_envs)
        widths = {"obs": dims["policy"], "critic_obs": dims[self.critic_group]}
        widths |= dict.fromkeys(("actions", "mean", "std"), actions)
        self.memory = {key: torch.zeros(*shape, width, device=env.device) for key, width in widths.items()}
        for key in ("task_rewards", "rewards", "ended", "values", "log_prob", "returns", "advantages"):
            self.memory[key] = torch.zeros(*shape, device=env.device)
        self.writer = SummaryWriter(str(run.log_dir))
        self.obs = env.reset()[0]

    def _join_ranks(self) -> None:
        """Meet the other ranks, and start from rank 0's networks."""
        distributed.init_process_group("gloo")
        for network in (self.actor, self.critic):
            for tensor in network.state_dict().values():
                distributed.broadcast(tensor, 0)

    def _average(self, value: torch.Tensor) -> torch.Tensor:
        """The mean of a tensor over all ranks, in place."""
        if self.world_size > 1:
            distributed.all_reduce(value)
            value /= self.world_size
        return value

    def learn(self) -> None:
        """The library's loop: collect, estimate, update, log."""
        for iteration in range(self.iterations):
            for step in range(self.config["horizon"]):
                self._collect(step)
            self.hooks.rollout_ended()
            self._estimate_returns()
            loss = self._update_networks()
            self.writer.add_scalar("update/loss", loss, iteration)
            self.writer.add_scalar("rollout/mean_reward", self.memory["task_rewards"].mean(), iteration)
            self.hooks.iteration_ended()

    @torch.no_grad()
    def _collect(self, step: int) -> None:
        """Take one step in every environment, and copy it into the memory."""
        obs, noise = self.obs, self.actor.distribution(self.obs["policy"])
        actions = noise.sample()
        state = self.hooks.env_step(actions)
        rewards = state.reward
        if state.final_observation is not None:
            # Rows that did not finish hold NaN: they are left out by choice, which multiplying by zero would not do.
            cut_off = self.update["gamma"] * self.values(state.final_observation)
            rewards = rewards + torch.where(state.truncated, cut_off, 0.0)
        self.obs = state.obs
        for key, value in {
            "obs": obs["policy"],
            "critic_obs": obs[self.critic_group],
            "actions": actions,
            "mean": noise.mean,
            "std": noise.stddev,
            "log_prob": noise.log_prob(actions).sum(1),
            "values": self.values(obs),
            "task_rewards": state.reward,
            "rewards": rewards,
            "ended": state.terminated | state.truncated,
        }.items():
            self.memory[key][step] = value

    @torch.no_grad()
    def _estimate_returns(self) -> None:
        """Generalised advantage estimation, backwards through the rollout."""
        memory, gamma, lam = self.memory, self.update["gamma"], self.update["lam"]
        following, advantage = self.values(self.obs), 0.0
        for step in reversed(range(self.config["horizon"])):
            goes_on = 1.0 - memory["ended"][step]
            delta = memory["rewards"][step] + gamma * goes_on * following - memory["values"][step]
            memory["advantages"][step] = advantage = delta + gamma * lam * goes_on * advantage
            following = memory["values"][step]
        memory["returns"] = memory["advantages"] + memory["values"]
        if self.update["normalize_advantage"] == "batch":
            memory["advantages"] = _standardised(memory["advantages"])

    def _update_networks(self) -> float:
        """Every gradient step of an iteration; returns the mean loss."""
        samples = {key: value.flatten(0, 1) for key, value in self.memory.items()}
        losses = []
        for _ in range(self.update["epochs"]):
            order = torch.randperm(len(samples["actions"]), device=samples["actions"].device)
            for rows in order.chunk(self.update["minibatches"]):
                losses.append(self._step({key: value[rows] for key, value in samples.items()}))
        self.actor.observe(samples["obs"])
        self.critic.observe(samples["critic_obs"])
        return torch.stack(losses).mean().item()

    def _step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """One gradient step on one minibatch; returns its loss."""
        update, clip, advantages = self.update, self.update["clip"], batch["advantages"]
        noise, values = self.actor.distribution(batch["obs"]), self.critic(batch["critic_obs"]).squeeze(1)
        if update["schedule"] == "adaptive":
            divergence = kl_divergence(Normal(batch["mean"], batch["std"]), noise).sum(1).mean().detach()
            self._adapt_rate(self._average(divergence).item())
        if update["normalize_advantage"] == "minibatch":
            advantages = _standardised(advantages)
        ratio = (noise.log_prob(batch["actions"]).sum(1) - batch["log_prob"]).exp()
        surrogate = torch.min(ratio * advantages, ratio.clamp(1.0 - clip, 1.0 + clip) * advantages).mean()
        errors = (values - batch["returns"]).square()
        if update["clip_value_loss"]:
            near = batch["values"] + (values - batch["values"]).clamp(-clip, clip)
            errors = torch.max(errors, (near - batch["returns"]).square())
        entropy = noise.entropy().sum(1).mean()
        loss = update["value_loss_coef"] * errors.mean() - surrogate - update["entropy_coef"] * entropy
        self.optimizer.zero_grad()
        loss.backward()
        for network in (self.actor, self.critic):
            for parameter in network.parameters():
                self._average(parameter.grad)
        for network in (self.actor, self.critic):
            nn.utils.clip_grad_norm_(network.parameters(), update["max_grad_norm"])
        self.optimizer.step()
        return loss.detach()

    def _adapt_rate(self, kl: float) -> None:
        group, wanted = self.optimizer.param_groups[0], self.update["desired_kl"]
        if kl > 2.0 * wanted:
            group["lr"] = max(1e-5, group["lr"] / 1.5)
        elif 0.0 < kl < wanted / 2.0:
            group["lr"] = min(1e-2, group["lr"] * 1.5)

    def save(self, stem: Path) -> Path:
        """Write `stem` + ".pt"."""
        parts = {"actor": self.actor, "critic": self.critic, "optimizer": self.optimizer}
        content = {key: part.state_dict() for key, part in parts.items()}
        return save_atomically(stem.with_name(stem.name + ".pt"), lambda path: torch.save(content, path))

    def close(self) -> None:
        """Close the TensorBoard writer."""
        self.writer.close()

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        return self.actor(obs["policy"])

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        return self.critic(obs[self.critic_group]).squeeze(1)

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        return {key: value.clone() for key, value in self.memory.items()}


class _Network(nn.Module):
    """Linear layers, `[B, inputs]` to `[B, outputs]`, behind running normalisation where it is wanted."""

    def __init__(self, inputs: int, outputs: int, config: Config) -> None:
        super().__init__()
        settings = config["network"]
        self.normalize = settings["normalize"]
        if self.normalize:
            for key, start in {"mean": 0.0, "variance": 1.0, "count": 0.0}.items():
                self.register_buffer(key, torch.full((inputs,), start))
        widths, layers = [inputs, *settings["hidden"]], []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), _ACTIVATIONS[settings["activation"]]()]
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], outputs))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        if self.normalize:
            obs = (obs - self.mean) / (self.variance.sqrt() + 1e-2)
        return self.layers(obs)

    @torch.no_grad()
    def observe(self, obs: torch.Tensor) -> None:
        """Take `[B, inputs]` observations into the statistics, as Chan et al. 1979 join two samples' moments."""
        if self.normalize:
            self.count += len(obs)
            share, mean = len(obs) / self.count, obs.mean(0)
            spread = obs.var(0, unbiased=False) - self.variance + (1.0 - share) * (mean - self.mean).square()
            self.mean += share * (mean - self.mean)
            self.variance += share * spread


class _Actor(_Network):
    """The mean of the actions, and a standard deviation that does not depend on the observation."""

    def __init__(self, inputs: int, actions: int, config: Config) -> None:
        super().__init__(inputs, actions, config)
        start = torch.full((actions,), config["noise"]["init_std"]).log()
        self.log_std = nn.Parameter(start, requires_grad=config["noise"]["learn_std"])

    def distribution(self, obs: torch.Tensor) -> Normal:
        return Normal(self(obs), self.log_std.exp(), validate_args=False)


def _standardised(values: torch.Tensor) -> torch.Tensor:
    return (values - values.mean()) / (values.std() + 1e-8)
