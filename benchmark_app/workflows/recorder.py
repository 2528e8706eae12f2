"""The hooks a training is observed by: they time, count and note; the library's loop stays its own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.frameworks.base import StopTraining
from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Iteration
from benchmark_app.parent_link import ParentLink
from benchmark_app.profiling.worker.timing import SimulationShare, Timing

from .early_stop import EarlyStop
from .ranks import Ranks

WINDOW = 100  # finished episodes a learning curve's value is the mean of


class Asked(Protocol):
    """What says whether a run is asked to stop."""

    @property
    def stop_requested(self) -> bool:
        """Whether it is."""
        ...


@dataclass(frozen=True)
class _Never:
    stop_requested: bool = False


_NEVER = _Never()


class TrainingRecorder:
    """What an adapter calls from inside the library's loop (`base.TrainingHooks`).

    Attributes:
        completed: Iterations completed.
        ranks: The processes that train the policy together, once the library has connected them; None: there is one.
        env_step: Step the environment, timed (`timed_step`).

    Args:
        env: The environment trained on.
        journal: Where one event per iteration goes.
        link: Says when to stop.
        early_stop: Says when the training has learned enough.
        after: Called after each iteration with the number completed, outside every timed interval.
        world_size: Processes that train the policy together. Several stop after an iteration only, all after the same.
        timing: How parts of an iteration are timed; None: until each call returns.
        kernel_loads: Says how many kernel modules this process has compiled or loaded so far.
    """

    def __init__(
        self,
        env: TorchEnv,
        journal: JournalWriter,
        link: ParentLink,
        early_stop: EarlyStop | None = None,
        after: Callable[[int], None] = lambda completed: None,
        world_size: int = 1,
        timing: Timing | None = None,
        kernel_loads: Callable[[], int] = lambda: 0,
    ) -> None:
        self.completed = 0
        self.ranks: Ranks | None = None
        timing = timing or Timing(clock=time.perf_counter)
        self._now = timing.now
        self._marks: list[float] = []  # begin and end of each step since the last iteration
        self._shares: list[tuple[float, int]] = []  # the engine's seconds and calls in each, where they are taken
        step = env.step if timing.simulation is None else _with_share(env.step, timing.simulation, self._shares)
        self.env_step = timed_step(step, link if world_size == 1 else _NEVER, self._marks, self._now)
        self._shares_taken = timing.simulation is not None
        self._rendering = timing.rendering
        if self._rendering is not None:
            self._rendering.take()  # what was drawn before belongs to no iteration
        self._kernel_loads = kernel_loads
        self._loaded = kernel_loads()
        self._env = env
        self._journal = journal
        self._early_stop = early_stop
        self._after = after
        self._link = link
        self._world_size = world_size
        self._returns: deque[float] = deque(maxlen=WINDOW)
        self._lengths: deque[float] = deque(maxlen=WINDOW)
        self._successes: deque[bool] = deque(maxlen=WINDOW)
        self._begun = 0.0
        self._update_begun = 0.0  # 0 while collecting
        self._learning_s = 0.0
        self._hook_s = 0.0  # what `iteration_ended` took last time; known only once its line is written
        self._cost_per_step = _cost_per_step(link, self._now)

    def rollout_ended(self) -> None:
        """The update begins."""
        self._update_begun = self._now()

    def rollout_resumed(self) -> None:
        """The update is over, and the same iteration goes on collecting."""
        self._learning_s += self._now() - self._update_begun
        self._update_begun = 0.0

    def iteration_ended(self) -> None:
        """Record the iteration; what follows in here is in no timed interval.

        Raises:
            StopTraining: The early stop was reached.
        """
        ended = self._now()
        if self._update_begun:
            self._learning_s += ended - self._update_begun
        if self._begun == 0.0 and self._marks:
            # The first iteration begins with its first step; what is before it is setting up.
            self._begun = self._marks[0]
        iteration_s = ended - self._begun
        env_step_s = [end - begin for begin, end in zip(self._marks[::2], self._marks[1::2], strict=True)]
        episodes = self._env.drain_episodes()
        lengths, returns = episodes.tally[:2].tolist()  # one conversion for all columns: this runs in a timed loop
        self._returns.extend(returns)
        self._lengths.extend(lengths)
        if episodes.succeeded is not None:
            successes = episodes.succeeded.tolist()
            self._successes.extend(successes)
            if self._early_stop is not None:
                self._early_stop.add(successes)
        steps = len(env_step_s)
        render_s, render_frames = (None, None) if self._rendering is None else self._rendering.take()
        loaded, loaded_before = self._kernel_loads(), self._loaded
        event = Iteration(
            t=time.monotonic(),
            index=self.completed,
            frames=steps * self._env.num_envs * self._world_size,
            iteration_s=iteration_s,
            collection_s=iteration_s - self._learning_s,
            learning_s=self._learning_s,
            hook_s=steps * self._cost_per_step + self._hook_s,
            env_step_s=env_step_s,
            episodes=len(episodes),
            reward=_mean(self._returns),
            ep_length=_mean(self._lengths),
            success_rate=_mean(self._successes),
            simulation_s=[seconds for seconds, _ in self._shares] if self._shares_taken else None,
            simulation_calls=sum(calls for _, calls in self._shares) if self._shares_taken else None,
            render_s=render_s,
            render_frames=render_frames,
            kernel_loads=loaded - loaded_before,
        )
        self._journal.append(event)
        self.completed += 1
        self._marks.clear()
        self._shares.clear()
        self._learning_s = self._update_begun = 0.0
        self._hook_s = self._now() - ended
        self._after(self.completed)
        if self._must_stop():
            raise StopTraining
        self._loaded = self._kernel_loads()  # what a checkpoint needed is in no iteration
        self._begun = self._now()

    def _must_stop(self) -> bool:
        """Whether this iteration was the last. Of several ranks, none may go on and wait for one that stopped."""
        learned = self._early_stop is not None and self._early_stop.reached
        if self.ranks is None:
            return learned
        return self.ranks.any(self._link.stop_requested or (learned and self.ranks.rank == 0))


def timed_step(
    step: Callable[[torch.Tensor], TorchEnvState], link: Asked, marks: list[float], now: Callable[[], float]
) -> Callable[[torch.Tensor], TorchEnvState]:
    """Wrap a step so that it leaves when it began and ended in `marks` [s, by `now`].

    The wrapped step raises `StopTraining`, without stepping, once the run was asked to stop. It is a closure because it
    stands in every library's innermost loop.
    """
    mark = marks.append

    def env_step(actions: torch.Tensor) -> TorchEnvState:
        if link.stop_requested:
            raise StopTraining
        mark(now())
        state = step(actions)
        mark(now())
        return state

    return env_step


def _with_share(
    step: Callable[[torch.Tensor], TorchEnvState], simulation: SimulationShare, shares: list[tuple[float, int]]
) -> Callable[[torch.Tensor], TorchEnvState]:
    """Wrap a step so that it leaves the engine's seconds and calls in `shares`."""

    def env_step(actions: torch.Tensor) -> TorchEnvState:
        simulation.take()  # of steps that were none of ours
        state = step(actions)
        shares.append(simulation.take())
        return state

    return env_step


def _cost_per_step(link: Asked, now: Callable[[], float], calls: int = 2000) -> float:
    """Seconds a timed step costs beyond the step itself, measured on one that does nothing."""
    wrapped = timed_step(lambda actions: None, link, [], now)  # type: ignore[arg-type,return-value]
    actions = torch.empty(0)
    begin = time.perf_counter()
    for _ in range(calls):
        wrapped(actions)
    return (time.perf_counter() - begin) / calls


def _mean(values: Collection[float]) -> float | None:
    return sum(values) / len(values) if values else None
