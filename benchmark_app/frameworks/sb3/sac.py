"""SB3's SAC in iterations: `SAC.learn` runs, one control step and its gradient steps at a time.

The critics take their own observation group where a task has one, as those of PPO do. Resuming starts with an empty
replay buffer, and so with `agent.learning_starts` random steps: the buffer is no part of SB3's checkpoint.

Of SB3's SAC no setting changes: the temperature is updated before the critics, the critics' losses are halved, the
logarithm of the standard deviation is clamped to [-20, 2], and batches are drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.common.type_aliases import RolloutReturn
from stable_baselines3.sac.policies import SACPolicy

from benchmark_app.frameworks.agent import Agent, SACAgent
from benchmark_app.frameworks.base import TrainingHooks, TrainingRun
from benchmark_app.frameworks.inputs import Inputs
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.start import draw_weights

from .networks import Columns, Network, Rate, columns, network_settings, observation_space
from .vec_env import TorchVecEnv

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv


class SharedSAC(SAC):  # type: ignore[misc]
    """SAC of the shared description, reporting to the hooks."""

    policy: SharedSACPolicy

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        assert isinstance(run.agent, SACAgent)
        self.rate = Rate(run.config["learning_rate"])
        super().__init__(
            SharedSACPolicy,
            TorchVecEnv(env, hooks.env_step, bound=1.0),
            **{
                **run.config,
                "learning_rate": self.rate,
                "learning_starts": env.num_envs * run.agent.learning_starts,  # SB3 counts transitions
                "policy_kwargs": _policy_kwargs(Inputs(env), run.config),
                "device": env.device,
            },
        )
        self._hooks = hooks
        self._inputs = Inputs(env)
        self._iteration = env.num_envs * run.agent.rollout
        self.networks = self.policy.networks()
        draw_weights(run.seed, self.actor, self.critic)
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.action_space.seed(run.seed)  # of the random actions at the start

    def collect_rollouts(self, *args: Any, **kwargs: Any) -> RolloutReturn:
        """Take one control step, which ends an iteration if nothing is learned after it."""
        collected = super().collect_rollouts(*args, **kwargs)
        learns = self.num_timesteps > self.learning_starts and self.gradient_steps != 0
        if not learns and self.num_timesteps % self._iteration == 0:
            self._end_iteration()
        return collected

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Do the gradient steps that belong to a control step."""
        self._hooks.rollout_ended()
        super().train(gradient_steps, batch_size)
        if self.num_timesteps % self._iteration == 0:
            self._end_iteration()
        else:
            self._hooks.rollout_resumed()

    def _end_iteration(self) -> None:
        self.dump_logs()
        self._hooks.iteration_ended()

    def values(self, obs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """SAC has no value of an observation alone."""
        raise NotImplementedError

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        buffer = self.replay_buffer
        own = slice(0, self._inputs.actor.flat_width)
        found = {
            "obs": buffer.observations[..., own],
            "actions": buffer.actions,
            "rewards": buffer.rewards,
            "next_obs": buffer.next_observations[..., own],
            "terminated": buffer.dones * (1 - buffer.timeouts),
        }
        order = [*range(buffer.pos, buffer.buffer_size if buffer.full else buffer.pos), *range(buffer.pos)]
        return {key: torch.tensor(array[order]) for key, array in found.items()}

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "networks", "_hooks", "_inputs", "_last_obs", "_last_original_obs"]


class SharedSACPolicy(SACPolicy):  # type: ignore[misc]
    """SB3's policy with an observation group for each network.

    Attributes:
        PARTS: What a checkpoint holds at least.
    """

    PARTS = ("policy", "actor.optimizer", "critic.optimizer")

    def __init__(self, *args: Any, critic_columns: dict[str, Any], **kwargs: Any) -> None:
        self._critic_columns = critic_columns
        super().__init__(*args, features_extractor_class=Columns, **kwargs)

    @classmethod
    def to_play(cls, env: TorchEnv, agent: Agent, config: Config) -> SharedSACPolicy:
        """Build a policy to load a checkpoint into."""
        inputs = Inputs(env)
        settings = {"use_sde": config["use_sde"], **_policy_kwargs(inputs, config)}
        return cls(observation_space(inputs), env.action_space, Rate(agent.learning_rate), **settings)

    def make_critic(self, features_extractor: Columns | None = None) -> ContinuousCritic:
        """Build the critics, on their own columns of the observation."""
        own: dict[str, Any] = self._critic_columns
        return super().make_critic(features_extractor or Columns(self.observation_space, **own))

    def networks(self) -> tuple[Network, Network, Network]:
        """Actor, critics and their targets."""
        return Network(self, "actor"), Network(self, "critic"), Network(self, "critic_target")

    def mean_actions(self, obs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Deterministic actions `[B, A]` for the policy's observation group, whose columns come first."""
        actions: torch.Tensor = self.actor(obs["policy"], deterministic=True)
        return actions


def _policy_kwargs(inputs: Inputs, config: Config) -> dict[str, Any]:
    return {
        **network_settings(config),
        "features_extractor_kwargs": columns(inputs, inputs.actor),
        "critic_columns": columns(inputs, inputs.critic),
    }
