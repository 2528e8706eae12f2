"""skrl's PPO as the shared description has it.

By itself skrl differs from the description in four ways, each closed here at a seam that skrl offers:

* It adapts the learning rate once per epoch. Its scheduler is stepped before every optimizer step instead.
* Its clipped value loss has no gradient wherever a value has moved out of the clip range, be it the wrong way, so that
  a value once wrong stays wrong. The value model gives the loss what makes it the larger of both errors instead.
* It clips the gradient of both networks together. Each is clipped by itself instead.
* It normalises advantages over the batch. Where that is to be per minibatch, the memory does so once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from skrl.agents.torch.ppo import PPO
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.schedulers.torch import KLAdaptiveLR
from torch.distributions import Normal

from benchmark_app.frameworks.agent import PPOAgent
from benchmark_app.frameworks.base import TrainingHooks, TrainingRun
from benchmark_app.frameworks.inputs import Inputs, Sees
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.ppo_rules import clip_each, farther_value, mean_divergence
from benchmark_app.frameworks.start import draw_weights

from .environment import EnvWrapper, FinalObservations, space_of
from .learner import Learner, experiment
from .parts import agent_settings, encoder, mixin_settings, mlp

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv


class PolicyModel(GaussianMixin, Model):  # type: ignore[misc]
    """Gaussian whose standard deviation does not depend on the observation."""

    def __init__(self, settings: Config, env: TorchEnv) -> None:
        space = space_of(env)
        Model.__init__(self, observation_space=space, action_space=env.action_space, device=env.device)
        GaussianMixin.__init__(self, **mixin_settings(settings))
        self.encoder = encoder(Inputs(env).actor, settings)
        width = self.num_observations if self.encoder is None else self.encoder.width
        self.net = mlp(width, settings, self.num_actions)
        log_std = torch.log(settings["initial_std"] * torch.ones(self.num_actions))
        self.log_std = torch.nn.Parameter(log_std, requires_grad=not settings["fixed_log_std"])

    def mean(self, observations: torch.Tensor) -> torch.Tensor:
        """Normalised observations `[B, dim]` to deterministic actions `[B, A]`."""
        seen = observations if self.encoder is None else self.encoder(observations)
        actions: torch.Tensor = self.net(seen).float()  # mixed precision ends here
        return actions

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """What skrl's mixin makes a distribution of."""
        return self.mean(inputs["observations"]), {"log_std": self.log_std}


class _ValueModel(DeterministicMixin, Model):  # type: ignore[misc]
    """Critic of the critic's observations where the environment has them, else of the policy's.

    In training mode, which skrl sets for the minibatches of an update only, its values are those whose squared error is
    the clipped loss (`ppo_rules.farther_value`).
    """

    clip = 0.0

    def __init__(self, settings: Config, env: EnvWrapper, sees: Sees, memory: _Memory) -> None:
        Model.__init__(self, observation_space=env.observation_space, state_space=env.state_space, device=env.device)
        DeterministicMixin.__init__(self, **mixin_settings(settings))
        self._memory = memory
        self._input = "observations" if env.state_space is None else "states"
        self.encoder = encoder(sees, settings)
        self.net = mlp(sees.flat_width if self.encoder is None else self.encoder.width, settings, 1)

    def predict(self, inputs: dict[str, Any]) -> torch.Tensor:
        """Normalised observations `[B, dim]` to values `[B, 1]`, as the value preprocessor knows them."""
        seen = inputs[self._input]
        values: torch.Tensor = self.net(seen if self.encoder is None else self.encoder(seen))
        return values

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """What skrl takes for the value."""
        values = self.predict(inputs)
        if self.training and self.clip > 0.0:
            before, returns = self._memory.minibatch["values"], self._memory.minibatch["returns"]
            values = farther_value(values, before, returns, self.clip)
        return values, {}


class _Memory(RandomMemory):  # type: ignore[misc]
    """skrl's rollout memory, which remembers the minibatch it handed out last, with the means of the acting policy."""

    minibatch: dict[str, torch.Tensor]

    def __init__(self, *, normalize_minibatches: bool, **settings: Any) -> None:
        super().__init__(**settings)
        self._normalize_minibatches = normalize_minibatches

    def sample(self, names: list[str], **how: Any) -> Iterator[list[torch.Tensor]]:
        """Hand out the minibatches of an epoch, one by one."""
        all_names = [*names, "mean_actions"]
        for tensors in super().sample(all_names, **how):
            self.minibatch = dict(zip(all_names, tensors, strict=True))
            if self._normalize_minibatches:
                # skrl has shifted and scaled them all alike, which normalising undoes.
                advantages = self.minibatch["advantages"]
                self.minibatch["advantages"] = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            yield [self.minibatch[name] for name in names]


class _SharedPPO(FinalObservations, PPO):  # type: ignore[misc]
    """skrl's PPO with the hooks in place; see the module for what it does in skrl's stead."""

    scheduler: Any

    def __init__(self, hooks: TrainingHooks, **settings: Any) -> None:
        super().__init__(**settings)
        self._hooks = hooks
        self._adaptive_rate: KLAdaptiveLR | None = None
        if isinstance(self.scheduler, KLAdaptiveLR):
            self._adaptive_rate, self.scheduler = self.scheduler, None
        self._max_grad_norm, self.cfg.grad_norm_clip = self.cfg.grad_norm_clip, 0.0
        self.value.clip, self.cfg.value_clip = self.cfg.value_clip, 0.0
        self.optimizer.register_step_pre_hook(self._before_step)

    def init(self, *, trainer_cfg: Any = None) -> None:
        """Create the memory's tensors."""
        super().init(trainer_cfg=trainer_cfg)
        self.memory.create_tensor(name="mean_actions", size=self.action_space, dtype=torch.float32)

    def act(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        """Act, and remember by which distribution."""
        actions, outputs = super().act(*args, **kwargs)
        self.memory.get_tensor_by_name("mean_actions")[self.memory.memory_index] = outputs["mean_actions"]
        self._acted_std = outputs["log_std"].exp()
        return actions, outputs

    def update(self, *, timestep: int, timesteps: int) -> None:
        """Report, then learn."""
        self._hooks.rollout_ended()
        super().update(timestep=timestep, timesteps=timesteps)
        self.track_data("Learning / Learning rate", self.optimizer.param_groups[0]["lr"])

    def post_interaction(self, *, timestep: int, timesteps: int) -> None:
        """Let skrl learn and write its row where a rollout is complete, then report."""
        super().post_interaction(timestep=timestep, timesteps=timesteps)
        if (timestep + 1) % self.cfg.rollouts == 0:
            self._hooks.iteration_ended()

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Groups of `Inputs.flat` to denormalised values `[B]`."""
        inputs = {
            "observations": self._observation_preprocessor(obs["policy"]),
            "states": self._state_preprocessor(obs.get("critic")),
        }
        values: torch.Tensor = self._value_preprocessor(self.value.predict(inputs), inverse=True)
        return values.squeeze(1)

    def _before_step(self, *_: Any) -> None:
        if self._adaptive_rate is not None:
            acted = Normal(self.memory.minibatch["mean_actions"], self._acted_std)
            kl = mean_divergence(acted, self.policy.distribution(role="policy"))
            if kl > 0.0:
                self._adaptive_rate.step(kl)
        if self._max_grad_norm > 0.0:
            clip_each((self.policy, self.value), self._max_grad_norm)


class PPOLearner(Learner):
    """PPO; see `base.Learner`."""

    MODELS = ("policy", "value")
    POLICY = PolicyModel

    def __init__(self, env: TorchEnv, wrapper: EnvWrapper, run: TrainingRun, hooks: TrainingHooks) -> None:
        assert isinstance(run.agent, PPOAgent)
        memory = _Memory(
            normalize_minibatches=run.agent.normalize_advantage == "minibatch",
            memory_size=run.agent.rollout,
            num_envs=env.num_envs,
            device=env.device,
            **run.config["memory"],
        )
        models = run.config["models"]
        policy = PolicyModel(models["policy"], env)
        value = _ValueModel(models["value"], wrapper, Inputs(env).critic, memory)
        draw_weights(run.seed, policy, value)
        agent = _SharedPPO(
            hooks,
            models={"policy": policy, "value": value},
            memory=memory,
            observation_space=wrapper.observation_space,
            state_space=wrapper.state_space,
            action_space=env.action_space,
            device=env.device,
            cfg={**agent_settings(run.config, env), "experiment": experiment(run)},
        )
        super().__init__(wrapper, run, agent, value, (agent.optimizer,))

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        values: torch.Tensor = self.agent.values(self.inputs.flat(obs))
        return values

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`; values and returns are normalised where `agent.normalize_values` is on."""
        stored = self.agent.memory.get_tensor_by_name
        scalars = {key: stored(key).squeeze(-1) for key in ("rewards", "values", "returns", "advantages")}
        found = {"actions": stored("actions"), **scalars, **self.inputs.actor.by_name(stored("observations"))}
        return {key: value.clone() for key, value in found.items()}
