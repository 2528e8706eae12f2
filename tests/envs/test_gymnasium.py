"""A `TorchEnv` as the vector environment of Gymnasium."""

import numpy as np
import pytest
import torch
from gymnasium.error import Error, ResetNeeded
from gymnasium.spaces import Box, Dict
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.utils.passive_env_checker import data_shares_objects
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from benchmark_app.envs.gymnasium_envs import TorchSingleEnv, TorchVectorEnv

from .doubles import GliderEnv

SAME_STEP, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


class FromRest(GliderEnv):
    """Starts at 0, so that expected numbers can be written down: the position is the sum of the summed actions."""

    obs_groups_spec = {"policy": 2}  # noqa: RUF012

    def initial_state(self, rows, uniform):
        return torch.zeros_like(uniform), torch.zeros_like(uniform)

    def observe(self, state):
        torch.cat((self.backend.joint_pos, self.backend.joint_vel), 1, out=state.obs["policy"])

    def update_state(self, state):
        self.observe(state)
        state.reward.copy_(self.reward_value)
        state.terminated.copy_(self.backend.joint_pos[:, 0] > self.limit)
        return state


def vector(num_envs=3, mode=SAME_STEP, kind=FromRest, **kwargs):
    return TorchVectorEnv(kind(num_envs, **kwargs), mode)


def actions(*efforts, dtype=np.float32):
    return np.array(efforts, dtype=dtype)[:, None]


def mask(*rows):
    return np.array(rows, dtype=np.bool_)


def same(found, expected):
    """Equal in type, dtype, shape and every number."""
    return data_equivalence(found, expected, exact=True)


def infos_of(returns, lengths, success=None, rows=None):
    rows = np.ones(len(returns), dtype=np.bool_) if rows is None else rows
    metrics = {"episode_return": np.array(returns, dtype=float), "episode_length": np.array(lengths, dtype=float)}
    success = np.zeros(len(returns), dtype=np.bool_) if success is None else success
    metrics |= {"_episode_return": rows, "_episode_length": rows}
    return {"is_success": success, "_is_success": rows, "metrics": metrics, "_metrics": rows}


def test_spaces_and_metadata_are_those_of_the_task():
    envs = vector(3)
    assert envs.num_envs == 3
    assert envs.metadata["autoreset_mode"] is SAME_STEP
    assert envs.single_observation_space == Box(-np.inf, np.inf, (2,), np.float32)
    assert envs.observation_space == Box(-np.inf, np.inf, (3, 2), np.float32)
    assert envs.single_action_space == Box(-1.0, 1.0, (1,), np.float32)
    assert envs.action_space == Box(-1.0, 1.0, (3, 1), np.float32)


def test_a_task_with_a_critic_group_has_all_groups_as_a_dictionary():
    envs = vector(2, kind=GliderEnv, steps=1)
    assert isinstance(envs.single_observation_space, Dict)
    obs, _ = envs.reset(seed=1)
    assert obs in envs.observation_space
    obs, _, _, _, infos = envs.step(actions(0.5, -0.5))
    assert obs in envs.observation_space
    assert all(final in envs.single_observation_space for final in infos["final_obs"])
    assert obs["critic"].shape == (2, 1)


@pytest.mark.parametrize("mode", [SAME_STEP, DISABLED])
def test_the_autoreset_mode_is_declared_by_name_or_value(mode):
    assert vector(mode=mode).metadata["autoreset_mode"] is mode
    assert vector(mode=mode.value).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, "NextStep"])
def test_next_step_autoreset_is_refused(mode):
    with pytest.raises(ValueError, match=r"autoreset_mode=NextStep.*SameStep or Disabled"):
        vector(mode=mode)


def test_same_step_shows_the_next_episode_and_hands_over_the_end_of_the_last():
    envs = vector(3, steps=3, limit=5.0)
    obs, infos = envs.reset(seed=1)
    assert same(obs, np.zeros((3, 2), np.float32))
    assert same(infos, infos_of([0, 0, 0], [0, 0, 0]))

    obs, rewards, terminated, truncated, infos = envs.step(actions(1, 2, 4))
    assert same(obs, np.array([[1, 1], [2, 2], [4, 4]], np.float32))
    assert same(rewards, np.array([1.0, 2.0, 4.0]))
    assert same(terminated, mask(0, 0, 0))
    assert same(truncated, mask(0, 0, 0))
    assert same(infos, infos_of([1, 2, 4], [1, 1, 1]))

    obs, rewards, terminated, truncated, infos = envs.step(actions(0, 0, 0.5))  # row 2 passes 5
    assert same(obs, np.array([[2, 1], [4, 2], [0, 0]], np.float32))
    assert same(rewards, np.array([0.0, 0.0, 0.5]))
    assert same(terminated, mask(0, 0, 1))
    assert same(truncated, mask(0, 0, 0))
    row = mask(0, 0, 1)
    final = {"final_obs": np.array([None, None, np.array([8.5, 4.5], np.float32)], dtype=object), "_final_obs": row}
    final |= {"final_info": infos_of([0, 0, 4.5], [0, 0, 2], rows=row), "_final_info": row}
    assert same(infos, {**infos_of([1, 2, 0], [2, 2, 0]), **final})

    obs, rewards, terminated, truncated, infos = envs.step(
        actions(0, 3, 1)
    )  # the limit of rows 0 and 1; row 1 passes 5
    assert same(obs, np.array([[0, 0], [0, 0], [1, 1]], np.float32))  # row 2 is a step into its next episode
    assert same(rewards, np.array([0.0, 3.0, 1.0]))
    assert same(terminated, mask(0, 1, 0))
    assert same(truncated, mask(1, 0, 0))
    assert infos["final_obs"][0].tolist() == [3, 1]
    assert infos["final_obs"][1].tolist() == [9, 5]
    assert infos["final_obs"][2] is None
    rows = mask(1, 1, 0)
    assert same(infos["_final_obs"], rows)
    assert same(infos["final_info"], infos_of([1, 5, 0], [3, 3, 0], success=mask(1, 0, 0), rows=rows))
    assert same(infos["is_success"], mask(0, 0, 0))  # of the new episodes

    _, _, terminated, truncated, infos = envs.step(actions(0, 0, 0))
    assert not (terminated | truncated).any()
    assert "final_obs" not in infos
    assert "final_info" not in infos


def test_disabled_shows_the_terminal_observation_until_the_row_is_reset():
    envs = vector(3, DISABLED, steps=3, limit=5.0)
    envs.reset(seed=1)
    envs.step(actions(1, 2, 4))
    obs, rewards, terminated, truncated, infos = envs.step(actions(0, 0, 0.5))
    assert same(obs, np.array([[2, 1], [4, 2], [8.5, 4.5]], np.float32))
    assert same(terminated, mask(0, 0, 1))
    assert same(truncated, mask(0, 0, 0))
    ones = mask(1, 1, 1)
    assert same(infos, {**infos_of([1, 2, 4.5], [2, 2, 2]), "frozen": mask(0, 0, 0), "_frozen": ones})

    options = {"reset_mask": terminated}
    obs, infos = envs.reset(options=options)
    assert list(options) == ["reset_mask"]
    assert same(obs, np.array([[2, 1], [4, 2], [0, 0]], np.float32))
    assert same(infos, infos_of([0, 0, 0], [0, 0, 0], rows=mask(0, 0, 1)))

    obs, rewards, terminated, truncated, infos = envs.step(actions(0, 0, 1))
    assert same(obs, np.array([[3, 1], [6, 2], [1, 1]], np.float32))
    assert same(rewards, np.array([0.0, 0.0, 1.0]))
    assert same(terminated, mask(0, 1, 0))
    assert same(truncated, mask(1, 0, 0))
    expected = infos_of([1, 2, 1], [3, 3, 1], success=mask(1, 0, 0))
    assert same(infos, {**expected, "frozen": mask(0, 0, 0), "_frozen": ones})


def test_disabled_leaves_a_finished_row_as_it_ended_while_the_others_go_on():
    envs = vector(2, DISABLED, steps=5, limit=5.0)
    envs.reset(seed=1)
    ended, rewards, terminated, _, infos = envs.step(actions(6, 1))
    assert same(terminated, mask(1, 0))
    assert same(rewards, np.array([6.0, 1.0]))
    for step in range(2, 5):
        obs, rewards, terminated, truncated, infos = envs.step(actions(np.nan, 0))
        assert same(obs, np.array([ended[0], [step, 1]], np.float32))
        assert same(rewards, np.array([0.0, 0.0]))
        assert not (terminated | truncated).any()
        assert same(infos["frozen"], mask(1, 0))
        assert same(infos["metrics"]["episode_length"], np.array([1.0, step]))
        assert same(infos["metrics"]["episode_return"], np.array([6.0, 1.0]))
    _, _, terminated, truncated, infos = envs.step(actions(np.nan, 0))
    assert same(truncated, mask(0, 1))
    assert same(infos["is_success"], mask(0, 1))
    *_, infos = envs.step(actions(np.nan, np.nan))
    assert same(infos["frozen"], mask(1, 1))
    assert same(infos["is_success"], mask(0, 1))  # success stays with the episode
    envs.reset(options={"reset_mask": mask(1, 0)})
    obs, *_, infos = envs.step(actions(1, np.nan))
    assert obs[0].tolist() == [1, 1]
    assert same(infos["frozen"], mask(0, 1))


@pytest.mark.parametrize("mode", [SAME_STEP, DISABLED])
def test_it_returns_what_gymnasiums_own_vector_environment_returns_for_the_plain_one(mode):
    ours = vector(3, mode, steps=4, limit=3.0)
    theirs = SyncVectorEnv([lambda: TorchSingleEnv(FromRest(1, steps=4, limit=3.0))] * 3, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert same(ours.reset(seed=1), theirs.reset(seed=1))
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(60):
        sent = generator.uniform(-1, 1, (3, 1)).astype(np.float32)
        found, expected = ours.step(sent), theirs.step(sent)
        infos = {key: value for key, value in found[4].items() if "frozen" not in key}
        assert same(found[:4], expected[:4])
        assert same(infos, expected[4])
        finished = found[2] | found[3]
        ends += finished.sum()
        if mode is DISABLED and finished.any():
            resets = [envs.reset(options={"reset_mask": finished.copy()}) for envs in (ours, theirs)]
            assert same(*resets)
    assert ends > 30


def test_return_length_and_success_are_those_the_environment_counts():
    envs = vector(4, kind=GliderEnv, steps=7, limit=3.0)
    envs.reset(seed=3)
    generator = np.random.default_rng(0)
    found = []
    for _ in range(50):
        *_, infos = envs.step(generator.uniform(-1, 1, (4, 1)))
        if "final_info" in infos:
            final = infos["final_info"]
            metrics = final["metrics"]
            found += [
                (row, metrics["episode_return"][row], metrics["episode_length"][row], final["is_success"][row])
                for row in np.flatnonzero(infos["_final_info"])
            ]
    assert len(found) > 20
    counted = envs.torch_env.drain_episodes()
    columns = (counted.rows, counted.returns, counted.lengths, counted.success)
    assert found == list(zip(*(column.tolist() for column in columns), strict=True))
    assert {success for *_, success in found} == {False, True}


def test_a_task_that_reports_no_success_never_succeeds():
    envs = vector(2, steps=1)
    envs.torch_env.reports_success = False
    envs.reset(seed=1)
    *_, infos = envs.step(actions(0, 0))
    assert same(infos["final_info"]["is_success"], mask(0, 0))


@pytest.mark.parametrize("mode", [SAME_STEP, DISABLED])
def test_gymnasiums_own_statistics_agree(mode):
    envs = RecordEpisodeStatistics(vector(2, mode, steps=3))
    envs.reset(seed=1)
    for _ in range(2):
        envs.step(actions(1, 2))
    *_, infos = envs.step(actions(1, 2))
    assert infos["episode"]["r"].tolist() == [3.0, 6.0]
    assert infos["episode"]["l"].tolist() == [3, 3]


def test_the_same_seed_gives_the_same_episodes_and_no_seed_goes_on_with_the_next():
    envs = vector(3, kind=GliderEnv)
    first, second, again = (envs.reset(seed=seed)[0]["policy"] for seed in (5, None, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert np.array_equal(envs.reset()[0]["policy"], second)
    assert not np.array_equal(envs.reset(seed=6)[0]["policy"], first)
    torch_env = GliderEnv(3)
    torch_env.seed(5)
    assert np.array_equal(torch_env.init_state().obs["policy"].numpy(), first)


def test_without_a_seed_the_first_reset_draws_one():
    drawn = []
    for _ in range(2):
        envs = vector(3, kind=GliderEnv)
        obs = envs.reset()[0]
        drawn.append(obs["policy"])
        assert np.array_equal(envs.reset(seed=envs.np_random_seed)[0]["policy"], obs["policy"])
    assert not np.array_equal(*drawn)


def test_seeds_that_are_no_integers_are_refused_before_anything_changes():
    envs = vector(2)
    before = envs.reset(seed=1)[0]
    for seed in ([1, 2], 1.5, -1):
        with pytest.raises(Error, match="Seed must be"):
            envs.reset(seed=seed)
    assert same(envs.torch_env.state.obs["policy"].numpy(), before)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"difficulty": 3}, ValueError, "options: difficulty unknown"),
        ({"reset_mask": [True, False]}, TypeError, "NumPy array of bool, got list"),
        ({"reset_mask": np.array([1, 0])}, TypeError, "NumPy array of bool, got int64"),
        ({"reset_mask": mask(1, 0, 0)}, ValueError, r"expected shape \[2\], got \[3\]"),
        ({"reset_mask": mask(0, 0)}, ValueError, "names no row"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(options, error, words):
    envs = vector(2)
    envs.reset(seed=1)
    with pytest.raises(error, match=words):
        envs.reset(options=options)


def test_a_seed_together_with_a_mask_is_refused():
    envs = vector(2)
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="a seed numbers the episodes of all rows"):
        envs.reset(seed=1, options={"reset_mask": mask(1, 0)})


def test_a_reset_comes_first():
    envs = vector(2)
    with pytest.raises(ResetNeeded, match=r"step\(\) before reset"):
        envs.step(actions(0, 0))
    with pytest.raises(ResetNeeded, match=r"reset_mask.* before reset"):
        envs.reset(options={"reset_mask": mask(1, 0)})


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floating_point_actions_are_taken_as_float32(dtype):
    envs = vector(2)
    envs.reset(seed=1)
    obs, *_ = envs.step(actions(0.1, 0.2, dtype=dtype))
    assert same(obs[:, 0], actions(0.1, 0.2, dtype=dtype).astype(np.float32)[:, 0])


@pytest.mark.parametrize(
    ("sent", "error", "words"),
    [
        (np.zeros((2, 1), dtype=np.int64), TypeError, "floating-point numbers, got int64"),
        (np.zeros(2, dtype=np.float32), ValueError, r"expected shape \[2, 1\], got \[2\]"),
        (np.zeros((3, 1), dtype=np.float32), ValueError, r"expected shape \[2, 1\], got \[3, 1\]"),
        (np.array([[0.0], [np.nan]]), ValueError, "actions not finite in row 1"),
    ],
)
def test_actions_that_cannot_be_taken_are_refused(sent, error, words):
    envs = vector(2)
    envs.reset(seed=1)
    with pytest.raises(error, match=words):
        envs.step(sent)


@pytest.mark.parametrize("mode", [SAME_STEP, DISABLED])
def test_no_two_calls_return_the_same_arrays(mode):
    envs = vector(2, mode, steps=2)
    calls = [envs.reset(seed=1)]
    calls += [envs.step(actions(1, 0)) for _ in range(2)]
    calls.append(envs.reset())
    pairs = [(a, b) for i, a in enumerate(calls) for b in calls[:i]]
    assert not any(data_shares_objects(a[0], b[0]) or data_shares_objects(a[-1], b[-1]) for a, b in pairs)


def arrays(node):
    """Every array of a nested structure, those inside object arrays too."""
    if isinstance(node, np.ndarray) and node.dtype != object:
        return [node]
    inner = node.values() if isinstance(node, dict) else node
    return [] if node is None else [array for part in inner for array in arrays(part)]


def test_no_two_arrays_of_one_call_share_memory():
    envs = vector(3, steps=1, kind=GliderEnv)
    envs.reset(seed=1)
    found = arrays(envs.step(actions(1, 0, 0)))
    assert len(found) > 20
    assert not any(np.shares_memory(a, b) for i, a in enumerate(found) for b in found[:i])
    assert all(array.base is None for array in arrays(envs.step(actions(1, 0, 0))[4]["final_obs"]))


def test_episodes_that_finished_before_count_for_nothing():
    torch_env = FromRest(2, steps=2, limit=5.0)
    torch_env.init_state()
    for _ in range(2):
        torch_env.step(torch.zeros(2, 1))  # both succeed
    envs = TorchVectorEnv(torch_env, DISABLED)
    envs.reset(seed=1)
    _, _, terminated, _, infos = envs.step(actions(9, 0))
    assert same(terminated, mask(1, 0))
    assert same(infos["is_success"], mask(0, 0))


def test_what_the_caller_writes_into_arrays_changes_nothing():
    envs, untouched = vector(2, steps=5), vector(2, steps=5)
    envs.reset(seed=1)
    untouched.reset(seed=1)
    for _ in range(12):
        sent = actions(0.5, -0.5)
        found = envs.step(sent)
        assert same(found, untouched.step(actions(0.5, -0.5)))
        sent[:] = np.nan
        for array in (*found[:4], found[4]["is_success"], *found[4]["metrics"].values()):
            array[:] = 77
