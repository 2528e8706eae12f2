"""A fixed number of episodes: what is played, what is recorded of each, and rows with none left."""

import math

import pytest
import torch

from .doubles import Glider, GliderEnv
from .test_frozen import Rehearsing


class ScoredGliderEnv(GliderEnv):
    """The same with a reward of two terms, and a metric that only episodes with more than one step have."""

    reward_terms = ("push", "price")
    metrics = ("way",)

    def update_state(self, state):
        super().update_state(state)
        self.terms[:, 0] = self.reward_value
        self.terms[:, 1] = -0.25 * self.reward_value.abs()
        torch.sum(self.terms, 1, out=state.reward)
        return state

    def episode_metrics(self, state, env_ids):
        way = self.backend.joint_pos[env_ids, 0].clone()
        way[self._steps[env_ids] == 1] = torch.nan
        return way.unsqueeze(0)


def evaluated(num_envs, count, *, env=None, actions=None):
    """Every recorded episode of an evaluation by number, and the states returned on the way."""
    env = env or ScoredGliderEnv(num_envs, steps=4, limit=3.0)
    env.seed_episodes(7, count)
    obs, _ = env.reset()
    states, found = [], {}
    while len(found) < count:
        state = env.step(actions(obs["policy"]) if actions else 0.5 + obs["policy"][:, :1])
        obs, done = state.obs, env.drain_episodes()
        states.append(state)
        if len(done) == 0:
            continue
        columns = [done.index, done.rows, done.lengths, done.returns, done.largest_rewards, done.success]
        for i, (number, row, *values) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            assert number % num_envs == row
            assert number not in found
            named = {name: float(column[i]) for name, column in {**done.term_sums, **done.metrics}.items()}
            found[number] = (*values, {name: None if math.isnan(value) else value for name, value in named.items()})
    return env, found, states


def test_exactly_the_episodes_asked_for_are_played_and_they_are_the_same_for_any_number_of_rows():
    played = [evaluated(rows, 11)[1] for rows in (1, 3, 8, 11, 32)]
    assert all(found == played[0] for found in played)
    assert played[0].keys() == set(range(11))
    assert {length for length, *_ in played[0].values()} >= {2, 3}


def test_the_record_of_an_episode_has_its_largest_reward_and_what_each_term_gave():
    env = ScoredGliderEnv(2, steps=3)
    env.seed_episodes(1, 3)
    env.reset()
    for first, second in ((-1.0, -4.0), (-3.0, -2.0), (-2.0, -3.0), (1.0, 9.0), (0.5, 9.0), (4.0, 9.0)):
        env.step(torch.tensor([[first], [second]]))
    episodes = env.drain_episodes()
    assert episodes.index.tolist() == [0, 1, 2]
    assert episodes.largest_rewards.tolist() == [-1.25, -2.5, 3.0]
    assert episodes.term_sums["push"].tolist() == [-6.0, -9.0, 5.5]
    assert episodes.term_sums["price"].tolist() == [-1.5, -2.25, -1.375]
    assert torch.equal(sum(episodes.term_sums.values()), episodes.returns)


def test_a_metric_that_an_episode_does_not_have_is_nan():
    env = ScoredGliderEnv(2, steps=2, limit=100.0)
    env.seed_episodes(1, 2)
    env.reset()
    env.step(torch.tensor([[200.0], [0.0]]))
    env.step(torch.zeros(2, 1))
    way = env.drain_episodes().metrics["way"]
    assert math.isnan(way[0])
    assert 0.0 <= way[1] < 1.0


def test_a_row_with_no_episode_left_keeps_the_state_in_which_its_last_one_ended():
    env = ScoredGliderEnv(3, steps=50, limit=100.0)
    env.seed_episodes(7, 4)
    env.reset()

    def push(*efforts):
        return env.step(torch.tensor(efforts).unsqueeze(1))

    ended = push(0.0, 200.0, 0.0)
    assert ended.final_mask.tolist() == [False, True, False]
    assert ended.info["frozen"].tolist() == [False] * 3
    assert torch.equal(ended.obs["policy"][1], ended.final_observation["policy"][1])
    assert ended.obs["policy"][1, 1] == 200.0
    later = push(200.0, math.nan, 0.0)  # row 0 ends, too, and has another episode
    assert later.final_mask.tolist() == [True, False, False]
    assert later.info["frozen"].tolist() == [False, True, False]
    assert later.info["steps"].tolist() == [0, 1, 2]
    assert later.obs["policy"][0, 1] == 0.0
    for _ in range(3):
        state = push(1.0, -300.0, 0.0)
        assert torch.equal(state.obs["policy"][1], ended.obs["policy"][1])
        assert state.reward[1] == 0.0
        assert state.info["frozen"].tolist() == [False, True, False]
    push(200.0, 0.0, 200.0)
    assert sorted(env.drain_episodes().index.tolist()) == [0, 1, 2, 3]
    assert push(1.0, 1.0, 1.0).info["frozen"].all()


def test_rows_that_never_had_an_episode_are_frozen_from_the_first_step():
    env = ScoredGliderEnv(5, steps=2, limit=1000.0)
    env.seed_episodes(7, 3)
    first, info = env.reset()
    assert info["frozen"].tolist() == [False, False, False, True, True]
    for _ in range(4):
        state = env.step(torch.full((5, 1), 5.0))
        assert torch.equal(state.obs["policy"][3:], first["policy"][3:])
        assert not state.terminated[3:].any()
    assert env.drain_episodes().index.tolist() == [0, 1, 2]


def test_what_a_row_with_no_episode_left_would_do_is_nobodys_concern():
    """A policy that diverges beyond the last episode must not fail an evaluation that has fewer rows elsewhere."""
    env = ScoredGliderEnv(4, steps=3)
    env.seed_episodes(7, 2)
    env.reset()
    actions = torch.tensor([[0.1], [0.1], [math.nan], [math.inf]])
    for _ in range(3):
        env.step(actions)
    assert env.drain_episodes().index.tolist() == [0, 1]


def test_recording_in_the_middle_of_an_evaluation_changes_nothing():
    class Recorded(ScoredGliderEnv):
        recordable = True

    rehearsed = Recorded(3, steps=4, limit=3.0, backend=Rehearsing(3))
    assert evaluated(3, 8, env=rehearsed)[1] == evaluated(3, 8)[1]
    before = rehearsed.backend.rehearsed
    evaluated(3, 8, env=rehearsed)
    assert rehearsed.backend.rehearsed == before, "bodies are recorded with the reset, not while it counts"


def test_an_evaluation_may_be_repeated_and_a_training_follow_it():
    env, first, _ = evaluated(3, 7)
    assert evaluated(3, 7, env=env)[1] == first
    env.seed(1)
    env.reset()
    for _ in range(12):
        state = env.step(torch.zeros(3, 1))
    assert "frozen" not in state.info
    assert len(env.drain_episodes()) == 9


def test_frozen_rows_have_no_reward_and_so_no_term_of_one():
    env = ScoredGliderEnv(2, steps=50)
    env.set_autoreset(False)
    env.set_reporting(True)
    env.init_state()
    env.step(torch.tensor([[200.0], [1.0]]))
    state = env.step(torch.ones(2, 1))
    assert state.info["reward_terms"]["push"].tolist() == [0.0, 1.0]
    assert torch.equal(sum(state.info["reward_terms"].values()), state.reward)


def test_the_sums_of_a_running_episode_survive_an_export():
    def half(env):
        for _ in range(2):
            env.step(torch.full((2, 1), 2.0))

    env, other = (ScoredGliderEnv(2, steps=4, backend=Glider(2)) for _ in range(2))
    env.init_state(), other.init_state()
    half(env)
    other.import_training_state(env.export_training_state())
    for one in (env, other):
        for _ in range(2):
            one.step(torch.ones(2, 1))
    mine, theirs = env.drain_episodes(), other.drain_episodes()
    assert mine.tally.tolist()[3:] == theirs.tally.tolist()[3:]
    assert mine.measured.tolist() == theirs.measured.tolist()
    assert mine.largest_rewards.tolist() == [1.5, 1.5]


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_episodes_below_one_is_refused(count):
    with pytest.raises(ValueError, match=f"count={count}: must be at least 1"):
        GliderEnv(2).seed_episodes(1, count)
