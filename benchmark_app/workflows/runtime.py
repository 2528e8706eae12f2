"""Environment throughput: random actions, no policy, no learning."""

from __future__ import annotations

import time

import torch

from benchmark_app.journal.events import Finished, LoopStarted

from .session import Session
from .stepping import StepRecorder


def run(session: Session) -> None:
    """Step with uniform random actions; drawing them is not part of a step."""
    env = session.open(with_framework=False)
    settings = session.settings
    generator = torch.Generator(device=env.device).manual_seed(settings.seed)
    low = torch.as_tensor(env.action_space.low, device=env.device)
    span = torch.as_tensor(env.action_space.high, device=env.device) - low
    shape = (settings.num_envs, *low.shape)
    warmup = settings.runtime.warmup_steps
    total = warmup + settings.runtime.steps
    started = LoopStarted(t=time.monotonic(), steps_per_iteration=settings.num_envs, warmup_iterations=warmup)
    session.journal.append(started)
    recorder = StepRecorder(session.journal, count_frames=False)
    outcome = "budget"
    for _ in range(total):
        if session.link.stop_requested:
            outcome = "stopped"
            break
        actions = low + span * torch.rand(shape, generator=generator, device=env.device)
        begin = time.perf_counter()
        env.step(actions)
        taken = time.perf_counter() - begin
        recorder.add(taken, taken)
    recorder.flush()
    session.journal.append(Finished(t=time.monotonic(), outcome=outcome))
