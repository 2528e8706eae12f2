"""Seeds, episode numbers and what is kept of finished episodes."""

import pytest
import torch

from benchmark_app.envs.episodes import EpisodeLog
from benchmark_app.envs.numbering import stream_seed

from .doubles import GliderEnv, started


def starts(env):
    return env.init_state().obs["policy"][:, 0].clone()


def played(num_envs, episodes, seed=7):
    """First position, return and length of each evaluation episode, by number."""
    env = GliderEnv(num_envs, steps=4, limit=3.0)
    env.seed_episodes(seed)
    obs, _ = env.reset()
    first = {row: float(obs["policy"][row, 0]) for row in range(num_envs)}
    found = {}
    while not found.keys() >= set(range(episodes)):
        state = env.step(torch.full((num_envs, 1), 0.25))
        done = env.drain_episodes()
        for i in range(len(done)):
            row, index = int(done.rows[i]), int(done.index[i])
            assert index % num_envs == row
            found[index] = (first[row], float(done.returns[i]), int(done.lengths[i]), bool(done.success[i]))
            first[row] = float(state.obs["policy"][row, 0])
    return [found[index] for index in range(episodes)]


def test_the_same_seed_starts_the_same_and_another_does_not():
    one, two, other = GliderEnv(8), GliderEnv(8), GliderEnv(8)
    for env, seed in ((one, 3), (two, 3), (other, 4)):
        env.seed(seed)
    assert torch.equal(starts(one), starts(two))
    assert not torch.equal(starts(one), starts(other))


def test_seeding_again_starts_over():
    env = GliderEnv(8)
    env.seed(3)
    first, second = starts(env), starts(env)
    env.seed(3)
    assert torch.equal(starts(env), first)
    assert not torch.equal(first, second)


def test_initial_states_fill_the_unit_interval_evenly():
    positions = starts(GliderEnv(4096))
    assert positions.min() >= 0.0
    assert positions.max() < 1.0
    assert len(positions.unique()) > 4000
    assert positions.mean() == pytest.approx(0.5, abs=0.02)
    assert positions.var() == pytest.approx(1 / 12, abs=0.005)


def test_evaluation_episodes_are_the_same_for_any_number_of_rows():
    one, three, eight = played(1, 11), played(3, 11), played(8, 11)
    assert one == three == eight
    assert len({start for start, *_ in one}) == 11
    assert {success for *_, success in one} == {True, False}


def test_evaluation_and_training_never_share_an_episode():
    env = GliderEnv(64)
    env.seed(5)
    training = starts(env)
    env.seed_episodes(5)
    assert not (training.unsqueeze(0) == starts(env).unsqueeze(1)).any()


def test_streams_of_any_seed_fit_thirty_one_bits_and_differ():
    seeds = [stream_seed(stream, seed) for stream in ("training", "evaluation") for seed in (-1, 0, 1, 2**63)]
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == len(seeds)


def test_returns_lengths_and_success_of_every_finished_episode():
    env = started(2, steps=3, limit=100.0)
    for effort in (1.0, 2.0):
        env.step(torch.full((2, 1), effort))
    env.step(torch.tensor([[4.0], [200.0]]))
    episodes = env.drain_episodes()
    assert episodes.returns.tolist() == [7.0, 203.0]
    assert episodes.lengths.tolist() == [3, 3]
    assert episodes.success.tolist() == [True, False]
    assert episodes.rows.tolist() == [0, 1]
    assert episodes.index.tolist() == [0, 1]
    assert episodes.dropped == 0
    assert len(env.drain_episodes()) == 0


def test_a_task_may_report_no_success():
    env = started(2, steps=1)
    env.reports_success = False
    env.step(torch.ones(2, 1))
    assert env.drain_episodes().success is None


def test_an_abandoned_episode_is_not_counted_and_its_row_starts_clean():
    env = started(3, steps=3)
    env.step(torch.ones(3, 1))
    before = env.state.obs["policy"].clone()
    obs, info = env.reset(torch.tensor([2, 0]))
    assert torch.equal(obs["policy"][1], before[1])
    assert obs["policy"][[0, 2], 1].tolist() == [0.0, 0.0]
    assert info["steps"].tolist() == [0, 1, 0]
    assert len(env.drain_episodes()) == 0
    for _ in range(3):
        env.step(torch.ones(3, 1))
    episodes = env.drain_episodes()
    assert sorted(zip(episodes.rows.tolist(), episodes.returns.tolist(), strict=True)) == [(0, 3.0), (1, 3.0), (2, 3.0)]
    assert dict(zip(episodes.rows.tolist(), episodes.index.tolist(), strict=True)) == {0: 3, 1: 1, 2: 5}


def test_a_log_nobody_reads_stays_small_and_says_what_it_lost():
    log = EpisodeLog(capacity=10)
    for i in range(100):
        log.append(
            torch.tensor([i]).numpy(), torch.full((4, 1), float(i), dtype=torch.float64), torch.empty(0, 1), None
        )
    episodes = log.drain()
    assert episodes.dropped == 90
    assert episodes.lengths.tolist() == list(range(90, 100))
    assert log.drain().dropped == 0
