"""skrl behind the adapter contract: `SequentialTrainer.train` runs with its agents, subclassed at their own seams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.checkpoints import as_policy, load_actor, read_checkpoint, refusing
from benchmark_app.frameworks.inputs import Inputs
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.start import seed_everything

from .environment import EnvWrapper
from .learner import NAME
from .parts import agent_settings
from .ppo import PPOLearner
from .sac import SACLearner

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = NAME

_LEARNERS: dict[str, type[PPOLearner] | type[SACLearner]] = {"ppo": PPOLearner, "sac": SACLearner}


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> PPOLearner | SACLearner:
    """Build agent and trainer; see `base.Adapter`."""
    seed_everything(run.seed)
    exact = run.agent.timeout_bootstrap == "exact"
    return _LEARNERS[run.agent.algorithm](env, EnvWrapper(env, hooks.env_step, exact=exact), run, hooks)


def policy(env: TorchEnv, agent: Agent, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the policy model of a checkpoint, and its normalisation statistics, which stay as they are."""
    learner = _LEARNERS[agent.algorithm]
    content = read_checkpoint(checkpoint, name, learner.MODELS, env.device)
    actor = learner.POLICY(config["models"]["policy"], env)
    load_actor(checkpoint.path, actor, content["policy"])
    actor.to(env.device).eval()
    normalize = _normalisation(env, config, checkpoint, content)
    sees = Inputs(env).actor
    return as_policy(lambda obs: actor.mean(normalize(sees.flat(obs))))


def _normalisation(env: TorchEnv, config: Config, checkpoint: Checkpoint, content: Config) -> torch.nn.Module:
    settings = agent_settings(config, env)
    statistics = content.get("observation_preprocessor")
    normalized = settings["observation_preprocessor"] is not None
    if normalized != (statistics is not None):
        raise CheckpointRefused(
            f"checkpoint {checkpoint.path} refused: saved with the other agent.normalize_observations than {normalized}"
        )
    if not normalized:
        return torch.nn.Identity()
    scaler: torch.nn.Module = settings["observation_preprocessor"](**settings["observation_preprocessor_kwargs"])
    with refusing(checkpoint.path):
        scaler.load_state_dict(content["observation_preprocessor"])
    return scaler
