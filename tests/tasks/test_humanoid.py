"""The humanoid: its numbers, its files and what its body does. What it shares with the ant: `test_locomotion`."""

import pytest
import torch
from benchmark_app.tasks import humanoid
from benchmark_app.tasks.humanoid import Cfg

from benchmark_app.envs.make import make_env

from . import walkers


@pytest.fixture(scope="module")
def row_per_joint():
    env = make_env(Cfg(), "newton_mjwarp", 21)
    yield env
    env.close()


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert (cfg.physics_dt, cfg.decimation, cfg.max_episode_steps) == (1 / 120, 2, 960)
    assert (cfg.initial_joint_pos, cfg.initial_joint_vel, cfg.target_distance) == (0.2, 0.1, 1000.0)
    assert (cfg.reward_up, cfg.up_threshold, cfg.reward_heading, cfg.heading_threshold) == (0.1, 0.93, 0.5, 0.8)
    assert cfg.action_scale == 1.0
    legs = [45.0, 45.0, 135.0, 90.0, 22.5, 22.5]
    assert list(cfg.gears) == [67.5] * 3 + 2 * legs + 2 * [67.5, 67.5, 45.0]


def test_the_files_are_the_same_robot_as_the_declaration():
    walkers.the_files_are_the_same_robot_as_the_declaration(Cfg())


def test_no_episode_begins_in_the_ground():
    walkers.no_episode_begins_in_the_ground(humanoid)


@pytest.mark.engine
def test_every_motor_turns_its_joint_the_way_its_action_points(row_per_joint):
    walkers.no_joint_is_mirrored(row_per_joint)


@pytest.mark.engine
def test_left_mirrors_right(row_per_joint):
    """Equal actions on both sides keep the robot in its plane of symmetry."""
    env = row_per_joint
    env.init_state()
    state = {name: part.clone() for name, part in env.backend.robot_state.items()}
    for part in ("joint_pos", "joint_vel"):
        state[part].zero_()
    env.backend.reset_rows(torch.ones(21, dtype=torch.bool), *state.values())
    actions = torch.zeros(21, 21)
    actions[:, 3:9] = actions[:, 9:15] = torch.tensor([-0.3, -0.4, 0.2, -0.5, 0.3, 0.2])
    actions[:, 15:18] = actions[:, 18:21] = torch.tensor([0.3, -0.2, 0.4])
    for _ in range(8):
        env.step(actions)
    backend = env.backend
    assert (backend.joint_pos[:, 3:9] - backend.joint_pos[:, 9:15]).abs().max() < 1e-3
    assert (backend.joint_pos[:, 15:18] - backend.joint_pos[:, 18:21]).abs().max() < 1e-3
    assert backend.joint_pos[:, 3:].abs().max() > 0.1
    assert backend.root_pose[:, 1].abs().max() < 1e-3


@pytest.mark.engine
def test_a_humanoid_left_alone_falls(row_per_joint):
    row_per_joint.init_state()
    ended = torch.zeros(21, dtype=torch.bool)
    for _ in range(90):
        ended |= row_per_joint.step(torch.zeros(21, 21)).terminated
    assert ended.all()


@pytest.mark.engine
def test_a_row_is_the_same_whatever_their_number():
    walkers.the_same_rows_whatever_their_number(humanoid)
