"""Evaluating a checkpoint: a fixed set of seeded episodes, played by the deterministic policy."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import torch

from benchmark_app.envs.episodes import Episodes
from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused, Policy
from benchmark_app.journal.events import CheckpointSaved, Episode, Finished

from . import RefusedError
from .session import Session
from .stepping import StepRecorder


def run(session: Session) -> None:
    """Play episodes 0 to E-1, dealt to rows r, r+N, r+2N and so on; a row with none left is frozen.

    Raises:
        RefusedError: The checkpoint cannot be played by this library on this task.
        ValueError: A number the task gave of an episode is not finite (`finished_episodes`).
    """
    env = session.open(with_framework=True)
    settings, journal = session.settings, session.journal
    assert session.checkpoint is not None, "the supervisor never starts play without a checkpoint"
    try:
        checkpoint = Checkpoint(path=session.checkpoint, trusted=settings.admission.trusted)
        policy = session.adapter.policy(env, settings.agent, session.native_config, checkpoint)
    except CheckpointRefused as error:
        raise RefusedError(str(error)) from error
    session.settle()
    journal.append(CheckpointSaved(t=time.monotonic(), path=str(session.checkpoint)))
    total, rows = settings.play.episodes, settings.num_envs
    env.seed_episodes(settings.seed, total)
    observations, _ = env.reset()
    env.drain_episodes()
    session.extra(policy_batch=settings.play.policy_batch, n_episodes_planned=total)
    now = session.timing.now
    recorder = StepRecorder(journal, count_frames=True, timing=session.timing, kernel_loads=session.kernel_loads)
    counting, done, outcome = min(rows, total), 0, "budget"
    with session.watched(settings.play.warmup_steps) as watch:
        session.loop_started(rows, settings.play.warmup_steps)
        while done < total:
            if session.link.stop_requested:
                outcome = "stopped"
                break
            begin = now()
            actions = act(policy, observations, settings.play.policy_batch)
            acted = now()
            state = env.step(actions)
            ended = now()
            recorder.add(ended - begin, ended - acted, counting)
            watch()
            observations = state.obs
            if state.final_mask is None:
                continue
            for episode in finished_episodes(env.drain_episodes()):
                journal.append(episode)
                done += 1
                # The row goes on with episode index + rows, if there is one.
                counting -= episode.index + rows >= total
    recorder.flush()
    if outcome == "budget":
        session.check_determinism()
    journal.append(Finished(t=time.monotonic(), outcome=outcome))


def finished_episodes(ended: Episodes) -> Iterator[Episode]:
    """The events of episodes that ended.

    Raises:
        ValueError: A metric is infinite, or the return or the sum of a term is not finite. NaN is how a task says that
            it measured nothing; any other such number is an error of the task, and no mean could be taken.
    """
    now = time.monotonic()
    index, returns, lengths = ended.index.tolist(), ended.returns.tolist(), ended.lengths.tolist()
    largest = ended.largest_rewards.tolist()
    success = [None] * len(index) if ended.success is None else ended.success.tolist()
    metrics = {name: values.tolist() for name, values in ended.metrics.items()}
    terms = {name: values.tolist() for name, values in ended.term_sums.items()}
    for i, number in enumerate(index):
        measured = {name: None if math.isnan(values[i]) else values[i] for name, values in metrics.items()}
        sums = {name: values[i] for name, values in terms.items()}
        for name, value in {**measured, **sums, "return": returns[i]}.items():
            if value is not None and not math.isfinite(value):
                raise ValueError(f"'{name}' of episode {number} is {value}: expected a finite number")
        yield Episode(
            t=now,
            index=number,
            reward=returns[i],
            length=lengths[i],
            success=success[i],
            max_reward=largest[i],
            metrics=measured,
            reward_terms=sums,
        )


def act(policy: Policy, observations: dict[str, torch.Tensor], batch: int) -> torch.Tensor:
    """Ask the policy for actions, always `batch` rows at a time.

    Matrix products may round differently for another number of rows; a fixed, padded batch makes an episode's actions
    independent of how many environments are played side by side.
    """
    rows = next(iter(observations.values())).shape[0]
    actions = []
    for first in range(0, rows, batch):
        part = {name: group[first : first + batch] for name, group in observations.items()}
        missing = batch - min(batch, rows - first)
        if missing:
            part = {name: _padded(group, missing) for name, group in part.items()}
        actions.append(policy(part)[: batch - missing])
    return actions[0] if len(actions) == 1 else torch.cat(actions)


def _padded(group: torch.Tensor, missing: int) -> torch.Tensor:
    return torch.cat((group, group.new_zeros((missing, *group.shape[1:]))))
