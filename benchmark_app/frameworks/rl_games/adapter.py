"""rl_games behind the adapter contract: its runner and agents train; a subclass of each agent reports to the hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.base import Checkpoint, Learner, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.registry import ranks_of

from . import ppo, sac

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = "rl_games"


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> Learner:
    """Build the runner and its agent; see `base.Adapter`."""
    learner = sac.SACLearner if run.agent.algorithm == "sac" else ppo.PPOLearner
    with ranks_of(run.world_size):
        return learner(env, run, hooks)


def policy(env: TorchEnv, agent: Agent, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the actor of a checkpoint; see `base.Adapter`."""
    load = sac.policy if agent.algorithm == "sac" else ppo.policy
    return load(env, config, checkpoint)
