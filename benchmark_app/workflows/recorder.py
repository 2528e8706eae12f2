"""The hooks a training is observed by: they time, count and note; the library's loop stays its own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.frameworks.base import StopTraining
from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Iteration
from benchmark_app.parent_link import ParentLink

from .early_stop import EarlyStop

WINDOW = 100  # finished episodes a learning curve's value is the mean of


class TrainingRecorder:
    """What an adapter calls from inside the library's loop (`base.TrainingHooks`).

    Attributes:
        completed: Iterations completed.

    Args:
        env: The environment trained on.
        journal: Where one event per iteration goes.
        link: Says when to stop.
        early_stop: Says when the training has learned enough.
        after: Called after each iteration with the number completed, outside every timed interval.
    """

    def __init__(
        self,
        env: TorchEnv,
        journal: JournalWriter,
        link: ParentLink,
        early_stop: EarlyStop | None = None,
        after: Callable[[int], None] = lambda completed: None,
    ) -> None:
        self.completed = 0
        self._step = env.step
        self._env = env
        self._journal = journal
        self._link = link
        self._early_stop = early_stop
        self._after = after
        self._returns: deque[float] = deque(maxlen=WINDOW)
        self._lengths: deque[float] = deque(maxlen=WINDOW)
        self._successes: deque[bool] = deque(maxlen=WINDOW)
        self._env_step_s: list[float] = []
        self._begun = 0.0
        self._update_begun = 0.0  # 0 while collecting
        self._learning_s = 0.0
        self._hook_s = 0.0  # what `iteration_ended` took last time; known only once its line is written
        self._cost_per_step = self._measure_cost()

    def env_step(self, actions: torch.Tensor) -> TorchEnvState:
        """Step the environment, timed.

        Raises:
            StopTraining: The run was asked to stop.
        """
        if self._link.stop_requested:
            raise StopTraining
        begin = time.perf_counter()
        state = self._step(actions)
        self._env_step_s.append(time.perf_counter() - begin)
        if self._begun == 0.0:  # the first iteration begins with its first step; what is before it is setting up
            self._begun = begin
        return state

    def rollout_ended(self) -> None:
        """The update begins."""
        self._update_begun = time.perf_counter()

    def rollout_resumed(self) -> None:
        """The update is over, and the same iteration goes on collecting."""
        self._learning_s += time.perf_counter() - self._update_begun
        self._update_begun = 0.0

    def iteration_ended(self) -> None:
        """Record the iteration; what follows in here is in no timed interval.

        Raises:
            StopTraining: The early stop was reached.
        """
        ended = time.perf_counter()
        if self._update_begun:
            self._learning_s += ended - self._update_begun
        iteration_s = ended - self._begun
        episodes = self._env.drain_episodes()
        lengths, returns, _ = episodes.tally.tolist()  # one conversion for all columns: this runs in a timed loop
        self._returns.extend(returns)
        self._lengths.extend(lengths)
        if episodes.succeeded is not None:
            successes = episodes.succeeded.tolist()
            self._successes.extend(successes)
            if self._early_stop is not None:
                self._early_stop.add(successes)
        steps = len(self._env_step_s)
        event = Iteration(
            t=time.monotonic(),
            index=self.completed,
            frames=steps * self._env.num_envs,
            iteration_s=iteration_s,
            collection_s=iteration_s - self._learning_s,
            learning_s=self._learning_s,
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
        self._learning_s = self._update_begun = 0.0
        self._hook_s = time.perf_counter() - ended
        self._after(self.completed)
        if self._early_stop is not None and self._early_stop.reached:
            raise StopTraining
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
