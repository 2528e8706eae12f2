"""Training a policy through the library's own loop, observed by hooks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from pathlib import Path

import torch

from benchmark_app.checkpoint_card import write_card
from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.frameworks.base import Policy, StopTraining, TrainingRun
from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import CheckpointSaved, Finished, Iteration, LoopStarted
from benchmark_app.parent_link import ParentLink

from .session import Session

WINDOW = 100  # finished episodes a learning curve's value is the mean of


class TrainingRecorder:
    """The hooks an adapter calls: they time, count and note; the library's loop stays its own.

    Attributes:
        completed: Iterations completed.
        stopped: Whether a stop left the loop early.

    Args:
        env: The environment trained on.
        journal: Where one event per iteration goes.
        link: Says when to stop.
        checkpoint_dir: Folder for periodic checkpoints.
        checkpoint_interval: Iterations between two of them; 0: none.
        describe: Called with each periodic checkpoint that was saved.
    """

    def __init__(
        self,
        env: TorchEnv,
        journal: JournalWriter,
        link: ParentLink,
        checkpoint_dir: Path,
        checkpoint_interval: int,
        describe: Callable[[Path], None],
    ) -> None:
        self.completed = 0
        self.stopped = False
        self._step = env.step
        self._env = env
        self._journal = journal
        self._link = link
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_interval = checkpoint_interval
        self._describe = describe
        self._returns: deque[float] = deque(maxlen=WINDOW)
        self._lengths: deque[float] = deque(maxlen=WINDOW)
        self._successes: deque[bool] = deque(maxlen=WINDOW)
        self._env_step_s: list[float] = []
        self._begun = 0.0
        self._collected = 0.0
        self._hook_s = 0.0  # what `iteration_ended` took last time; known only once its line is written
        self._cost_per_step = self._measure_cost()

    def env_step(self, actions: torch.Tensor) -> TorchEnvState:
        """Step the environment, timed.

        Raises:
            StopTraining: The run was asked to stop.
        """
        if self._link.stop_requested:
            self.stopped = True
            raise StopTraining
        begin = time.perf_counter()
        state = self._step(actions)
        self._env_step_s.append(time.perf_counter() - begin)
        if self._begun == 0.0:  # the first iteration begins with its first step; what is before it is setting up
            self._begun = begin
        return state

    def rollout_ended(self) -> None:
        """The update begins."""
        self._collected = time.perf_counter()

    def iteration_ended(self, save: Callable[[Path], Path]) -> None:
        """Record the iteration, and save a checkpoint when one is due; both outside the timed intervals."""
        ended = time.perf_counter()
        episodes = self._env.drain_episodes()
        lengths, returns, _ = episodes.tally.tolist()  # one conversion for all columns: this runs in a timed loop
        self._returns.extend(returns)
        self._lengths.extend(lengths)
        if episodes.succeeded is not None:
            self._successes.extend(episodes.succeeded.tolist())
        steps = len(self._env_step_s)
        event = Iteration(
            t=time.monotonic(),
            index=self.completed,
            frames=steps * self._env.num_envs,
            iteration_s=ended - self._begun,
            collection_s=self._collected - self._begun,
            learning_s=ended - self._collected,
            hook_s=steps * self._cost_per_step + self._hook_s,
            env_step_s=self._env_step_s,
            episodes=len(episodes),
            reward=_mean(self._returns),
            ep_length=_mean(self._lengths),
            success_rate=_mean(self._successes),
        )
        self._journal.append(event)
        self.completed += 1
        self._env_step_s = []
        self._hook_s = time.perf_counter() - ended
        if self._checkpoint_interval and self.completed % self._checkpoint_interval == 0:
            path = save(self._checkpoint_dir / f"iteration_{self.completed}")
            self._describe(path)
            self._journal.append(CheckpointSaved(t=time.monotonic(), path=str(path), iteration=self.completed))
        self._begun = time.perf_counter()

    def _measure_cost(self, calls: int = 2000) -> float:
        """Seconds `env_step` costs beyond the step itself, measured on a step that does nothing."""
        step, self._step = self._step, lambda actions: None  # type: ignore[assignment,return-value]
        actions = torch.empty(0)
        begin = time.perf_counter()
        for _ in range(calls):
            self.env_step(actions)
        cost = (time.perf_counter() - begin) / calls
        self._step = step
        self._env_step_s, self._begun = [], 0.0
        return cost


def _mean(values: Collection[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _require_sound(policy: Policy, env: TorchEnv) -> None:
    """Ask the saved policy for actions, as play will.

    Raises:
        RuntimeError: They are not finite: the training diverged.
    """
    state = env.state
    assert state is not None, "an environment that was trained on has a state"
    if not torch.isfinite(policy(state.obs)).all():
        raise RuntimeError("the policy's actions are not finite: the training diverged")


def run(session: Session) -> None:
    """Train for the budget, or until asked to stop; either way the policy of that moment is saved."""
    env = session.open(with_framework=True)
    settings = session.settings
    session.log_dir.mkdir(parents=True, exist_ok=True)
    frames = settings.num_envs * settings.agent.rollout
    warmup = settings.training.warmup_iterations
    session.journal.append(LoopStarted(t=time.monotonic(), steps_per_iteration=frames, warmup_iterations=warmup))
    recorder = TrainingRecorder(
        env,
        session.journal,
        session.link,
        session.checkpoint_dir,
        settings.training.checkpoint_interval,
        lambda path: write_card(path, settings),
    )
    run = TrainingRun(
        agent=settings.agent, seed=settings.seed, checkpoint_dir=session.checkpoint_dir, log_dir=session.log_dir
    )
    checkpoint = session.adapter.train(env, run, recorder)
    write_card(checkpoint, settings)
    _require_sound(session.adapter.policy(env, settings.agent, checkpoint), env)
    session.journal.append(CheckpointSaved(t=time.monotonic(), path=str(checkpoint), iteration=recorder.completed))
    complete = recorder.completed >= settings.agent.iterations
    session.journal.append(Finished(t=time.monotonic(), outcome="budget" if complete else "stopped"))
