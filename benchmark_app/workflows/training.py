"""Training a policy through the library's own loop, observed by hooks."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import torch

from benchmark_app.checkpoint_card import iterations_done, write_card
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused, Learner, StopTraining, TrainingRun
from benchmark_app.frameworks.mapping import leaves
from benchmark_app.journal.events import CheckpointSaved, Finished

from . import RefusedError
from .counts import LIVE_COUNTED, LiveCounts
from .early_stop import EarlyStop
from .ranks import Ranks
from .recorder import TrainingRecorder
from .session import Session


def run(session: Session) -> None:
    """Train for the budget, or until asked to stop; either way the policy of that moment is saved.

    Raises:
        RefusedError: The checkpoint to continue from is not for this library, agent or task.
        RuntimeError: The training diverged.
    """
    env = session.open(with_framework=True)
    settings = session.settings
    session.log_dir.mkdir(parents=True, exist_ok=True)
    done = 0 if session.checkpoint is None else iterations_done(session.checkpoint)
    budget = settings.agent.iterations - done
    early_stop = None
    if settings.training.early_stop_success is not None:
        early_stop = EarlyStop(settings.training.early_stop_success, settings.training.early_stop_window)

    def after(completed: int) -> None:
        if counted := live.after_iteration():
            session.extra(**counted)
        iteration = done + completed
        every, filmed = settings.training.checkpoint_interval, settings.training.video_interval
        due = (every and completed % every == 0) or (filmed and iteration % filmed == 0)
        if due and completed < budget:
            _save(session, env, learner, f"iteration_{iteration}", iteration)
        watch()

    recorder = TrainingRecorder(
        env,
        session.journal,
        session.link,
        early_stop,
        after,
        session.world_size,
        session.timing,
        session.kernel_loads,
    )
    learner = _build(session, env, recorder, budget)
    if session.world_size > 1:
        recorder.ranks = Ranks(session.rank)
    live = LiveCounts(learner)
    session.settle()
    frames = settings.num_envs * session.world_size * settings.agent.rollout
    warmup = settings.training.warmup_iterations
    try:
        with session.watched(warmup) as watch, suppress(StopTraining):
            session.loop_started(frames, warmup, least=LIVE_COUNTED)
            learner.learn()
    finally:
        learner.close()
    _require_sound(env, learner)
    _save(session, env, learner, "policy", done + recorder.completed)
    outcome = "budget" if recorder.completed >= budget else "stopped"
    if outcome == "stopped" and early_stop is not None and early_stop.reached:
        outcome = "early_stop"
        session.extra(early_stop=early_stop.reason)
    if outcome != "stopped":
        session.check_determinism()
    session.journal.append(Finished(t=time.monotonic(), outcome=outcome))


def _build(session: Session, env: TorchEnv, recorder: TrainingRecorder, budget: int) -> Learner:
    settings = session.settings
    resume = None
    if session.checkpoint is not None:
        resume = Checkpoint(path=session.checkpoint, trusted=settings.admission.trusted)
    run = TrainingRun(
        agent=settings.agent,
        config=session.native_config,
        iterations=budget,
        seed=session.seed,
        world_size=session.world_size,
        log_dir=session.log_dir,
        resume=resume,
    )
    try:
        return session.adapter.build(env, run, recorder)
    except CheckpointRefused as error:
        raise RefusedError(str(error)) from error
    except Exception as error:
        if not settings.framework.native:
            raise
        # Which values a native setting takes, only the library knows.
        typed = ", ".join(f"framework.native.{path}={value}" for path, value in leaves(settings.framework.native))
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise RefusedError(f"{typed}: {settings.framework.name} cannot be built with it ({text})") from error


def _save(session: Session, env: TorchEnv, learner: Learner, stem: str, iteration: int) -> None:
    if session.rank:
        return  # all ranks hold the same policy
    path: Path = learner.save(session.checkpoint_dir / stem)
    write_card(path, session.settings, env, iteration)
    session.journal.append(CheckpointSaved(t=time.monotonic(), path=str(path), iteration=iteration))


def _require_sound(env: TorchEnv, learner: Learner) -> None:
    """Ask the policy for actions before it is saved.

    Raises:
        RuntimeError: They are not finite: the training diverged.
    """
    state = env.state
    assert state is not None, "an environment that was trained on has a state"
    with torch.no_grad():
        if not torch.isfinite(learner.mean_actions(state.obs)).all():
            raise RuntimeError("the policy's actions are not finite: the training diverged")
