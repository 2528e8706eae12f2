"""What a skrl learner is for every algorithm: `SequentialTrainer.train` runs, the agent's subclass reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from skrl.agents.torch import Agent
from skrl.trainers.torch import SequentialTrainer

from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused, TrainingRun
from benchmark_app.frameworks.checkpoints import load_actor, read_checkpoint, refusing, save_atomically
from benchmark_app.frameworks.mapping import Config

from .environment import EnvWrapper

NAME = "skrl"


class Learner:
    """An agent and its trainer; see `base.Learner`.

    Attributes:
        MODELS: The keys by which a checkpoint of this algorithm is known.
        POLICY: The class of its policy model, made from its configuration and the environment.
    """

    MODELS: ClassVar[tuple[str, ...]]
    POLICY: ClassVar[type[Any]]

    def __init__(
        self,
        env: EnvWrapper,
        run: TrainingRun,
        agent: Agent,
        critic: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> None:
        self.agent = agent
        self.inputs = env.inputs
        of_critic = agent._observation_preprocessor if env.state_space is None else agent._state_preprocessor
        self.actor = _with_normalisation(agent.policy, agent._observation_preprocessor)
        self.critic = _with_normalisation(critic, of_critic)
        self.optimizers = optimizers
        if run.resume is not None:
            self._restore(run.resume)
        trainer_config = {**run.config["trainer"], "timesteps": run.iterations * run.agent.rollout}
        self._trainer = SequentialTrainer(env=env, agents=agent, cfg=trainer_config)

    def learn(self) -> None:
        """Run `SequentialTrainer.train`."""
        self._trainer.train()

    def save(self, stem: Path) -> Path:
        """Write `stem` + ".pt"."""
        return save_atomically(stem.with_name(stem.name + ".pt"), lambda path: self.agent.save(str(path)))

    def close(self) -> None:
        """Close the TensorBoard writer."""
        self.agent.writer.close()

    def mean_actions(self, obs: dict[str, torch.Tensor]) -> torch.Tensor:
        """See `base.Learner`."""
        seen = self.agent._observation_preprocessor(self.inputs.actor.flat(obs))
        actions: torch.Tensor = self.agent.policy.mean(seen)
        return actions

    def _restore(self, checkpoint: Checkpoint) -> None:
        """Load every module skrl saves. Its own `load` would unpickle the file, and let pass what is missing."""
        modules = self.agent.checkpoint_modules
        optimizers = tuple(key for key, module in modules.items() if isinstance(module, torch.optim.Optimizer))
        content = read_checkpoint(checkpoint, NAME, self.MODELS, self.agent.device, also=optimizers)
        load_actor(checkpoint.path, modules["policy"], content["policy"])
        if differing := sorted(modules.keys() ^ content.keys()):
            raise CheckpointRefused(
                f"checkpoint {checkpoint.path} refused: saved with other agent settings, of which there "
                f"{'is' if len(differing) == 1 else 'are'} {', '.join(differing)}"
            )
        for key, module in modules.items():
            with refusing(checkpoint.path):
                module.load_state_dict(content[key])


def experiment(run: TrainingRun) -> Config:
    """skrl's `experiment` settings: TensorBoard into the run's folder, a row per iteration; the hooks save."""
    return {
        **run.config["agent"]["experiment"],
        "directory": str(run.log_dir.parent),
        "experiment_name": run.log_dir.name,
        "write_interval": run.agent.rollout,
        "checkpoint_interval": 0,
    }


def _with_normalisation(network: torch.nn.Module, preprocessor: Any) -> torch.nn.Module:
    """A network together with the statistics its input is normalised by; skrl keeps the two apart."""
    if isinstance(preprocessor, torch.nn.Module):
        return torch.nn.ModuleList([network, preprocessor])
    return network
