"""The NaN guard and the replay of a robot that floats: its root is remembered and put back like its joints."""

import json

import numpy as np
import pytest
import torch

from benchmark_app.envs.dump import FACTS, HISTORY
from benchmark_app.envs.make import make_env
from benchmark_app.envs.nan_guard import NanGuard
from benchmark_app.envs.reenact import DumpError, reenact
from tests.contracts.contact_task import Cfg, FloatingCfg

pytestmark = pytest.mark.engine

STEPS = 7


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """A dump of a step that was given NaN in row 2, and the robot's state before each step that led to it."""
    env = make_env(FloatingCfg(), "newton_mjwarp", 4)
    guard = NanGuard(tmp_path_factory.mktemp("run"), history=STEPS)
    env.set_nan_guard(guard)
    env.init_state()
    states = []
    for turn in range(20):
        action = torch.full((4, 1), (-1.0) ** turn)
        states.append({name: tensor.clone().numpy() for name, tensor in env.backend.robot_state.items()})
        if turn == 19:
            action[2] = torch.nan
            with pytest.raises(ValueError, match="actions not finite in row 2"):
                env.step(action)
        else:
            env.step(action)
    env.close()
    return guard.path, states[-STEPS:]


def facts_of(path):
    return json.loads((path / FACTS).read_text())


def test_the_ring_holds_root_and_joints_of_the_last_steps_bitwise(dump):
    path, states = dump
    rows = facts_of(path)["rows"]
    with np.load(path / HISTORY) as arrays:
        for name in ("joint_pos", "joint_vel", "root_pose", "root_vel"):
            expected = np.stack([state[name][rows] for state in states])
            np.testing.assert_array_equal(arrays[name], expected)


def test_the_step_is_taken_again(dump):
    path, _ = dump
    again = reenact(FloatingCfg(), facts_of(path), path / HISTORY)
    assert again.reproduced, again.sentence


def test_a_replay_starts_every_step_from_the_recorded_root(dump, monkeypatch):
    path, states = dump
    facts, given = facts_of(path), []
    from benchmark_app.physics.newton.mjwarp import NewtonMjwarpBackend

    reset_rows = NewtonMjwarpBackend.reset_rows

    def spy(self, mask, *parts):
        given.append([part.clone().numpy() for part in parts])
        reset_rows(self, mask, *parts)

    monkeypatch.setattr(NewtonMjwarpBackend, "reset_rows", spy)
    reenact(FloatingCfg(), facts, path / HISTORY)
    roots = [parts[2] for parts in given]
    for state in states:
        expected = state["root_pose"][facts["rows"]]
        assert any(np.array_equal(root, expected) for root in roots)


def test_a_dump_of_another_kind_of_robot_is_refused(dump):
    path, _ = dump
    with pytest.raises(DumpError, match="root_pose, root_vel: the robot of the task does not float"):
        reenact(Cfg(), facts_of(path), path / HISTORY)
