"""Autoreset off: a row that ended is frozen until it is reset."""

import pytest
import torch

from .doubles import Glider, GliderEnv, MindfulGliderEnv, nan_in


def held(num_envs=3, kind=GliderEnv, **kwargs):
    env = kind(num_envs, **kwargs)
    env.set_autoreset(False)
    env.init_state()
    return env


def push(env, *efforts):
    return env.step(torch.tensor(efforts).unsqueeze(1))


def test_the_step_that_ends_an_episode_tells_it_and_nothing_is_frozen_yet():
    env = held(steps=9)
    assert env.state.info["frozen"].tolist() == [False] * 3
    state = push(env, 0.0, 200.0, 0.0)
    assert state.terminated.tolist() == [False, True, False]
    assert state.info["frozen"].tolist() == [False] * 3
    assert state.info["frozen"].dtype == torch.bool
    assert state.reward.tolist() == [0.0, 200.0, 0.0]
    assert state.final_observation is None
    assert state.final_mask is None
    assert state.obs["policy"][1, 1] == 200.0


@pytest.mark.parametrize("end", ["terminated", "truncated"])
@pytest.mark.parametrize("kind", [GliderEnv, MindfulGliderEnv])
def test_a_frozen_row_keeps_everything_it_ended_with(end, kind):
    env = held(steps=2, kind=kind)
    push(env, 1.0, 1.0, 1.0)
    env.reset(torch.tensor([0, 2]))  # so that these two rows live longer
    last = push(env, 0.0, 200.0 if end == "terminated" else 0.5, 0.0)
    assert getattr(last, end).tolist() == [False, True, False]
    pos, vel = env.backend.joint_pos[1].clone(), env.backend.joint_vel[1].clone()
    for effort in (3.0, -500.0, torch.nan, torch.inf):
        env.reset(torch.tensor([0, 2]))
        state = push(env, 1.0, effort, 1.0)
        assert state.info["frozen"].tolist() == [False, True, False]
        assert state.reward.tolist() == [1.0, 0.0, 1.0]
        assert not state.terminated.any()
        assert not state.truncated.any()
        assert state.info["steps"].tolist() == [1, 2, 1]
        assert torch.equal(env.backend.joint_pos[1], pos)
        assert torch.equal(env.backend.joint_vel[1], vel)
        for name, obs in state.obs.items():
            assert torch.equal(obs[1], last.obs[name][1])
    episodes = env.drain_episodes()
    assert episodes.rows.tolist() == [1]
    assert episodes.lengths.tolist() == [2]
    assert episodes.returns.tolist() == [201.0 if end == "terminated" else 1.5]


def test_the_other_rows_do_not_notice():
    frozen, lone = held(2, steps=50), held(2, steps=50)
    push(frozen, 0.5, 200.0)
    push(lone, 0.5, 0.5)
    for effort in torch.rand(20, generator=torch.Generator().manual_seed(0)).tolist():
        one, other = push(frozen, effort, torch.nan), push(lone, effort, effort)
        assert torch.equal(one.obs["policy"][0], other.obs["policy"][0])
        assert one.reward[0] == other.reward[0]


def test_a_task_whose_numbers_would_be_bad_in_a_frozen_row_only_is_no_concern():
    env = held(steps=9)
    push(env, 0.0, 200.0, 0.0)
    env.spoil = {"reward": nan_in(1), "critic": nan_in(1), "control": nan_in(1)}
    assert push(env, 0.0, 0.0, 0.0).reward.tolist() == [0.0] * 3
    env.spoil = {"reward": nan_in(2)}
    with pytest.raises(ValueError, match="reward not finite in row 2"):
        push(env, 0.0, 0.0, 0.0)


def test_a_reset_of_some_rows_thaws_those_and_leaves_the_frozen_ones_as_they_were():
    env = held(3, kind=MindfulGliderEnv, steps=9)
    last = push(env, 200.0, 200.0, 0.0)
    push(env, 1.0, 1.0, 1.0)
    obs, info = env.reset(torch.tensor([0]))
    assert info["frozen"].tolist() == [False, True, False]
    assert info["steps"].tolist() == [0, 1, 2]
    assert torch.equal(obs["critic"][1], last.obs["critic"][1])
    state = push(env, 1.0, 1.0, 1.0)
    assert state.info["frozen"].tolist() == [False, True, False]
    assert state.info["steps"].tolist() == [1, 1, 3]
    assert state.obs["policy"][0, 1] == 1.0
    env.reset()
    assert push(env, 1.0, 1.0, 1.0).info["steps"].tolist() == [1, 1, 1]


def test_a_reset_that_leaves_out_a_row_that_just_ended_shows_it_frozen():
    env = held(3, steps=9)
    push(env, 0.0, 200.0, 0.0)
    _, info = env.reset(torch.tensor([0]))
    assert info["frozen"].tolist() == [False, True, False]


def test_all_rows_may_be_frozen():
    env = held(3, steps=1)
    push(env, 1.0, 1.0, 1.0)
    for _ in range(3):
        state = push(env, 1.0, 1.0, 1.0)
        assert state.info["frozen"].all()
        assert state.info["steps"].tolist() == [1, 1, 1]
    assert len(env.drain_episodes()) == 3


def test_a_row_frozen_anew_ends_where_it_ended_this_time():
    env = held(1, steps=2)
    for effort in (1.0, 5.0):
        env.reset()
        push(env, effort)
        last = push(env, effort)
        assert torch.equal(push(env, 0.0).obs["policy"], last.obs["policy"])
    assert env.drain_episodes().returns.tolist() == [2.0, 10.0]


def test_autoreset_may_be_switched_between_steps_and_refuses_frozen_rows():
    env = held(3, steps=2)
    push(env, 0.0, 200.0, 0.0)
    push(env, 0.0, 0.0, 0.0)
    env.set_autoreset(True)
    with pytest.raises(RuntimeError, match=r"rows \[0, 1, 2\] ended while autoreset was off and must be reset"):
        push(env, 0.0, 0.0, 0.0)
    env.reset()
    push(env, 0.0, 0.0, 0.0)
    state = push(env, 0.0, 0.0, 0.0)
    assert state.final_mask.all()
    assert "frozen" not in state.info
    env.set_autoreset(False)
    assert push(env, 0.0, 0.0, 0.0).info["frozen"].tolist() == [False] * 3


def test_until_the_first_end_autoreset_makes_no_difference():
    on, off = GliderEnv(4, steps=6), GliderEnv(4, steps=6)
    off.set_autoreset(False)
    on.init_state(), off.init_state()
    for action in torch.rand(6, 4, 1, generator=torch.Generator().manual_seed(3)):
        one, other = on.step(action), off.step(action)
        shown = one.final_observation or one.obs
        assert all(torch.equal(shown[name], other.obs[name]) for name in shown)
        assert torch.equal(one.reward, other.reward)
        assert torch.equal(one.truncated, other.truncated)
    assert other.truncated.all()


class Rehearsing(Glider):
    """An engine that runs a body once to record it, as one on CUDA does, and puts its own state back."""

    rehearsed = 0

    def record(self, body):
        before = self.export_state()
        body()
        self.import_state(before)
        self.rehearsed += 1
        return body


class RehearsedEnv(MindfulGliderEnv):
    recordable = True


def test_recording_in_the_middle_of_episodes_changes_nothing():
    plain = MindfulGliderEnv(3, steps=4)
    rehearsed = RehearsedEnv(3, steps=4, backend=Rehearsing(3))
    for env in (plain, rehearsed):
        env.init_state()
    for step, action in enumerate(torch.rand(20, 3, 1, generator=torch.Generator().manual_seed(5))):
        if step in (2, 12):
            for env in (plain, rehearsed):
                env.set_autoreset(step != 2)
                env.set_nan_guard(None)
                if step == 12:
                    env.reset()
        one, other = plain.step(action), rehearsed.step(action)
        assert one.info.keys() == other.info.keys()
        for name in one.info:
            assert torch.equal(one.info[name], other.info[name])
        for name in one.obs:
            assert torch.equal(one.obs[name], other.obs[name])
        assert torch.equal(one.reward, other.reward)
        assert torch.equal(one.truncated, other.truncated)
    assert rehearsed.backend.rehearsed >= 6
    assert plain.drain_episodes().returns.tolist() == rehearsed.drain_episodes().returns.tolist()
