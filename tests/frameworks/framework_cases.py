"""What every adapter test needs: the list of adapters, a small environment in pure torch, and hooks that take notes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import torch

from benchmark_app.envs.image_spec import ImageSpec
from benchmark_app.envs.state import TorchEnvState
from benchmark_app.frameworks.agent import Agent, PPOAgent, SACAgent
from benchmark_app.frameworks.base import Adapter, Checkpoint, Learner, Policy, StopTraining, TrainingRun
from benchmark_app.frameworks.mapping import Translation, override
from benchmark_app.frameworks.registry import load_adapter, load_translation
from benchmark_app.rendering.camera import CameraSpec

Obs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Case:
    """An adapter under test.

    Attributes:
        module: The library's package.
        stock_is_exact: Whether the library by itself bootstraps time limits exactly.
    """

    module: str
    stock_is_exact: bool = False


CASES: dict[str, Case] = {
    "rsl_rl": Case("benchmark_app.frameworks.rsl_rl"),
    "skrl": Case("benchmark_app.frameworks.skrl"),
    "sb3": Case("benchmark_app.frameworks.sb3", stock_is_exact=True),
    "rl_games": Case("benchmark_app.frameworks.rl_games"),
    "tiny": Case("tests.doubles.tiny_library", stock_is_exact=True),
}
"""Every adapter under test; a new library is one line."""


def adapter_of(name: str) -> Adapter:
    return load_adapter(CASES[name].module)


def translation_of(name: str) -> Translation:
    return load_translation(CASES[name].module)


def config_of(name: str, agent: Agent) -> dict[str, Any]:
    return translation_of(name).translate(agent)


def policy_of(name: str, env: Any, agent: Agent, path: Path, *, trusted: bool = False) -> Policy:
    return adapter_of(name).policy(env, agent, config_of(name, agent), Checkpoint(path=path, trusted=trusted))


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
        self.image_groups: dict[str, ImageSpec] = {}
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
            final_observation = {group: _only(done, value) for group, value in self._obs().items()}
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


def _only(rows: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Values of some rows; in the others what nobody may let through."""
    mask = rows.view(-1, *[1] * (value.ndim - 1))
    return torch.where(mask, value, torch.nan if value.is_floating_point() else 255)


class PixelEnv(PointEnv):
    """The points seen: a bar in pictures of 5 x 12 pixels, two stacked; with `vector`, `policy` beside them.

    Args:
        data_type: Of the pictures.
        vector: Whether there are numbers beside them.
    """

    def __init__(self, num_envs: int = 8, *, data_type: str = "rgb", vector: bool = False, **settings: Any):
        camera = CameraSpec(name="front", width=12, height=5, position=(0, -1, 0), target=(0, 0, 0))
        camera = replace(camera, data_types=(data_type,))
        spec = ImageSpec(camera=camera, data_type=data_type, frames=2)
        self._pixels = {"pixels" if data_type == "rgb" else "depth": spec}
        self._vector = vector
        super().__init__(num_envs, **settings)
        self.image_groups = self._pixels
        if not vector:
            del self.obs_groups_spec["policy"]

    def _obs(self) -> Obs:
        obs = super()._obs() if self._vector else {}
        if "critic" in self.obs_groups_spec and not self._vector:
            obs["critic"] = self.position.unsqueeze(1).repeat(1, 3)
        ((name, spec),) = self._pixels.items()
        where = (self.position * 3.0 + 6.0).long().clamp(0, 11)
        bar = torch.arange(12).view(1, 1, 12, 1) == where.view(-1, 1, 1, 1)
        image = bar.expand(-1, *spec.shape).to(getattr(torch, spec.dtype))
        return {**obs, name: image * (200 if spec.dtype == "uint8" else 1)}


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
    on_iteration: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)

    def env_step(self, actions: torch.Tensor) -> TorchEnvState:
        if self.calls.count("step") == self.stop_after:
            raise StopTraining
        self.calls.append("step")
        return self.env.step(actions)

    def rollout_ended(self) -> None:
        self.calls.append("rollout")
        self.on_rollout()

    def rollout_resumed(self) -> None:
        self.calls.append("resumed")

    def iteration_ended(self) -> None:
        self.calls.append("iteration")
        self.on_iteration()


def small_agent(**settings: Any) -> PPOAgent:
    return PPOAgent(
        **{"iterations": 2, "rollout": 8, "epochs": 2, "minibatches": 2, "hidden_layers": [8, 8], **settings}
    )


def small_sac(**settings: Any) -> SACAgent:
    return SACAgent(
        **{
            "iterations": 4,
            "rollout": 4,
            "learning_starts": 8,
            "batch_size": 16,
            "buffer_size": 4096,
            "hidden_layers": [8, 8],
            **settings,
        }
    )


def build(
    name: str,
    folder: Path,
    *,
    hooks: Hooks,
    agent: Agent | None = None,
    seed: int = 1,
    resume: Path | None = None,
    native: dict[str, Any] | None = None,
) -> Learner:
    """Build an adapter's learner, ready to train in `folder`."""
    agent = agent or small_agent()
    run = TrainingRun(
        agent=agent,
        config=override(config_of(name, agent), native or {}),
        iterations=agent.iterations,
        seed=seed,
        log_dir=folder / "logs",
        resume=None if resume is None else Checkpoint(path=resume),
    )
    for path in (folder / "checkpoints", run.log_dir):
        path.mkdir(parents=True, exist_ok=True)
    return adapter_of(name).build(hooks.env, run, hooks)  # type: ignore[arg-type]


def train(
    name: str,
    folder: Path,
    *,
    env: PointEnv | None = None,
    hooks: Hooks | None = None,
    prepare: Callable[[Learner], None] = lambda learner: None,
    **settings: Any,
) -> tuple[Path, Learner]:
    """Train with an adapter in `folder` as a workflow does; `prepare` sees the learner before the first step."""
    learner = build(name, folder, hooks=hooks or Hooks(env or PointEnv()), **settings)
    prepare(learner)
    try:
        with suppress(StopTraining):
            learner.learn()
    finally:
        learner.close()
    return learner.save(folder / "checkpoints" / "policy"), learner


def parameters(learner: Learner) -> list[torch.Tensor]:
    return [value.detach().clone() for network in (learner.actor, learner.critic) for value in network.parameters()]
