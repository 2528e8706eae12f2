"""skrl behind the adapter contract: `SequentialTrainer.train` runs with its PPO agent, subclassed at its own seams.

By itself skrl differs from the shared description in three ways, each closed here at a seam that skrl offers:

* It adapts the learning rate once per epoch. Its scheduler is stepped before every optimizer step instead.
* Its clipped value loss has no gradient wherever a value has moved out of the clip range, be it the wrong way, so that
  a value once wrong stays wrong. The value model gives the loss what makes it the larger of both errors instead.
* It clips the gradient of both networks together. Each is clipped by itself instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import Wrapper
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from torch.distributions import Normal, kl_divergence

from benchmark_app.envs.state import TorchEnvState

from .agent import ParameterMapping, PPOAgent
from .base import CheckpointRefused, Policy, StopTraining, TrainingHooks, TrainingRun
from .checkpoints import load_actor, read_checkpoint, save_atomically

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = "skrl"

_ACTIVATIONS = {"elu": torch.nn.ELU, "relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}

_SETTINGS = {
    "rollout": "rollouts",
    "epochs": "learning_epochs",
    "minibatches": "mini_batches",
    "learning_rate": "learning_rate",
    "gamma": "discount_factor",
    "lam": "gae_lambda",
    "clip": "ratio_clip",
    "value_loss_coef": "value_loss_scale",
    "entropy_coef": "entropy_loss_scale",
    "normalize_observations": "observation_preprocessor",
    "timeout_bootstrap": "time_limit_bootstrap",
}


def mapping(agent: PPOAgent) -> list[ParameterMapping]:
    """How each parameter reaches skrl; the differences no setting of skrl removes are named."""
    config = _config(agent)
    adaptive = agent.schedule == "adaptive"
    native = {
        "algorithm": "agents.torch.ppo.PPO",
        "iterations": f"SequentialTrainer timesteps={agent.iterations * agent.rollout}",
        "schedule": "KLAdaptiveLR before every optimizer step" if adaptive else "learning_rate_scheduler=None",
        "desired_kl": f"KLAdaptiveLR kl_threshold={agent.desired_kl}" if adaptive else "unused by a fixed schedule",
        "clip_value_loss": f"value model within {agent.clip}, value_clip=0"
        if agent.clip_value_loss
        else "value_clip=0",
        "max_grad_norm": f"each network clipped to {agent.max_grad_norm} before every optimizer step, grad_norm_clip=0",
        "hidden_layers": f"policy and value models {list(agent.hidden_layers)}",
        "activation": f"policy and value models {_ACTIVATIONS[agent.activation].__name__}",
        "init_noise_std": f"policy log_std=log({agent.init_noise_std})",
    }
    for parameter, key in _SETTINGS.items():
        value = config[key]
        native[parameter] = f"{key}={value.__name__ if isinstance(value, type) else value}"
    reasons = {}
    if agent.normalize_observations:
        reasons["normalize_observations"] = "statistics move between the minibatches of the first epoch, not after it"
    return [
        ParameterMapping(
            parameter=key,
            quality="approximate" if key in reasons else "exact",
            native=native[key],
            reason=reasons.get(key, ""),
        )
        for key in vars(agent)
    ]


def train(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> Path:
    """Train through `SequentialTrainer.train`; see `base.Adapter`."""
    trainer = build(env, run, hooks)
    try:
        with suppress(StopTraining):
            trainer.train()
    finally:
        trainer.agents.writer.close()
    saved: Path = trainer.agents.save_checkpoint(run.checkpoint_dir / "policy")
    return saved


def policy(env: TorchEnv, agent: PPOAgent, checkpoint: Path) -> Policy:
    """Load the policy model of a checkpoint, and its normalisation statistics, which stay as they are."""
    content = read_checkpoint(checkpoint, name, ("policy", "value"), env.device)
    actor = _PolicyModel(agent, _observation_space(env), env.action_space, env.device)
    load_actor(checkpoint, actor, content["policy"])
    actor.eval()
    if agent.normalize_observations != ("observation_preprocessor" in content):
        raise CheckpointRefused(
            f"checkpoint {checkpoint} refused: saved with the other agent.normalize_observations than "
            f"{agent.normalize_observations}"
        )
    normalize = torch.nn.Identity()
    if agent.normalize_observations:
        normalize = RunningStandardScaler(**_normalisation(_observation_space(env), env.device))
        normalize.load_state_dict(content["observation_preprocessor"])

    @torch.no_grad()
    def act(obs: dict[str, torch.Tensor]) -> torch.Tensor:
        mean: torch.Tensor = actor.compute({"observations": normalize(obs["policy"])}, role="policy")[0]
        return mean

    return act


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> SequentialTrainer:
    """Seed, reset the environment, and build the trainer with the hooks in place."""
    set_seed(run.seed)
    wrapper = _EnvWrapper(env, hooks.env_step, exact=run.agent.timeout_bootstrap == "exact")
    spaces = {"observation_space": wrapper.observation_space, "state_space": wrapper.state_space}
    config = _config(run.agent)
    if run.agent.normalize_observations:
        config["observation_preprocessor_kwargs"] = _normalisation(wrapper.observation_space, env.device)
        if wrapper.state_space is not None:
            config["state_preprocessor"] = RunningStandardScaler
            config["state_preprocessor_kwargs"] = _normalisation(wrapper.state_space, env.device)
    config["experiment"] = {
        "directory": str(run.log_dir.parent),
        "experiment_name": run.log_dir.name,
        "write_interval": run.agent.rollout,
        "checkpoint_interval": 0,
    }
    memory = _Memory(memory_size=run.agent.rollout, num_envs=env.num_envs, device=env.device)
    agent = _SharedPPO(
        hooks,
        run.agent,
        models={
            "policy": _PolicyModel(run.agent, wrapper.observation_space, env.action_space, env.device),
            "value": _ValueModel(run.agent, wrapper.observation_space, wrapper.state_space, env.device, memory),
        },
        memory=memory,
        **spaces,
        action_space=env.action_space,
        device=env.device,
        cfg=config,
    )
    trainer_config = {
        "timesteps": run.agent.iterations * run.agent.rollout,
        "headless": True,
        "disable_progressbar": True,
        "close_environment_at_exit": False,
    }
    return SequentialTrainer(env=wrapper, agents=agent, cfg=trainer_config)


def _config(agent: PPOAgent) -> dict[str, Any]:
    """The PPO agent's configuration, all but what depends on the environment and the run."""
    return {
        "rollouts": agent.rollout,
        "learning_epochs": agent.epochs,
        "mini_batches": agent.minibatches,
        "discount_factor": agent.gamma,
        "gae_lambda": agent.lam,
        "learning_rate": agent.learning_rate,
        "observation_preprocessor": RunningStandardScaler if agent.normalize_observations else None,
        # These three are `_SharedPPO`'s and `_ValueModel`'s.
        "learning_rate_scheduler": None,
        "grad_norm_clip": 0.0,
        "value_clip": 0.0,
        "ratio_clip": agent.clip,
        "entropy_loss_scale": agent.entropy_coef,
        "value_loss_scale": agent.value_loss_coef,
        "time_limit_bootstrap": agent.timeout_bootstrap == "exact",
    }


def _normalisation(space: gymnasium.Space[Any], device: torch.device) -> dict[str, Any]:
    """Settings under which skrl's scaler computes what rsl_rl's does: a floor of 0.01 on the scale, no clipping."""
    return {"size": space, "epsilon": 1e-2, "clip_threshold": math.inf, "device": device}


def _observation_space(env: TorchEnv, group: str = "policy") -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-np.inf, np.inf, (env.obs_groups_spec[group],), np.float32)


class _EnvWrapper(Wrapper):  # type: ignore[misc]
    """A `TorchEnv` as skrl wants it: flags and rewards `[N, 1]`, the critic's observations through `state()`."""

    def __init__(self, env: TorchEnv, step: Callable[[torch.Tensor], TorchEnvState], *, exact: bool) -> None:
        super().__init__(env)
        self._step = step
        self._exact = exact
        self._obs: dict[str, torch.Tensor] = env.reset()[0]
        self._spaces = {group: _observation_space(env, group) for group in env.obs_groups_spec}

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return self._spaces["policy"]

    @property
    def state_space(self) -> gymnasium.Space[Any] | None:
        return self._spaces.get("critic")

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the present observations: the environment was reset once, and resets finished rows itself."""
        return self._obs["policy"], {}

    def state(self) -> torch.Tensor | None:
        return self._obs.get("critic")

    def step(
        self, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        state = self._step(actions)
        self._obs = state.obs
        infos: dict[str, Any] = {}
        if self._exact and state.final_observation is not None and state.final_mask is not None:
            infos["final"] = (state.final_observation, state.final_mask.unsqueeze(1))
        return (
            state.obs["policy"],
            state.reward.unsqueeze(1),
            state.terminated.unsqueeze(1),
            state.truncated.unsqueeze(1),
            infos,
        )

    def render(self, *args: Any, **kwargs: Any) -> None:
        """Draw nothing: rendering is the environment's own business."""

    def close(self) -> None:
        """Leave the environment to whoever opened it."""


class _Memory(RandomMemory):  # type: ignore[misc]
    """skrl's rollout memory, which remembers the minibatch it handed out last, with the means of the acting policy."""

    minibatch: dict[str, torch.Tensor]

    def sample(self, names: list[str], **how: Any) -> Iterator[list[torch.Tensor]]:
        all_names = [*names, "mean_actions"]
        for tensors in super().sample(all_names, **how):
            self.minibatch = dict(zip(all_names, tensors, strict=True))
            yield tensors[:-1]


class _SharedPPO(PPO):  # type: ignore[misc]
    """skrl's PPO as the shared description has it, reporting to the hooks.

    Where an episode ended, the observation it ended at stands for the next one, which with `time_limit_bootstrap` makes
    the value skrl adds to a truncated reward the exact one; its own choice is the first of the next episode.
    """

    def __init__(self, hooks: TrainingHooks, agent: PPOAgent, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._hooks = hooks
        self._max_grad_norm = agent.max_grad_norm
        self._adaptive_rate = None
        if agent.schedule == "adaptive":
            # The limits and factors are those rsl_rl has built in.
            self._adaptive_rate = KLAdaptiveLR(
                self.optimizer, kl_threshold=agent.desired_kl, min_lr=1e-5, max_lr=1e-2, kl_factor=2.0, lr_factor=1.5
            )
        self.optimizer.register_step_pre_hook(self._before_step)

    def init(self, *, trainer_cfg: Any = None) -> None:
        super().init(trainer_cfg=trainer_cfg)
        self.memory.create_tensor(name="mean_actions", size=self.action_space, dtype=torch.float32)

    def record_transition(
        self,
        *,
        next_observations: torch.Tensor,
        next_states: torch.Tensor | None,
        infos: dict[str, Any],
        **transition: Any,
    ) -> None:
        if "final" in infos:
            final, finished = infos["final"]
            next_observations = torch.where(finished, final["policy"], next_observations)
            if next_states is not None:
                next_states = torch.where(finished, final["critic"], next_states)
        super().record_transition(
            next_observations=next_observations, next_states=next_states, infos=infos, **transition
        )

    def update(self, *, timestep: int, timesteps: int) -> None:
        self._hooks.rollout_ended()
        with torch.no_grad():
            observations = self._observation_preprocessor(self.memory.get_tensor_by_name("observations"))
            means = self.policy.compute({"observations": observations}, role="policy")[0]
            self.memory.set_tensor_by_name("mean_actions", means)
            self._acted_std = self.policy.distribution(role="policy").stddev[0].clone()
        super().update(timestep=timestep, timesteps=timesteps)
        self.track_data("Learning / Learning rate", self.optimizer.param_groups[0]["lr"])

    def _before_step(self, *_: Any) -> None:
        if self._adaptive_rate is not None:
            with torch.no_grad():
                acted = Normal(self.memory.minibatch["mean_actions"], self._acted_std)
                kl = kl_divergence(acted, self.policy.distribution(role="policy")).sum(dim=-1).mean().item()
            if kl > 0.0:
                self._adaptive_rate.step(kl)
        for model in (self.policy, self.value):
            torch.nn.utils.clip_grad_norm_(model.parameters(), self._max_grad_norm)

    def post_interaction(self, *, timestep: int, timesteps: int) -> None:
        super().post_interaction(timestep=timestep, timesteps=timesteps)
        if (timestep + 1) % self.cfg.rollouts == 0:
            self._hooks.iteration_ended(self.save_checkpoint)

    def save_checkpoint(self, stem: Path) -> Path:
        """Write the library's checkpoint as `stem` + ".pt"."""
        return save_atomically(stem.with_name(stem.name + ".pt"), lambda path: self.save(str(path)))


class _PolicyModel(GaussianMixin, Model):  # type: ignore[misc]
    """Gaussian with a learnable standard deviation that does not depend on the observation, within rsl_rl's limits."""

    def __init__(
        self,
        agent: PPOAgent,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        device: torch.device,
    ) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device=device)
        GaussianMixin.__init__(self, clip_actions=False, min_log_std=math.log(1e-6), max_log_std=math.log(1e6))
        self.net = _mlp(self.num_observations, agent, self.num_actions)
        self.log_std = torch.nn.Parameter(torch.log(torch.full((self.num_actions,), agent.init_noise_std)))
        self.to(device)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class _ValueModel(DeterministicMixin, Model):  # type: ignore[misc]
    """Critic of the critic's observations where the environment has them, else of the policy's.

    In training mode, which skrl sets for the minibatches of an update only, it returns for each sample the predicted
    value or the one clipped around the value at the time of acting, whichever is farther from the return: squared, that
    is the clipped value loss, max((V - R)², (V_clipped - R)²).
    """

    def __init__(
        self,
        agent: PPOAgent,
        observation_space: gymnasium.Space[Any],
        state_space: gymnasium.Space[Any] | None,
        device: torch.device,
        memory: _Memory,
    ) -> None:
        Model.__init__(self, observation_space=observation_space, state_space=state_space, device=device)
        DeterministicMixin.__init__(self)
        self._input = "observations" if state_space is None else "states"
        self._clip = agent.clip if agent.clip_value_loss else None
        self._memory = memory
        self.net = _mlp(self.num_observations if state_space is None else self.num_states, agent, 1)
        self.to(device)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        values = self.net(inputs[self._input])
        if self.training and self._clip is not None:
            before, returns = self._memory.minibatch["values"], self._memory.minibatch["returns"]
            clipped = before + (values - before).clamp(-self._clip, self._clip)
            values = torch.where((clipped - returns).abs() > (values - returns).abs(), clipped, values)
        return values, {}


def _mlp(inputs: int, agent: PPOAgent, outputs: int) -> torch.nn.Sequential:
    widths = [inputs, *agent.hidden_layers]
    layers: list[torch.nn.Module] = []
    for width, next_width in itertools.pairwise(widths):
        layers += [torch.nn.Linear(width, next_width), _ACTIVATIONS[agent.activation]()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], outputs))
