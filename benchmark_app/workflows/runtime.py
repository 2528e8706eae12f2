"""Environment throughput: random actions, no policy, no learning."""

from __future__ import annotations

import time

import torch

from benchmark_app.journal.events import Finished

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
    now = session.timing.now
    recorder = StepRecorder(
        session.journal, count_frames=False, timing=session.timing, kernel_loads=session.kernel_loads
    )
    outcome = "budget"
    with session.watched(settings.runtime.warmup_steps) as watch:
        session.loop_started(settings.num_envs, settings.runtime.warmup_steps)
        for _ in range(settings.runtime.all_steps):
            if session.link.stop_requested:
                outcome = "stopped"
                break
            actions = low + span * torch.rand(shape, generator=generator, device=env.device)
            begin = now()
            env.step(actions)
            taken = now() - begin
            recorder.add(taken, taken)
            watch()
    recorder.flush()
    if outcome == "budget":
        session.check_determinism()
    session.journal.append(Finished(t=time.monotonic(), outcome=outcome))
