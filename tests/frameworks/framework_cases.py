"""What every adapter test needs: the list of adapters, a small environment in pure torch, and hooks that take notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.frameworks.agent import PPOAgent
from benchmark_app.frameworks.base import StopTraining, TrainingRun
from benchmark_app.frameworks.registry import load_adapter

Obs = dict[str, torch.Tensor]


@dataclass
class Live:
    """The objects a training really uses; `mean` and `value` are its actor and critic with their normalisation."""

    actor: torch.nn.Module
    critic: torch.nn.Module
    optimizer: torch.optim.Optimizer
    mean: Callable[[Obs], torch.Tensor]
    value: Callable[[Obs], torch.Tensor]
    rollout: Callable[[], dict[str, torch.Tensor]]


def live_rsl_rl(runner: Any) -> Live:
    algorithm, storage = runner.alg, runner.alg.storage

    def rollout() -> dict[str, torch.Tensor]:
        names = ("rewards", "values", "returns", "advantages")
        scalars = {name: getattr(storage, name).squeeze(-1).clone() for name in names}
        return {"obs": storage.observations["policy"].clone(), "actions": storage.actions.clone(), **scalars}

    def value(obs: Obs) -> torch.Tensor:
        return algorithm.critic(obs).squeeze(1)

    return Live(algorithm.actor, algorithm.critic, algorithm.optimizer, algorithm.actor, value, rollout)


def live_skrl(trainer: Any) -> Live:
    agent, tensors = trainer.agents, trainer.agents.memory.tensors

    def rollout() -> dict[str, torch.Tensor]:
        names = ("rewards", "values", "returns", "advantages")
        scalars = {name: tensors[name].squeeze(-1).clone() for name in names}
        return {"obs": tensors["observations"].clone(), "actions": tensors["actions"].clone(), **scalars}

    def inputs(obs: Obs) -> dict[str, Any]:
        observations, states = obs["policy"], obs.get("critic")
        return {
            "observations": agent._observation_preprocessor(observations),
            "states": agent._state_preprocessor(states),
        }

    def mean(obs: Obs) -> torch.Tensor:
        return agent.policy.act(inputs(obs), role="policy")[1]["mean_actions"]

    def value(obs: Obs) -> torch.Tensor:
        return agent.value.net(inputs(obs)["states" if "critic" in obs else "observations"]).squeeze(1)

    return Live(agent.policy, agent.value, agent.optimizer, mean, value, rollout)


CASES: dict[str, Callable[[Any], Live]] = {
    "rsl_rl": live_rsl_rl,
    "skrl": live_skrl,
}
"""Every adapter under test, with how to see inside what its `build` returns."""


class PointEnv:
    """N points on a line; an action moves one by 0.3 times the clamped action; the reward is 1 - |position|.

    Leaving [-2, 2] terminates. Like `TorchEnv`, it hands out fresh tensors; the rows of `final_observation` that did
    not finish hold NaN, which nobody may let through. `observed`, `received` and `rewarded` are private notes.
    """

    def __init__(
        self, num_envs: int = 8, *, max_steps: int = 5, critic: bool = False, obs_dim: int = 2, actions: int = 1
    ):
        self.num_envs = num_envs
        self.device = torch.device("cpu")
        self.cfg = SimpleNamespace(max_episode_steps=max_steps)
        self.obs_groups_spec = {"policy": obs_dim, **({"critic": 3} if critic else {})}
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (actions,), np.float32)
        self.state: TorchEnvState | None = None
        self.generator = torch.Generator().manual_seed(5)
        self.position = self._start(num_envs)
        self.age = torch.randint(0, max_steps, (num_envs,), generator=self.generator)
        self.observed: list[Obs] = []
        self.received: list[torch.Tensor] = []
        self.rewarded: list[torch.Tensor] = []
        self.states: list[TorchEnvState] = []

    def reset(self, env_ids: torch.Tensor | None = None) -> tuple[Obs, dict[str, Any]]:
        assert env_ids is None
        assert not self.observed, "an adapter resets once"
        self.observed.append(self._obs())
        return self._obs(), {}

    def step(self, actions: torch.Tensor) -> TorchEnvState:
        assert actions.shape == (self.num_envs, *self.action_space.shape)
        self.received.append(actions.clone())
        self._move(actions[:, 0].clamp(-1.0, 1.0))
        self.age = self.age + 1
        terminated = self._terminated()
        truncated = (self.age >= self.cfg.max_episode_steps) & ~terminated
        done = terminated | truncated
        reward = self._reward()
        final_observation = None
        if bool(done.any()):
            final_observation = {
                group: torch.where(done.unsqueeze(1), value, torch.nan) for group, value in self._obs().items()
            }
            self.position = torch.where(done, self._start(self.num_envs), self.position)
            self.age = torch.where(done, 0, self.age)
        self.observed.append(self._obs())
        self.rewarded.append(reward.clone())
        final_mask = None if final_observation is None else done.clone()
        info = {"steps": self.age.clone()}
        self.state = TorchEnvState(self._obs(), reward, terminated, truncated, info, final_observation, final_mask)
        clones = {group: value.clone() for group, value in (final_observation or {}).items()}
        self.states.append(
            TorchEnvState({}, reward.clone(), terminated.clone(), truncated.clone(), {}, clones, final_mask)
        )
        return self.state

    def _start(self, count: int) -> torch.Tensor:
        return torch.rand(count, generator=self.generator) * 3.0 - 1.5

    def _move(self, action: torch.Tensor) -> None:
        self.position = self.position + 0.3 * action

    def _terminated(self) -> torch.Tensor:
        return self.position.abs() > 2.0

    def _reward(self) -> torch.Tensor:
        return 1.0 - self.position.abs()

    def _obs(self) -> Obs:
        columns = [self.position, *[torch.ones_like(self.position)] * (self.obs_groups_spec["policy"] - 1)]
        obs = {"policy": torch.stack(columns, dim=1)}
        if "critic" in self.obs_groups_spec:
            age = self.age / self.cfg.max_episode_steps
            obs["critic"] = torch.stack([self.position, age, torch.zeros_like(age)], dim=1)
        return obs


class DecayEnv(PointEnv):
    """Positions shrink by 0.9 a step whatever is done and are rewarded as they are: V(x) = 0.9 x / (1 - 0.9 gamma)."""

    def _start(self, count: int) -> torch.Tensor:
        return torch.rand(count, generator=self.generator) + 1.0

    def _move(self, action: torch.Tensor) -> None:
        self.position = 0.9 * self.position

    def _terminated(self) -> torch.Tensor:
        return torch.zeros_like(self.position, dtype=torch.bool)

    def _reward(self) -> torch.Tensor:
        return self.position.clone()


@dataclass
class Hooks:
    """Steps the environment and writes down what was called, and in which order."""

    env: PointEnv
    stop_after: int | None = None
    on_rollout: Callable[[], None] = lambda: None
    on_iteration: Callable[[Callable[[Path], Path]], None] = lambda save: None
    calls: list[str] = field(default_factory=list)

    def env_step(self, actions: torch.Tensor) -> TorchEnvState:
        if self.calls.count("step") == self.stop_after:
            raise StopTraining
        self.calls.append("step")
        return self.env.step(actions)

    def rollout_ended(self) -> None:
        self.calls.append("rollout")
        self.on_rollout()

    def iteration_ended(self, save: Callable[[Path], Path]) -> None:
        self.calls.append("iteration")
        self.on_iteration(save)


def small_agent(**settings: Any) -> PPOAgent:
    return PPOAgent(
        **{"iterations": 2, "rollout": 8, "epochs": 2, "minibatches": 2, "hidden_layers": [8, 8], **settings}
    )


def train(
    name: str,
    folder: Path,
    *,
    env: PointEnv | None = None,
    agent: PPOAgent | None = None,
    seed: int = 1,
    hooks: Hooks | None = None,
    prepare: Callable[[Live], None] = lambda live: None,
) -> tuple[Path, Live]:
    """Train with an adapter in `folder`; `prepare` sees the live objects before the first step."""
    adapter: Any = load_adapter(name)
    hooks = hooks or Hooks(env or PointEnv())
    run = TrainingRun(
        agent=agent or small_agent(), seed=seed, checkpoint_dir=folder / "checkpoints", log_dir=folder / "logs"
    )
    for path in (run.checkpoint_dir, run.log_dir):
        path.mkdir(parents=True, exist_ok=True)
    seen: list[Live] = []
    build = adapter.build

    def build_and_show(*arguments: Any) -> Any:
        built = build(*arguments)
        seen.append(CASES[name](built))
        prepare(seen[0])
        return built

    with mock.patch.object(adapter, "build", build_and_show):
        saved = adapter.train(hooks.env, run, hooks)
    return saved, seen[0]


def parameters(live: Live) -> list[torch.Tensor]:
    return [value.detach().clone() for network in (live.actor, live.critic) for value in network.parameters()]
