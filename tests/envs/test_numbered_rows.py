"""Environments that are a part of more rows play those rows' episodes, and name the rows by their numbers."""

import pytest
import torch

from .doubles import GliderEnv


def parts(*sizes, total=None):
    found, first = [], 0
    for size in sizes:
        env = GliderEnv(size, steps=4, limit=3.0)
        env.number_rows(first, total or sum(sizes))
        found.append(env)
        first += size
    return found


def test_parts_play_the_episodes_that_one_environment_of_all_rows_would():
    whole, split = GliderEnv(5, steps=4, limit=3.0), parts(2, 3)
    for env in (whole, *split):
        env.seed(3)
        env.init_state()
        env.reset()
    assert torch.equal(whole.state.obs["policy"], torch.cat([env.state.obs["policy"] for env in split]))
    for env in (whole, *split):
        env.seed_episodes(3, 4)
        env.reset()
    assert whole.state.info["frozen"].tolist() == [False, False, False, False, True]
    assert "frozen" not in split[0].state.info  # which has an episode for every row
    assert split[1].state.info["frozen"].tolist() == [False, False, True]


def test_messages_name_rows_by_their_numbers_among_all():
    *_, last = parts(2, 3)
    last.init_state()
    with pytest.raises(ValueError, match="actions not finite in row 3"):
        last.step(torch.full((3, last.num_actions), torch.nan).index_fill_(0, torch.tensor([0, 2]), 0.0))


@pytest.mark.parametrize(("first", "total"), [(-1, 9), (7, 9), (0, 2)])
def test_rows_that_are_not_among_so_many_are_refused(first, total):
    with pytest.raises(ValueError, match=f"first={first}, total={total}: 3 rows"):
        GliderEnv(3).number_rows(first, total)
