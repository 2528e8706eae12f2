"""Evaluating a checkpoint: a fixed set of seeded episodes, played by the deterministic policy."""

from __future__ import annotations

import time

import torch

from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused, Policy
from benchmark_app.journal.events import CheckpointSaved, Episode, Finished, LoopStarted

from . import RefusedError
from .session import Session
from .stepping import StepRecorder


def run(session: Session) -> None:
    """Play episodes 0 to E-1, dealt to rows r, r+N, r+2N and so on; a row with none left no longer counts.

    Raises:
        RefusedError: The checkpoint cannot be played by this library on this task.
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
    env.seed_episodes(settings.seed)
    observations, _ = env.reset()
    env.drain_episodes()
    journal.append(
        LoopStarted(t=time.monotonic(), steps_per_iteration=rows, warmup_iterations=settings.play.warmup_steps)
    )
    recorder = StepRecorder(journal, count_frames=True)
    counting, done, outcome = min(rows, total), 0, "budget"
    while done < total:
        if session.link.stop_requested:
            outcome = "stopped"
            break
        begin = time.perf_counter()
        actions = act(policy, observations, settings.play.policy_batch)
        acted = time.perf_counter()
        state = env.step(actions)
        ended = time.perf_counter()
        recorder.add(ended - begin, ended - acted, counting)
        observations = state.obs
        if state.final_mask is None:
            continue
        for episode in finished_episodes(env, total):
            journal.append(episode)
            done += 1
            # The row goes on with episode index + rows, if there is one.
            counting -= episode.index + rows >= total
    recorder.flush()
    session.extra(policy_batch=settings.play.policy_batch)
    journal.append(Finished(t=time.monotonic(), outcome=outcome))


def finished_episodes(env: object, total: int) -> list[Episode]:
    """The evaluated episodes that ended since the last call; those dealt beyond the last one are left out."""
    ended = env.drain_episodes()  # type: ignore[attr-defined]
    now = time.monotonic()
    success = [None] * len(ended.index) if ended.success is None else ended.success.tolist()
    return [
        Episode(t=now, index=index, reward=reward, length=length, success=good)
        for index, reward, length, good in zip(
            ended.index.tolist(), ended.returns.tolist(), ended.lengths.tolist(), success, strict=True
        )
        if index < total
    ]


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
            part = {name: torch.nn.functional.pad(group, (0, 0, 0, missing)) for name, group in part.items()}
        actions.append(policy(part)[: batch - missing])
    return actions[0] if len(actions) == 1 else torch.cat(actions)
