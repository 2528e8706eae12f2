"""A task played on an engine with random and extreme actions, written down step by step."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.declaration import TaskDeclaration
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.physics.scene import RobotFacts, SceneSpec

ROWS = 6
MOST_STEPS = 1100
"""Some more than the longest episode of the field's tasks, so that play comes to a time limit where rows survive."""
TOLD = ("is_success", "metrics", "reward_terms")
HELD = 7
"""Steps for which a row that jumps between extremes holds each."""


@dataclass(frozen=True, kw_only=True)
class Live:
    """A task on an engine, to be built as often as it is needed.

    Attributes:
        cfg: Its settings.
        declaration: What it claims to be.
        engine: The engine's name.
        build: Makes the environment of some settings and rows.
    """

    cfg: EnvCfg
    declaration: TaskDeclaration
    engine: str
    build: Callable[[EnvCfg, int], TorchEnv]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of all rows; of a row that ended, what it ended with.

    Attributes:
        control: `[N, D]`.
        reward: `[N]`.
        ended: bool `[N]`.
        info: What the environment told: `is_success`, `metrics`, `reward_terms`.
    """

    control: torch.Tensor
    reward: torch.Tensor
    ended: torch.Tensor
    info: dict[str, Any]


@dataclass(kw_only=True)
class Walk:
    """A task played for its longest episode and some steps more, and what the live objects say of themselves.

    Attributes:
        live: The task.
        scene: What it asked the engine to build.
        facts: What the engine says it built.
        env: What a task declares: `num_actions`, `obs_groups_spec`, `image_groups`, `reward_terms`, `metrics`.
        joint_names: The engine's, in order.
        steps: What happened.
        endings: Success (or None) and metrics of the episodes that ended, as the environment recorded them, in order.
        warnings: How often the engine warned of wrong physics, by name.
        error: What stopped the play; "" where nothing did.
    """

    live: Live
    scene: SceneSpec
    facts: RobotFacts
    env: dict[str, Any]
    joint_names: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    endings: list[tuple[bool | None, dict[str, float]]] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    error: str = ""


def take_walk(live: Live) -> Walk:
    """Build the task and play it; a step that fails ends the play and is noted.

    Raises:
        Exception: Whatever building it raises.
    """
    env = live.build(live.cfg, ROWS)
    try:
        names = ("num_actions", "obs_groups_spec", "image_groups", "reward_terms", "metrics")
        walk = Walk(
            live=live,
            scene=type(env).scene(live.cfg, ROWS),
            facts=env.backend.robot_facts(),
            env={name: getattr(env, name) for name in names},
            joint_names=tuple(env.backend.joint_names),
        )
        try:
            _play(env, walk)
        except Exception as error:
            walk.error = f"step {len(walk.steps) + 1}: {type(error).__name__}: {error}"
        walk.warnings = env.backend.warning_counts()
        return walk
    finally:
        env.close()


def shortened(cfg: EnvCfg, steps: int) -> EnvCfg:
    """A task's settings with episodes of so many control steps, or of as few more as the task allows."""
    while (short := cfg.shortened(steps)).problems() and steps < cfg.max_episode_steps:
        steps += 1
    return short


def extreme_actions(num_actions: int, steps: int) -> torch.Tensor:
    """Actions `[steps, ROWS, num_actions]` in [-1, 1], always the same, on any version of anything.

    Three rows are random, two hold one bound and then the other, one jumps between the bounds.
    """
    draw = random.Random(0).random
    actions = torch.tensor([[[2 * draw() - 1 for _ in range(num_actions)] for _ in range(ROWS)] for _ in range(steps)])
    for row, sign in ((3, 1.0), (4, -1.0)):
        actions[:, row] = sign
        actions[steps // 2 :, row] = -sign
    held = torch.arange(steps) // HELD * HELD
    actions[:, 5] = torch.sign(actions[held, 0])
    return actions


def _play(env: TorchEnv, walk: Walk) -> None:
    env.set_reporting(True)
    env.seed(11)
    env.init_state()
    steps = min(env.cfg.max_episode_steps + 5, MOST_STEPS)
    for action in extreme_actions(env.num_actions, steps).to(env.device):
        state = env.step(action)
        info = {name: value for name, value in state.info.items() if name in TOLD}
        ended = state.terminated | state.truncated
        walk.steps.append(Step(control=env.control.clone(), reward=state.reward, ended=ended, info=info))
    episodes = env.drain_episodes()
    success = [None] * len(episodes) if episodes.success is None else episodes.success.tolist()
    metrics = {name: values.tolist() for name, values in episodes.metrics.items()}
    for number, good in enumerate(success):
        walk.endings.append((good, {name: values[number] for name, values in metrics.items()}))
