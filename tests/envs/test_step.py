"""What a step returns, and when rows finish."""

import pytest
import torch

from benchmark_app.envs.checks import HostReport

from .doubles import GliderEnv, started


def push(env, *efforts):
    return env.step(torch.tensor(efforts).unsqueeze(1))


def test_the_first_state_has_nothing_finished_and_no_reward():
    state = GliderEnv(3).init_state()
    assert not state.terminated.any()
    assert not state.truncated.any()
    assert state.final_observation is None
    assert state.final_mask is None
    assert state.reward.tolist() == [0.0, 0.0, 0.0]
    assert state.info["steps"].tolist() == [0, 0, 0]
    assert state.info["steps"].dtype == torch.int64


def test_a_step_moves_the_engine_and_reports_it():
    env = started(2)
    start = env.state.obs["policy"][:, 0].clone()
    state = push(env, 1.0, -2.0)
    assert torch.equal(state.obs["policy"][:, 0], start + torch.tensor([1.0, -2.0]))
    assert state.obs["policy"][:, 1].tolist() == [1.0, -2.0]
    assert torch.equal(state.obs["critic"][:, 0], state.obs["policy"][:, 0])
    assert state.reward.tolist() == [1.0, -2.0]
    assert state.info["steps"].tolist() == [1, 1]
    assert env.state is state


def test_the_time_limit_truncates_exactly_at_the_last_step():
    env = started(2, steps=4)
    truncated = [push(env, 0.0, 0.0).truncated.tolist() for _ in range(9)]
    assert [all(row) for row in truncated] == [False] * 3 + [True] + [False] * 3 + [True, False]


def test_a_row_that_terminates_at_the_limit_is_not_truncated():
    env = started(2, steps=2, limit=100.0)
    push(env, 0.0, 0.0)
    state = push(env, 200.0, 0.0)
    assert state.terminated.tolist() == [True, False]
    assert state.truncated.tolist() == [False, True]


def test_a_finished_row_shows_its_next_episode_and_its_terminal_observation_apart():
    env = started(3, steps=9)
    push(env, 1.0, 1.0, 1.0)
    before = env.state.obs["policy"].clone()
    state = push(env, 0.0, 200.0, 0.0)
    assert state.terminated.tolist() == [False, True, False]
    assert state.final_mask.tolist() == [False, True, False]
    final, now = state.final_observation["policy"], state.obs["policy"]
    assert final[1].tolist() == [before[1, 0] + 201.0, 201.0]
    assert state.final_observation["critic"][1, 0] == final[1, 0]
    assert 0.0 <= now[1, 0] < 1.0
    assert now[1, 1] == 0.0
    assert torch.equal(now[[0, 2]], final[[0, 2]])
    assert state.info["steps"].tolist() == [2, 0, 2]
    assert state.reward[1] == 200.0


def test_no_final_observation_when_no_row_finished():
    env = started(3, steps=2)
    push(env, 0.0, 0.0, 0.0)
    assert push(env, 0.0, 0.0, 0.0).final_observation is not None
    state = push(env, 0.0, 0.0, 0.0)
    assert state.final_observation is None
    assert state.final_mask is None


def test_terminated_and_truncated_never_overlap():
    env = started(8, steps=5, limit=2.0)
    generator = torch.Generator().manual_seed(0)
    seen = torch.zeros(2, dtype=torch.bool)
    for _ in range(200):
        state = env.step(torch.rand(8, 1, generator=generator) - 0.3)
        assert not (state.terminated & state.truncated).any()
        seen |= torch.stack((state.terminated.any(), state.truncated.any()))
    assert seen.all()


def tensors_of(state):
    found = [state.reward, state.terminated, state.truncated, state.info["steps"], *state.obs.values()]
    if state.final_observation is not None:
        found += [state.final_mask, *state.final_observation.values()]
    return found


def test_a_caller_may_overwrite_everything_it_was_given():
    actions = torch.rand(60, 4, 1, generator=torch.Generator().manual_seed(1))
    gentle, rough = started(4, steps=7, limit=9.0), started(4, steps=7, limit=9.0)
    for tensor in tensors_of(rough.state):
        tensor.fill_(1)
    for action in actions:
        expected, state = gentle.step(action), rough.step(action.clone())
        for found, wanted in zip(tensors_of(state), tensors_of(expected), strict=True):
            assert torch.equal(found, wanted)
            found.fill_(1)


def test_a_state_once_returned_never_changes():
    env = started(4, steps=3)
    kept = []
    for _ in range(10):
        state = env.step(torch.rand(4, 1))
        kept.append((tensors_of(state), [tensor.clone() for tensor in tensors_of(state)]))
    for tensors, copies in kept:
        assert all(torch.equal(tensor, copy) for tensor, copy in zip(tensors, copies, strict=True))


def test_the_action_given_is_not_written():
    env = started(3)
    action = torch.ones(3, 1)
    env.step(action)
    assert action.tolist() == [[1.0]] * 3


def test_exactly_one_host_read_per_step(monkeypatch):
    env = started(4, steps=3)
    reads = []
    read = HostReport.read
    monkeypatch.setattr(HostReport, "read", lambda self: reads.append(1) or read(self))
    for name in ("item", "tolist", "numpy", "cpu", "__bool__", "__float__", "__int__"):
        monkeypatch.setattr(torch.Tensor, name, lambda *_, name=name: pytest.fail(f"the step reads through {name}"))
    finished = 0
    for _ in range(12):
        finished += env.step(torch.ones(4, 1)).final_mask is not None
    assert finished == 4
    assert len(reads) == 12


def test_stepping_under_inference_mode_and_later_without_it():
    plain, mixed = started(3, steps=4), started(3, steps=4)
    actions = torch.rand(20, 3, 1)
    for i, action in enumerate(actions):
        expected = plain.step(action)
        with torch.inference_mode(i % 6 < 3):
            state = mixed.step(action.clone())
        assert torch.equal(state.obs["policy"], expected.obs["policy"])
    env = GliderEnv(3)
    with torch.inference_mode():
        env.init_state()
        env.step(torch.ones(3, 1))
    env.step(torch.ones(3, 1))
    assert len(mixed.drain_episodes()) == len(plain.drain_episodes()) == 15
