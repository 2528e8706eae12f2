"""What Gymnasium's environments say of success and of a task's own metrics, at every step."""

from typing import ClassVar

import numpy as np
import pytest
import torch

from benchmark_app.envs.gymnasium_envs import TorchSingleEnv, TorchVectorEnv

from .doubles import GliderEnv

NAN = float("nan")


class FlierEnv(GliderEnv):
    """A glider that starts from rest, is judged by where it is, and measures how far it is once that is beyond 1."""

    metrics: ClassVar = ("distance", "speed")

    def initial_state(self, rows, uniform):
        return torch.zeros_like(uniform), torch.zeros_like(uniform)

    def episode_success(self, state, env_ids):
        return state.obs["policy"][env_ids, 0] > 2.0

    def episode_metrics(self, state, env_ids):
        position, speed = state.obs["policy"][env_ids].unbind(1)
        return torch.stack((torch.where(position > 1.0, position, NAN), speed))


def drive(env, *values):
    return env.step(np.array(values)[:, None])[4]


def test_success_and_metrics_are_those_of_every_step_and_not_only_of_the_last():
    env = TorchVectorEnv(FlierEnv(2, steps=9))
    _, infos = env.reset(seed=1)
    assert infos["is_success"].tolist() == [False, False]
    assert infos["metrics"]["_speed"].tolist() == [False, False]  # no step yet, so nothing measured
    assert np.isnan(infos["metrics"]["speed"]).all()
    first, second = drive(env, 1.0, 3.0), drive(env, 0.0, -4.0)
    assert (first["is_success"].tolist(), second["is_success"].tolist()) == ([False, True], [False, False])
    assert (first["metrics"]["speed"].tolist(), second["metrics"]["speed"].tolist()) == ([1, 3], [1, -1])


def test_a_metric_without_a_value_is_masked_and_never_zero():
    env = TorchVectorEnv(FlierEnv(2, steps=9))
    env.reset(seed=1)
    metrics = drive(env, 0.5, 3.0)["metrics"]
    assert (metrics["_distance"].tolist(), metrics["_speed"].tolist()) == ([False, True], [True, True])
    assert np.isnan(metrics["distance"][0])
    assert metrics["distance"][1] == 3


def test_a_row_that_ended_tells_its_last_step_in_final_info_and_begins_anew():
    env = TorchVectorEnv(FlierEnv(1, steps=2))
    env.reset(seed=1)
    drive(env, 3.0)
    infos = drive(env, 0.0)
    final = infos["final_info"]
    assert (final["is_success"].tolist(), final["metrics"]["distance"].tolist()) == ([True], [6])
    assert (infos["is_success"].tolist(), infos["metrics"]["_distance"].tolist()) == ([False], [False])


def test_a_frozen_row_keeps_what_it_told_at_its_end():
    env = TorchVectorEnv(FlierEnv(2, steps=9, limit=5.0), "Disabled")
    env.reset(seed=1)
    for _ in range(3):
        infos = drive(env, 6.0, 0.5)
        assert infos["is_success"][0]
        assert infos["metrics"]["distance"][0] == 6
    assert infos["metrics"]["speed"].tolist() == [6, 1.5]
    _, infos = env.reset(options={"reset_mask": np.array([True, False])})
    assert not infos["is_success"][0]
    assert (infos["metrics"]["_distance"].tolist(), infos["metrics"]["_speed"].tolist()) == ([False] * 2, [False] * 2)


def test_finished_episodes_are_left_for_whoever_drains_them():
    env = TorchVectorEnv(FlierEnv(1, steps=1))
    env.reset(seed=1)
    drive(env, 3.0)
    assert env.torch_env.drain_episodes().success.tolist() == [True]


def test_the_plain_environment_leaves_out_what_is_not_measured():
    env = TorchSingleEnv(FlierEnv(1, steps=9))
    _, info = env.reset(seed=1)
    assert info["metrics"] == {"episode_return": 0.0, "episode_length": 0.0}
    info = env.step(np.array([0.5]))[4]
    assert info == {"is_success": False, "metrics": {"episode_return": 0.5, "episode_length": 1.0, "speed": 0.5}}
    assert env.step(np.array([2.0]))[4]["metrics"]["distance"] == 3.0


@pytest.mark.parametrize("kind", [TorchSingleEnv, TorchVectorEnv])
def test_both_forms_say_what_they_are(kind):
    env = kind(FlierEnv(1, steps=9))
    assert (env.task, env.task_description, env._max_episode_steps) == ("glider", "glider", 9)


def test_a_metric_with_a_name_that_is_taken_is_refused():
    class Greedy(FlierEnv):
        metrics: ClassVar = ("episode_return", "speed")

    with pytest.raises(ValueError, match="metrics: episode_return is counted for every task"):
        TorchVectorEnv(Greedy(1))
