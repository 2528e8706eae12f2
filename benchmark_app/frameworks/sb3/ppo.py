"""SB3's PPO as the shared description has it: `PPO.learn` runs, subclassed at its own seams.

By itself SB3 differs from the description, and each difference is closed here:

* It keeps a learning rate schedule but none that follows the KL divergence. The rate is adapted before every optimizer
  step, in a hook of the optimizer, which is also where the gradient of each network is clipped by itself.
* Its clipped value loss is the squared error of the clipped value alone. The policy gives it what makes it the larger
  of both errors.
* It normalises advantages per minibatch or not at all. The buffer normalises them over the whole rollout.
* It gives actor and critic the same observation. Each takes its own columns of it.
* It writes a row to TensorBoard before the update. It is written after it, so that the row holds its own losses.

SB3 shuffles the samples anew in every epoch, with NumPy's generator. No setting changes that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import MlpExtractor
from stable_baselines3.common.utils import update_learning_rate
from torch.distributions import Normal

from benchmark_app.frameworks.agent import Agent, PPOAgent
from benchmark_app.frameworks.base import TrainingHooks, TrainingRun
from benchmark_app.frameworks.inputs import Inputs
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.ppo_rules import adapted_rate, clip_each, farther_value, mean_divergence
from benchmark_app.frameworks.start import draw_weights

from .networks import (
    Columns,
    Network,
    Rate,
    columns,
    convolutions,
    network_settings,
    observation_space,
    side_by_side,
)
from .vec_env import TorchVecEnv

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

# SB3 clips actions to finite bounds. These change nothing: the environment gets what the policy drew and clamps itself.
_BOUND = float(np.finfo(np.float32).max)

_ACTOR = ("log_std", "pi_features_extractor", "mlp_extractor.policy_net", "action_net")
_CRITIC = ("vf_features_extractor", "mlp_extractor.value_net", "value_net")


class SharedPPO(PPO):  # type: ignore[misc]
    """PPO of the shared description, reporting to the hooks."""

    policy: SharedPPOPolicy
    rollout_buffer: Rollouts

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        assert isinstance(run.agent, PPOAgent)
        settings = dict(run.config)
        self._max_grad_norm = settings.pop("max_grad_norm")
        self._desired_kl = run.agent.desired_kl if run.agent.schedule == "adaptive" else None
        self.rate = Rate(settings.pop("learning_rate"))
        super().__init__(
            SharedPPOPolicy,
            TorchVecEnv(env, hooks.env_step, bound=_BOUND),
            **{
                **settings,
                "learning_rate": self.rate,
                "batch_size": env.num_envs * run.agent.rollout // run.agent.minibatches,
                "max_grad_norm": math.inf,
                "clip_range_vf": None,
                "rollout_buffer_class": Rollouts,
                "policy_kwargs": _policy_kwargs(Inputs(env), run.agent, run.config),
                "device": env.device,
            },
        )
        self._hooks = hooks
        self._inputs = Inputs(env)
        self.networks = self.policy.networks()
        if not self.policy.ortho_init:
            draw_weights(run.seed, *self.networks)
        self.rollout_buffer.report_full = hooks.rollout_ended
        self.rollout_buffer.normalize = run.agent.normalize_advantage == "batch" and not self.normalize_advantage
        self.policy.rollout_buffer = self.rollout_buffer
        self.policy.optimizer.register_step_pre_hook(self._before_step)

    def train(self) -> None:
        """Update, learn the observation statistics, and write the row of this iteration."""
        observations = self.rollout_buffer.all_observations()
        if self._desired_kl is not None:
            with torch.no_grad():
                self._acted = self.policy.get_distribution(observations).distribution
        super().train()
        self.policy.pi_features_extractor.learn(observations)
        self.policy.vf_features_extractor.learn(observations)
        self.dump_logs()
        self._hooks.iteration_ended()

    def _before_step(self, *_: Any) -> None:
        if self._desired_kl is not None:
            rows = torch.from_numpy(self.rollout_buffer.rows).to(self.device)
            acted = Normal(self._acted.loc[rows], self._acted.scale[rows], validate_args=False)
            divergence = mean_divergence(acted, self.policy.action_dist.distribution)
            self.rate.value = adapted_rate(self.rate.value, divergence, self._desired_kl)
            update_learning_rate(self.policy.optimizer, self.rate.value)
        clip_each(self.networks, self._max_grad_norm)

    def values(self, obs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        values: torch.Tensor = self.policy.predict_values(side_by_side(obs, self._inputs))
        return values.squeeze(1)

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        found = self.rollout_buffer.in_order()
        sees = self._inputs.actor
        return found | sees.by_name(found.pop("observations")[..., : sees.flat_width])

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "networks", "_hooks", "_acted", "_last_obs", "_inputs"]


class Rollouts(RolloutBuffer):  # type: ignore[misc]
    """SB3's rollout buffer, which reports that it is full, and remembers which rows it handed out last.

    Attributes:
        report_full: Called when the last step is stored, before returns are computed.
        normalize: Whether advantages are normalised over the whole rollout.
        rows: Rows `[B]` of the present minibatch.
        minibatch: Its samples.
    """

    report_full: Callable[[], None]
    normalize: bool
    advantages: np.ndarray[Any, Any]
    rows: np.ndarray[Any, Any]
    minibatch: Any

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Store one step of all environments."""
        super().add(*args, **kwargs)
        if self.full:
            self.report_full()

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: np.ndarray[Any, Any]) -> None:
        """Compute returns and advantages, with the standard deviation that torch would take."""
        super().compute_returns_and_advantage(last_values, dones)
        if self.normalize:
            self.advantages = (self.advantages - self.advantages.mean()) / (self.advantages.std(ddof=1) + 1e-8)

    def _get_samples(self, batch_inds: np.ndarray[Any, Any], env: Any = None) -> Any:
        self.rows = batch_inds
        self.minibatch = super()._get_samples(batch_inds, env)
        return self.minibatch

    def all_observations(self) -> torch.Tensor:
        """Observations `[N·T, all]`, in the order in which minibatches number them; before any was drawn."""
        flat: torch.Tensor = self.to_torch(self.swap_and_flatten(self.observations), copy=False)
        return flat

    def in_order(self) -> dict[str, torch.Tensor]:
        """A copy of what is stored, `[T, N]` or `[T, N, dim]`. Drawing minibatches has flattened all but rewards."""
        found = {}
        for key in ("observations", "actions", "rewards", "values", "returns", "advantages"):
            array = getattr(self, key)
            if self.generator_ready and key != "rewards":
                array = array.reshape(self.n_envs, self.buffer_size, -1).swapaxes(0, 1)
                array = array if key in ("observations", "actions") else array.squeeze(-1)
            found[key] = self.to_torch(array)
        return found


class SharedPPOPolicy(ActorCriticPolicy):  # type: ignore[misc]
    """SB3's policy with an observation group, and statistics, for each network.

    Attributes:
        PARTS: What a checkpoint holds.
        rollout_buffer: Where the minibatch that is evaluated came from; for the value clip.
    """

    PARTS = ("policy", "policy.optimizer")

    rollout_buffer: Rollouts

    def __init__(
        self,
        *args: Any,
        critic_columns: dict[str, Any],
        learn_noise_std: bool,
        value_clip: float | None,
        mixed_precision: bool,
        **kwargs: Any,
    ) -> None:
        self._critic_columns = critic_columns
        self._value_clip = value_clip
        self._mixed_precision = mixed_precision
        super().__init__(*args, features_extractor_class=Columns, share_features_extractor=False, **kwargs)
        self.log_std.requires_grad_(learn_noise_std)

    @classmethod
    def to_play(cls, env: TorchEnv, agent: Agent, config: Config) -> SharedPPOPolicy:
        """Build a policy to load a checkpoint into."""
        assert isinstance(agent, PPOAgent)
        inputs = Inputs(env)
        settings = {"use_sde": config["use_sde"], **_policy_kwargs(inputs, agent, config)}
        return cls(observation_space(inputs), env.action_space, Rate(agent.learning_rate), **settings)

    def _build_mlp_extractor(self) -> None:
        """Build both networks as SB3 does, but the critic's for its own number of inputs."""
        super()._build_mlp_extractor()
        own = {**self.features_extractor_kwargs, **self._critic_columns}
        self.vf_features_extractor = Columns(self.observation_space, **own)
        inputs = self.vf_features_extractor.features_dim
        critic = MlpExtractor(inputs, self.net_arch, self.activation_fn, self.device)
        self.mlp_extractor.value_net = critic.value_net

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values, log-probabilities and entropies of a minibatch, each `[B]` but the values `[B, 1]`.

        With a value clip, the values are those whose squared error is the clipped loss (`ppo_rules.farther_value`).
        """
        with torch.autocast(obs.device.type, torch.bfloat16, enabled=self._mixed_precision):
            values, log_prob, entropy = super().evaluate_actions(obs, actions)
        values = values.float()
        if self._value_clip is not None:
            minibatch = self.rollout_buffer.minibatch
            before, returns = minibatch.old_values.unsqueeze(1), minibatch.returns.unsqueeze(1)
            values = farther_value(values, before, returns, self._value_clip)
        return values, log_prob, entropy

    def networks(self) -> tuple[Network, Network]:
        """Actor and critic."""
        return Network(self, *_ACTOR), Network(self, *_CRITIC)

    def mean_actions(self, obs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Deterministic actions `[B, A]` for what the actor sees, whose columns come first."""
        actions: torch.Tensor = self.get_distribution(self.pi_features_extractor.sees.flat(obs)).mode()
        return actions


def _policy_kwargs(inputs: Inputs, agent: PPOAgent, config: Config) -> dict[str, Any]:
    settings = network_settings(config)
    layers = settings.pop("encoder")
    of_images = None if layers is None else partial(convolutions, layers=layers, activation=settings["activation_fn"])
    return {
        **settings,
        "features_extractor_kwargs": {
            **columns(inputs, inputs.actor),
            "normalize": agent.normalize_observations,
            "encoder": of_images,
        },
        "critic_columns": columns(inputs, inputs.critic),
        "learn_noise_std": agent.learn_noise_std,
        "value_clip": config["clip_range_vf"],
        "mixed_precision": agent.precision == "mixed",
    }
