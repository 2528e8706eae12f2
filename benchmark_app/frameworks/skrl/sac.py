"""skrl's SAC as the shared description has it: skrl brings the update, the squashed policy is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from skrl.agents.torch.sac import SAC
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model

from benchmark_app.frameworks.agent import SACAgent
from benchmark_app.frameworks.base import Checkpoint, TrainingHooks, TrainingRun
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.start import draw_weights

from .environment import EnvWrapper, FinalObservations, space_of
from .learner import Learner, experiment
from .parts import agent_settings, hidden, mixin_settings, mlp

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv


class SquashedPolicyModel(GaussianMixin, Model):  # type: ignore[misc]
    """Gaussian squashed by tanh, mean and standard deviation from one trunk (Haarnoja et al. 2018, appendix C)."""

    def __init__(self, settings: Config, env: TorchEnv) -> None:
        Model.__init__(self, observation_space=space_of(env), action_space=env.action_space, device=env.device)
        GaussianMixin.__init__(self, **mixin_settings(settings))
        self.trunk = hidden(self.num_observations, settings)
        width = settings["hidden_layers"][-1]
        self.mu = torch.nn.Linear(width, self.num_actions)
        self.log_std = torch.nn.Linear(width, self.num_actions)

    def mean(self, observations: torch.Tensor) -> torch.Tensor:
        """Normalised observations `[B, dim]` to deterministic actions `[B, A]`."""
        return torch.tanh(self.compute({"observations": observations})[0])

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """What skrl's mixin makes a distribution of, before it is squashed."""
        latent = self.trunk(inputs["observations"])
        return self.mu(latent).float(), {"log_std": self.log_std(latent).float()}  # mixed precision ends here

    def act(self, inputs: dict[str, Any], *, role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """Squash what skrl's mixin has drawn, and correct its density for it."""
        unbounded, outputs = super().act(inputs, role=role)
        actions = torch.tanh(unbounded)
        outputs["log_prob"] = outputs["log_prob"] - torch.log(1.0 - actions**2 + 1e-6).sum(dim=-1, keepdim=True)
        outputs["mean_actions"] = torch.tanh(outputs["mean_actions"])
        return actions, outputs

    def random_act(self, inputs: dict[str, Any], *, role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """Draw uniform actions: skrl's own, from a copy of an unseeded generator, are the same at every step."""
        shape = (inputs["observations"].shape[0], self.num_actions)
        return torch.rand(shape, device=self.device) * 2.0 - 1.0, {}


class _CriticModel(DeterministicMixin, Model):  # type: ignore[misc]
    """Value of an action for the critic's observations where the environment has them, else for the policy's."""

    def __init__(self, settings: Config, env: EnvWrapper) -> None:
        Model.__init__(
            self,
            observation_space=env.observation_space,
            state_space=env.state_space,
            action_space=env.action_space,
            device=env.device,
        )
        DeterministicMixin.__init__(self, **mixin_settings(settings))
        self._input = "observations" if env.state_space is None else "states"
        inputs = self.num_observations if env.state_space is None else self.num_states
        self.net = mlp(inputs + self.num_actions, settings, 1)

    def compute(self, inputs: dict[str, Any], role: str = "") -> tuple[torch.Tensor, dict[str, Any]]:
        """What skrl takes for the value."""
        return self.net(torch.cat([inputs[self._input], inputs["taken_actions"]], dim=1)), {}


class _SharedSAC(FinalObservations, SAC):  # type: ignore[misc]
    """skrl's SAC with the hooks in place. Its checkpoint holds the temperature, which skrl leaves out."""

    def __init__(self, hooks: TrainingHooks, rollout: int, **settings: Any) -> None:
        super().__init__(**settings)
        self._hooks = hooks
        self._iteration = rollout
        if self.cfg.learn_entropy:
            temperature = torch.nn.Module()
            temperature.register_buffer("log_entropy_coefficient", self.log_entropy_coefficient)
            self.checkpoint_modules["temperature"] = temperature

    def update(self, *, timestep: int, timesteps: int) -> None:
        """Report, then learn."""
        self._hooks.rollout_ended()
        super().update(timestep=timestep, timesteps=timesteps)

    def post_interaction(self, *, timestep: int, timesteps: int) -> None:
        """Let skrl learn, and write its row where an iteration is complete, then report."""
        super().post_interaction(timestep=timestep, timesteps=timesteps)
        if (timestep + 1) % self._iteration == 0:
            self._hooks.iteration_ended()
        elif timestep >= self.cfg.learning_starts:
            self._hooks.rollout_resumed()

    def use_restored_temperature(self) -> None:
        """Take the temperature that was loaded into its logarithm."""
        if self.cfg.learn_entropy:
            self._entropy_coefficient = torch.exp(self.log_entropy_coefficient.detach())


class SACLearner(Learner):
    """SAC; see `base.Learner`."""

    MODELS = ("policy", "critic_1", "critic_2", "target_critic_1", "target_critic_2")
    POLICY = SquashedPolicyModel

    def __init__(self, env: TorchEnv, wrapper: EnvWrapper, run: TrainingRun, hooks: TrainingHooks) -> None:
        assert isinstance(run.agent, SACAgent)
        settings = run.config["models"]
        policy = SquashedPolicyModel(settings["policy"], env)
        critics = {key: _CriticModel(settings["critic"], wrapper) for key in self.MODELS[1:]}
        draw_weights(run.seed, policy, critics["critic_1"], critics["critic_2"])
        agent = _SharedSAC(
            hooks,
            run.agent.rollout,
            models={"policy": policy, **critics},
            memory=RandomMemory(
                memory_size=run.agent.buffer_size // env.num_envs,
                num_envs=env.num_envs,
                device=env.device,
                **run.config["memory"],
            ),
            observation_space=wrapper.observation_space,
            state_space=wrapper.state_space,
            action_space=env.action_space,
            device=env.device,
            cfg={**agent_settings(run.config, env), "experiment": experiment(run)},
        )
        both = torch.nn.ModuleList([critics["critic_1"], critics["critic_2"]])
        optimizers = [agent.policy_optimizer, agent.critic_optimizer]
        if agent.cfg.learn_entropy:
            optimizers.append(agent.entropy_optimizer)
        super().__init__(wrapper, run, agent, both, optimizers)

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`: PPO only."""
        raise NotImplementedError("SAC's critics value actions, not observations")

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        memory = self.agent.memory
        names = {"obs": "observations", "next_obs": "next_observations", "actions": "actions"}
        found = {key: memory.get_tensor_by_name(stored) for key, stored in names.items()}
        found |= {key: memory.get_tensor_by_name(key).squeeze(-1) for key in ("rewards", "terminated")}
        if memory.filled:  # a ring: the oldest stands where the next one goes
            return {key: value.roll(-memory.memory_index, dims=0) for key, value in found.items()}
        return {key: value[: memory.memory_index].clone() for key, value in found.items()}

    def _restore(self, checkpoint: Checkpoint) -> None:
        super()._restore(checkpoint)
        self.agent.use_restored_temperature()
