"""What a training leaves in the journal, with a library that is four lines long."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmark_app.envs.episodes import Episodes
from benchmark_app.frameworks.base import StopTraining
from benchmark_app.profiling.worker.timing import Timing
from benchmark_app.settings import NumericsCfg
from benchmark_app.workflows.counts import LiveCounts
from benchmark_app.workflows.device import apply_numerics
from benchmark_app.workflows.early_stop import EarlyStop
from benchmark_app.workflows.recorder import TrainingRecorder


class Clock:
    """Time passes only where something sleeps, so that what is measured is exact on any machine."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    monotonic = perf_counter

    def sleep(self, seconds: float) -> None:
        self.now += seconds


time = Clock()


@pytest.fixture(autouse=True)
def _no_other_clock(monkeypatch):
    monkeypatch.setattr("benchmark_app.workflows.recorder.time", time)


class SleepyEnv:
    """Steps take 10 ms; the episodes it reports are those a test gives it."""

    num_envs = 4

    def __init__(self) -> None:
        self.episodes: list[tuple[float, float, bool]] = []

    def step(self, actions: object) -> None:
        time.sleep(0.01)

    def drain_episodes(self) -> Episodes:
        rows, self.episodes = self.episodes, []
        lengths, returns = [row[0] for row in rows], [row[1] for row in rows]
        tally = np.array([lengths, returns, range(len(rows)), returns], dtype=float)
        succeeded = np.array([good for _, _, good in rows], dtype=bool)
        nothing = np.empty((0, len(rows)), dtype=np.float32)
        return Episodes(tally, nothing, (), (), succeeded, played_in=[], dropped=0)


def recorder(env: SleepyEnv, **settings: object) -> tuple[TrainingRecorder, list]:
    journal: list = []
    return TrainingRecorder(env, journal, SimpleNamespace(stop_requested=False), **settings), journal


def test_on_policy_time_is_split_where_the_rollout_ended() -> None:
    hooks, journal = recorder(SleepyEnv())
    for _ in range(3):
        hooks.env_step(None)
    hooks.rollout_ended()
    time.sleep(0.05)
    hooks.iteration_ended()
    (event,) = journal
    assert event.frames == 12
    assert event.collection_s == pytest.approx(0.03)
    assert event.learning_s == pytest.approx(0.05)
    assert event.iteration_s == pytest.approx(event.collection_s + event.learning_s)


def test_off_policy_time_is_summed_over_the_rounds() -> None:
    hooks, journal = recorder(SleepyEnv())
    for last in (False, False, True):
        hooks.env_step(None)
        hooks.rollout_ended()
        time.sleep(0.02)
        hooks.iteration_ended() if last else hooks.rollout_resumed()
    hooks.env_step(None)
    hooks.iteration_ended()
    first, second = journal
    assert first.collection_s == pytest.approx(0.03)
    assert first.learning_s == pytest.approx(0.06)
    assert second.learning_s == 0.0
    assert second.collection_s == second.iteration_s == pytest.approx(0.01)


def test_what_an_iteration_drew_is_told_of_it_alone() -> None:
    renderer = SimpleNamespace(seconds=7.0, frames=70, drain=None)
    timing = Timing()
    timing.watch_renderer(renderer)
    renderer.seconds, renderer.frames = 8.0, 80  # before the first iteration
    hooks, journal = recorder(SleepyEnv(), timing=timing)
    for seconds, frames in ((8.25, 84), (9.0, 94)):
        hooks.env_step(None)
        renderer.seconds, renderer.frames = seconds, frames
        hooks.iteration_ended()
    assert [(event.render_s, event.render_frames) for event in journal] == [(0.25, 4), (0.75, 10)]
    hooks, journal = recorder(SleepyEnv())
    hooks.iteration_ended()
    assert (journal[0].render_s, journal[0].render_frames) == (None, None)


def test_what_follows_an_iteration_is_in_no_timed_interval() -> None:
    hooks, journal = recorder(SleepyEnv(), after=lambda completed: time.sleep(0.1))
    for _ in range(2):
        hooks.env_step(None)
        hooks.rollout_ended()
        hooks.iteration_ended()
    assert [event.iteration_s for event in journal] == pytest.approx([0.01, 0.01])


def test_the_early_stop_waits_for_a_full_window_and_an_iteration_boundary() -> None:
    env = SleepyEnv()
    early = EarlyStop(success=0.75, window=4)
    hooks, journal = recorder(env, early_stop=early)
    env.episodes = [(5.0, 1.0, True)] * 3
    hooks.iteration_ended()
    assert not early.reached
    env.episodes = [(5.0, 1.0, False)]
    with pytest.raises(StopTraining):
        hooks.iteration_ended()
    assert len(journal) == 2
    assert early.reason == "3 of the last 4 episodes succeeded (asked for 0.75)"


@pytest.mark.parametrize(
    ("episodes", "reached"),
    [([True] * 10, True), ([True] * 9, False), ([False] + [True] * 9, True), ([False] * 2 + [True] * 8, False)],
)
def test_the_early_stop_rule(episodes: list[bool], reached: bool) -> None:
    early = EarlyStop(success=0.9, window=10)
    early.add([False] * 30 if len(episodes) == 10 else [])
    early.add(episodes)
    assert early.reached is reached


def test_gradient_steps_and_samples_are_counted_from_the_live_objects() -> None:
    actor, critic = torch.nn.Linear(3, 2), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
    optimizers = [torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())]
    counts = LiveCounts(SimpleNamespace(actor=actor, critic=critic, optimizers=optimizers))
    with torch.no_grad():
        critic(torch.zeros(100, 3))
    assert counts.after_iteration() == {}
    for _ in range(5):
        critic(torch.zeros(32, 3)).sum().backward()
        optimizers[1].step()
    assert counts.after_iteration() == {
        "gradient_steps_per_iteration": 5,
        "samples_per_minibatch": 32,
        "actor_parameters": 8,
        "critic_parameters": 21,
    }
    assert counts.after_iteration() == {}
    critic(torch.zeros(64, 3)).sum().backward()
    optimizers[1].step()
    found = counts.after_iteration()
    assert (found["gradient_steps_per_iteration"], found["samples_per_minibatch"]) == (1, 64)
    optimizers[1].step()
    assert counts.after_iteration() == {}, "two iterations are enough; the third is left alone"


def test_numerics_are_set_over_what_a_library_left_and_read_back() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    torch.set_num_threads(2)
    off = NumericsCfg(matmul_precision="highest", cudnn_tf32=False, cudnn_benchmark=False)
    assert apply_numerics(1, off) == {
        "threads": 1,
        "matmul_precision": "highest",
        "matmul_tf32": False,
        "cudnn_tf32": False,
        "cudnn_benchmark": False,
    }
