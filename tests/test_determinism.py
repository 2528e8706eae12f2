"""Whether an environment gives the same twice: measured, in each of the three ways it can turn out."""

import pytest
import torch

from benchmark_app.workflows.determinism import CLOSE, STEPS, measure

from .envs.doubles import Glider, GliderEnv


class Forgetful(Glider):
    """An engine that adds `error` to the position at every reset but the first few it ever made."""

    def __init__(self, num_envs, error):
        super().__init__(num_envs)
        self.error, self.resets = error, 0

    def reset_rows(self, mask, joint_pos, joint_vel):
        self.resets += 1
        super().reset_rows(mask, joint_pos + self.error * (self.resets > 1), joint_vel)


def measured(error, **changes):
    return measure(GliderEnv(3, steps=1000, backend=Forgetful(3, error), **changes), seed=5)


def test_the_same_to_the_last_bit():
    found = measured(0.0)
    assert found.extra() == {
        "determinism": "bitwise",
        "determinism_max_difference": 0.0,
        "determinism_steps": STEPS,
    }


def test_a_small_difference_is_told_with_its_size():
    found = measured(CLOSE / 2)
    assert found.verdict == "close"
    assert found.max_difference == pytest.approx(CLOSE / 2, rel=0.01)


def test_a_large_difference_is_none_of_rounding():
    assert measured(0.5).verdict == "different"


def test_another_end_of_an_episode_is_different_however_small_what_caused_it():
    class Edge(GliderEnv):
        def observe(self, state):
            for group in state.obs.values():
                group.zero_()

        def update_state(self, state):
            super().update_state(state)
            state.terminated.copy_((self.backend.joint_pos[:, 0] % 1.0) > 0.5)
            return state

    found = measure(Edge(3, steps=1000, backend=Forgetful(3, 0.25)), seed=5)
    assert found.verdict == "different"


def test_a_zero_with_another_sign_is_not_the_same_bits():
    class Signed(GliderEnv):
        def update_state(self, state):
            super().update_state(state)
            for group in state.obs.values():
                group.fill_(-0.0 if self.backend.resets > 1 else 0.0)
            return state

    found = measure(Signed(3, steps=1000, backend=Forgetful(3, 0.0)), seed=5)
    assert (found.verdict, found.max_difference) == ("close", 0.0)


def test_episodes_of_the_check_are_nobodys():
    env = GliderEnv(3, steps=4)
    measure(env, seed=5)
    assert len(env.drain_episodes()) == 0
    assert torch.isfinite(env.state.reward).all()
