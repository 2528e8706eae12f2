"""rl_games' SAC with the hooks in place.

`SACAgent.train` runs. Two things of it no setting changes: it squashes the logarithm of the action noise into
`network.log_std_bounds` by a tanh, and actor and critics see the `policy` observations only.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from rl_games.algos_torch.model_builder import ModelBuilder
from rl_games.algos_torch.sac_agent import SACAgent as RlGamesSAC
from torch import nn

from benchmark_app.frameworks.agent import SACAgent
from benchmark_app.frameworks.base import Checkpoint, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.checkpoints import as_policy, load_actor, read_checkpoint, refusing, save_atomically
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.start import draw_weights, seed_everything

from .runner import VecEnv, box, load_runner, native_params

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

_PARTS = ("actor", "critic", "critic_target")
_OPTIMIZERS = ("actor_optimizer", "critic_optimizer", "log_alpha_optimizer")


def policy(env: TorchEnv, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the actor of a checkpoint; its normalisation statistics stay as they are."""
    content = read_checkpoint(checkpoint, "rl_games", _PARTS, env.device)
    model = (
        ModelBuilder()
        .load(native_params(config))
        .build(
            {
                "obs_dim": env.obs_groups_spec["policy"],
                "action_dim": env.action_space.shape[0],
                "actions_num": env.action_space.shape[0],
                "input_shape": (env.obs_groups_spec["policy"],),
                "normalize_input": config["config"]["normalize_input"],
            }
        )
    )
    actor = _Actor(model)
    load_actor(checkpoint.path, actor, _actor_weights(content))
    actor.to(env.device).eval()
    return as_policy(actor)


class SACLearner:
    """The library's runner and agent; see `base.Learner`."""

    actor: nn.Module
    critic: nn.Module
    optimizers: Sequence[torch.optim.Optimizer]

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        assert isinstance(run.agent, SACAgent)
        seed_everything(run.seed)
        vec_env = VecEnv(env, hooks.env_step, lambda obs: obs["policy"], box(env.obs_groups_spec["policy"]))
        # The agent counts iterations itself, and calls its model in ways that compiling would not reach.
        decided: dict[str, Any] = {"max_epochs": -1, "torch_compile": False}
        if run.agent.target_entropy is not None:
            decided["target_entropy_coef"] = -run.agent.target_entropy / env.action_space.shape[0]
        self.runner = load_runner(run, vec_env, decided)
        self.agent = _Agent(hooks, run, self.runner.params)
        self.runner.algo_factory.register_builder(self.runner.algo_name, lambda **_: self.agent)
        networks = self.agent.model.sac_network
        self.actor, self.critic = _Actor(self.agent.model), networks.critic
        self.optimizers = tuple(getattr(self.agent, name) for name in _OPTIMIZERS)
        draw_weights(run.seed, self.actor, self.critic)
        networks.critic_target.load_state_dict(self.critic.state_dict())
        if run.resume is not None:
            self._resume(run.resume, env.device)

    def _resume(self, checkpoint: Checkpoint, device: torch.device) -> None:
        content = read_checkpoint(checkpoint, "rl_games", _PARTS, device, also=_OPTIMIZERS)
        load_actor(checkpoint.path, self.actor, _actor_weights(content))
        with refusing(checkpoint.path):
            self.agent.set_full_state_weights(content)
            self.agent.log_alpha.data.copy_(content["log_alpha"])
        # The replay buffer is empty, so that the random actions come again, as in the other libraries.
        self.agent.num_warmup_steps += self.agent.epoch_num

    def learn(self) -> None:
        """Run `Runner.run_train`, which trains the agent it is given."""
        with suppress(_BudgetReached):
            self.runner.run_train({})

    def save(self, stem: Path) -> Path:
        """Write `stem` + ".pth"; the temperature, which rl_games forgets to save, is in it."""
        state = {**self.agent.get_full_state_weights(), "log_alpha": self.agent.log_alpha.detach()}
        return save_atomically(stem.with_name(stem.name + ".pth"), lambda path: torch.save(state, path))

    def close(self) -> None:
        """Close the TensorBoard writer."""
        self.agent.writer.close()

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        actions: torch.Tensor = self.actor.eval()(obs)
        return actions

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Raise: SAC has no values of observations."""
        raise NotImplementedError

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        buffer, num_envs = self.agent.replay_buffer, self.agent.num_actors
        steps = (buffer.capacity if buffer.full else buffer.idx) // num_envs
        order = torch.arange(buffer.idx - steps * num_envs, buffer.idx, device=self.agent.device) % buffer.capacity
        found = {"obs": buffer.obses, "actions": buffer.actions, "next_obs": buffer.next_obses}
        found |= {"rewards": buffer.rewards.squeeze(1), "terminated": buffer.dones.squeeze(1)}
        return {key: value[order].unflatten(0, (steps, num_envs)) for key, value in found.items()}


class _BudgetReached(Exception):
    """All iterations are done."""


class _Agent(RlGamesSAC):  # type: ignore[misc]
    """The library's agent."""

    def __init__(self, hooks: TrainingHooks, run: TrainingRun, params: dict[str, Any]) -> None:
        super().__init__("run", params)
        self.min_alpha.zero_()  # the description knows no lower bound of the temperature
        self._hooks = hooks
        self._iterations = run.iterations
        self._done = 0
        self._iteration_open = False
        self._learning = False
        if run.agent.timeout_bootstrap == "exact":
            self._add = self.replay_buffer.add
            self.replay_buffer.add = self._add_final

    def train_epoch(self) -> Any:
        """Do an iteration, after reporting the one before: all of it is done and logged by now.

        The library's loop ends by itself only where an episode has ended, so it is left from here.
        """
        if self._iteration_open:
            self.epoch_num -= 1  # the loop has counted the iteration that only begins
            self._learning = False
            self._done += 1
            self._hooks.iteration_ended()
            if self._done == self._iterations:
                raise _BudgetReached
            self.epoch_num += 1
        self._iteration_open = True
        return super().train_epoch()

    def set_train(self) -> None:
        """Go over to learning, which rl_games does after each step."""
        super().set_train()
        self._learning = True
        self._hooks.rollout_ended()

    def set_eval(self) -> None:
        """Go over to collecting, which rl_games does before each step."""
        super().set_eval()
        if self._learning:
            self._learning = False
            self._hooks.rollout_resumed()

    def env_step(self, actions: torch.Tensor) -> tuple[Any, ...]:
        """Step, and keep the observations that episodes ended at."""
        obs, rewards, dones, infos = super().env_step(actions)
        self._ended, self._final = dones, infos.pop("final", None)
        return obs, rewards, dones, infos

    def _add_final(
        self,
        obs: torch.Tensor,
        action: torch.Tensor,
        reward: torch.Tensor,
        next_obs: torch.Tensor,
        done: torch.Tensor,
    ) -> None:
        """Store transitions, each up to where its episode ended; rl_games would have the first of the next one."""
        if self._final is not None:
            next_obs = torch.where(self._ended.unsqueeze(1), self._final, next_obs)
        self._add(obs, action, reward, next_obs, done)

    def save(self, fn: str) -> None:
        """Leave out the checkpoints rl_games would write by itself."""


class _Actor(nn.Module):
    """The policy of a model: the same modules and parameters, from observation groups to squashed mean actions."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.normalizer = model.running_mean_std if model.normalize_input else nn.Identity()
        self.network = model.sac_network.actor

    def forward(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """`[B, dim]` to `[B, A]`; in evaluation mode, or the normalisation would learn from them."""
        actions: torch.Tensor = self.network(self.normalizer(obs["policy"])).mean
        return actions


def _actor_weights(content: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The state dict of the actor, out of a checkpoint's parts."""
    statistics = content.get("running_mean_std")
    parts = {"network": content["actor"], "normalizer": statistics if isinstance(statistics, dict) else {}}
    return {f"{part}.{name}": tensor for part, weights in parts.items() for name, tensor in weights.items()}
