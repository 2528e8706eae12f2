"""What a play leaves in the journal: the same episodes for any number of environments, and nothing beyond them."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.bundle.evaluation import episode_rows
from benchmark_app.envs.make import make_env
from benchmark_app.profiling.worker.timing import Timing
from benchmark_app.workflows import play

from .envs.doubles import GliderEnv
from .envs.test_evaluation import ScoredGliderEnv


def played(env, *, policy, episodes, batch=4, seed=3, stop_after=None):
    """The events of a play by a policy that is any function of the observation groups."""
    journal, asked = [], []

    class Link:
        @property
        def stop_requested(self):
            asked.append(1)
            return stop_after is not None and len(asked) > stop_after

    settings = SimpleNamespace(
        agent=None,
        admission=SimpleNamespace(trusted=False),
        play=SimpleNamespace(episodes=episodes, policy_batch=batch, warmup_steps=0),
        num_envs=env.num_envs,
        seed=seed,
    )
    session = SimpleNamespace(
        open=lambda with_framework: env,
        settings=settings,
        journal=journal,
        checkpoint=Path("policy.pt"),
        adapter=SimpleNamespace(policy=lambda *_: policy),
        native_config={},
        settle=lambda: None,
        extra=lambda **values: None,
        link=Link(),
        timing=Timing(),
        loop_started=lambda *_: None,
        watched=lambda warmup: nullcontext(lambda: None),
        kernel_loads=lambda: 0,
        check_determinism=lambda: None,
    )
    play.run(session)
    return journal


def rows_of(journal):
    return [row | {"seed": None} for row in episode_rows(journal)]


def glide(observations):
    return 0.5 + observations["policy"][:, :1]


@pytest.mark.parametrize("num_envs", [1, 3, 11, 20])
def test_exactly_the_episodes_asked_for_are_recorded_each_with_its_numbers(num_envs):
    journal = played(ScoredGliderEnv(num_envs, steps=4, limit=3.0), policy=glide, episodes=11)
    rows = rows_of(journal)
    assert [row["index"] for row in rows] == list(range(11))
    assert rows == rows_of(played(ScoredGliderEnv(2, steps=4, limit=3.0), policy=glide, episodes=11))
    for row in rows:
        assert sum(row["reward_terms"].values()) == pytest.approx(row["return"], rel=1e-6)
        assert row["max_reward"] * row["length"] >= row["return"]
    assert journal[-1].outcome == "budget"


def test_only_rows_that_still_play_are_frames():
    for num_envs, frames in ((4, [4, 4, 4, 2, 2, 2]), (8, [6, 6, 6])):
        journal = played(GliderEnv(num_envs, steps=3), policy=glide, episodes=6)
        assert [count for event in journal if event.kind == "steps" for count in event.frames] == frames


def test_a_stopped_play_has_the_episodes_that_ended_and_is_not_done():
    journal = played(GliderEnv(2, steps=3), policy=glide, episodes=10, stop_after=4)
    assert len(rows_of(journal)) == 2
    assert journal[-1].outcome == "stopped"


def test_a_metric_nobody_measured_is_null():
    rows = rows_of(played(ScoredGliderEnv(2, steps=1), policy=glide, episodes=2))
    assert [row["metrics"] for row in rows] == [{"way": None}, {"way": None}]


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_metric_ends_the_play_with_its_name(value):
    class Broken(ScoredGliderEnv):
        def episode_metrics(self, state, env_ids):
            return torch.full((1, len(env_ids)), value)

    with pytest.raises(ValueError, match=f"'way' of episode 0 is {value}: expected a finite number"):
        played(Broken(2, steps=2), policy=glide, episodes=2)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_term_that_is_not_finite_ends_the_play_although_the_reward_is(value):
    class Broken(ScoredGliderEnv):
        def update_state(self, state):
            super().update_state(state)
            self.terms[:, 1] = value
            return state

    with pytest.raises(ValueError, match=f"'price' of episode 0 is {value}"):
        played(Broken(2, steps=2), policy=glide, episodes=2)


@pytest.mark.engine
def test_on_an_engine_with_independent_rows_episodes_are_bitwise_the_same_for_1_8_and_64_environments():
    torch.manual_seed(0)
    hidden = torch.randn(4, 16) * 0.1
    gain = torch.tensor([[1.2], [0.2], [0.02], [0.05]])

    def balance(observations):  # by hand, and rough enough to fail at times
        seen = observations["policy"]
        return (seen @ gain + 0.1 * torch.tanh(seen @ hidden).sum(1, keepdim=True)).clamp(-1, 1)

    found = []
    for num_envs in (1, 8, 64):
        env = make_env(Cfg(episode_length_s=1.0), "newton_mjwarp", num_envs, "cpu", {})
        try:
            found.append(rows_of(played(env, policy=balance, episodes=10, batch=64)))
        finally:
            env.close()
    assert found[0] == found[1] == found[2]
    assert len({row["return"] for row in found[0]}) == 10
    assert {row["success"] for row in found[0]} == {True, False}
