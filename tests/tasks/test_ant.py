"""The ant: its numbers, its files and what its body does. What it shares with the humanoid: `test_locomotion`."""

import math

import pytest
import torch
from benchmark_app.tasks import ant
from benchmark_app.tasks.ant import Cfg, load_env

from benchmark_app.envs.make import make_env

from . import walkers


@pytest.fixture(scope="module")
def eight():
    """A row for every joint."""
    env = make_env(Cfg(), "newton_mjwarp", 8)
    yield env
    env.close()


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert (cfg.physics_dt, cfg.decimation, cfg.max_episode_steps) == (1 / 120, 2, 960)
    assert (cfg.action_scale, set(cfg.gears), len(cfg.gears)) == (0.5, {15.0}, 8)
    assert (cfg.initial_joint_pos, cfg.initial_joint_vel, cfg.target_distance) == (0.2, 0.1, 1000.0)
    assert (cfg.reward_up, cfg.up_threshold, cfg.reward_heading, cfg.heading_threshold) == (0.1, 0.93, 0.5, 0.8)
    assert load_env().default_pose == (0.0, math.pi / 4) * 4


def test_a_motor_without_torque_is_refused():
    (problem,) = Cfg(gear=0.0).problems()
    assert problem == "gear=0.0: must be greater than 0"


def test_the_files_are_the_same_robot_as_the_declaration():
    walkers.the_files_are_the_same_robot_as_the_declaration(Cfg())


def test_no_episode_begins_in_the_ground():
    walkers.no_episode_begins_in_the_ground(ant)


@pytest.mark.engine
def test_an_ant_left_alone_settles_on_its_feet_above_the_height_of_a_fall(eight):
    eight.init_state()
    for _ in range(90):
        step = eight.step(torch.zeros(8, 8))
    height, up = step.obs["policy"][:, 0], step.obs["policy"][:, 10]
    assert not step.terminated.any()
    assert (height > 0.38).all()
    assert (height < 0.52).all()
    assert (up > 0.95).all()
    assert step.obs["policy"][:, 1:4].abs().max() < 0.1


@pytest.mark.engine
def test_every_motor_turns_its_joint_the_way_its_action_points(eight):
    walkers.no_joint_is_mirrored(eight)


@pytest.mark.engine
def test_legs_do_not_touch_one_another(eight):
    """Thrown high with its legs bent against each other, the ant has no contact at all."""
    eight.init_state()
    state = {name: part.clone() for name, part in eight.backend.robot_state.items()}
    state["joint_pos"][:] = torch.tensor([0.698, 1.7, -0.698, 1.7] * 2)
    state["root_pose"][:, 2] = 5.0
    eight.backend.reset_rows(torch.ones(8, dtype=torch.bool), *state.values())
    eight.step(torch.zeros(8, 8))
    assert eight.backend.diagnostics()["contacts"]
    assert int(eight.backend._solver.mjw_data.nacon.numpy()[0]) == 0


@pytest.mark.engine
def test_a_row_is_the_same_whatever_their_number():
    walkers.the_same_rows_whatever_their_number(ant)
