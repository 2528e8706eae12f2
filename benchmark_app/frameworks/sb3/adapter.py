"""Stable-Baselines3 behind the adapter contract: `learn` of its PPO and SAC runs, subclassed in `ppo` and `sac`."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from stable_baselines3.common.logger import configure

from benchmark_app.frameworks.agent import Agent
from benchmark_app.frameworks.base import Checkpoint, Policy, TrainingHooks, TrainingRun
from benchmark_app.frameworks.checkpoints import as_policy, load_actor, refusing, save_atomically
from benchmark_app.frameworks.mapping import Config
from benchmark_app.frameworks.start import seed_everything

from .checkpoint import load_tensor, read
from .ppo import SharedPPO, SharedPPOPolicy
from .sac import SharedSAC, SharedSACPolicy

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

name = "sb3"

_ALGORITHMS: dict[str, type[SharedPPO] | type[SharedSAC]] = {"ppo": SharedPPO, "sac": SharedSAC}
_POLICIES: dict[str, type[SharedPPOPolicy] | type[SharedSACPolicy]] = {"ppo": SharedPPOPolicy, "sac": SharedSACPolicy}


def build(env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> _Learner:
    """Build the algorithm; see `base.Adapter`."""
    return _Learner(env, run, hooks)


def policy(env: TorchEnv, agent: Agent, config: Config, checkpoint: Checkpoint) -> Policy:
    """Load the actor of a checkpoint; its normalisation statistics are part of it and stay as they are."""
    player = _POLICIES[agent.algorithm].to_play(env, agent, config)
    content, _ = read(checkpoint, agent.algorithm, player.PARTS, env.device)
    actor = player.networks()[0]
    load_actor(checkpoint.path, actor, actor.own(content["policy"]))
    player.to(env.device).set_training_mode(False)
    return as_policy(player.mean_actions)


class _Learner:
    """The library's algorithm with the hooks in place; see `base.Learner`."""

    def __init__(self, env: TorchEnv, run: TrainingRun, hooks: TrainingHooks) -> None:
        seed_everything(run.seed)
        self.algorithm = _ALGORITHMS[run.agent.algorithm](env, run, hooks)
        self.algorithm.set_logger(configure(str(run.log_dir), ["tensorboard"]))
        self.actor, self.critic = self.algorithm.networks[:2]
        # What SB3 puts into a checkpoint beside the policy: optimizers, and single tensors.
        (_, *self._optimizers), self._tensors = self.algorithm._get_torch_save_params()
        self.optimizers = tuple(attrgetter(part)(self.algorithm) for part in self._optimizers)
        self._timesteps = run.iterations * run.agent.rollout * env.num_envs
        if run.resume is not None:
            self._resume(run.resume, run.agent.algorithm, env.device)

    def _resume(self, checkpoint: Checkpoint, algorithm: str, device: torch.device) -> None:
        content, tensors = read(checkpoint, algorithm, ("policy", *self._optimizers), device)
        for network in self.algorithm.networks:
            load_actor(checkpoint.path, network, network.own(content["policy"]))
        for part, optimizer in zip(self._optimizers, self.optimizers, strict=True):
            with refusing(checkpoint.path):
                optimizer.load_state_dict(content[part])
        for tensor in self._tensors:
            load_tensor(checkpoint.path, attrgetter(tensor)(self.algorithm), tensors.get(tensor))
        self.algorithm.rate.value = self.optimizers[0].param_groups[0]["lr"]

    def learn(self) -> None:
        """Run the algorithm's `learn`, which writes its log once per iteration by itself."""
        self.algorithm.learn(self._timesteps, log_interval=None)

    def save(self, stem: Path) -> Path:
        """Write `stem` + ".zip"."""
        return save_atomically(stem.with_name(stem.name + ".zip"), self.algorithm.save)

    def close(self) -> None:
        """Close the TensorBoard writer."""
        self.algorithm.logger.close()

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        return self.algorithm.policy.mean_actions(obs)

    def values(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        return self.algorithm.values(obs)

    def rollout(self) -> dict[str, torch.Tensor]:
        """See `base.Learner`."""
        return self.algorithm.rollout()
