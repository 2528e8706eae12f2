"""The reach task: its numbers, its workspace, and its rewards against a model in plain NumPy."""

import dataclasses
import math

import mujoco
import numpy as np
import pytest
import torch
from benchmark_app.tasks.reach import Cfg, load_env
from benchmark_app.tasks.reach.declaration import DECLARATION
from benchmark_app.tasks.reach.env import DEFAULT_POSE

from benchmark_app.envs.make import make_env

DT = 0.05
AXES = np.array([(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1)], dtype=float)
OFFSETS = np.array([0.12, 0.10, 0.40, 0.18, 0.16, 0.14])
"""Each joint's axis, and its height over the one before, with the arm stretched upwards."""
LIMITS = np.array([(joint.lower, joint.upper) for joint in DECLARATION.joints])


def make(num_envs=2, **settings):
    return make_env(Cfg(**settings), "newton_mjwarp", num_envs)


def random_actions(env, steps, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [2.4 * torch.rand(env.num_envs, 6, generator=generator) - 1.2 for _ in range(steps)]


def still(env):
    return torch.zeros(env.num_envs, 6)


def turned(axis, angle):
    """Rodrigues' formula."""
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def tip_and_jacobian(joints):
    """The tip [m], and how it moves with each joint."""
    place, turn, origins, axes = np.zeros(3), np.eye(3), [], []
    for axis, offset, angle in zip(AXES, OFFSETS, joints, strict=True):
        place = place + turn @ [0.0, 0.0, offset]
        origins.append(place)
        axes.append(turn @ axis)
        turn = turn @ turned(axis, angle)
    return place, np.cross(axes, place - np.array(origins)).T


def reached(target):
    """Distance [m] that damped least squares leave to a target, from the pose the arm starts in, within its limits."""
    joints = np.array([math.atan2(target[1], target[0]), *DEFAULT_POSE[1:]])
    for _ in range(200):
        tip, jacobian = tip_and_jacobian(joints)
        error = target - tip
        if np.linalg.norm(error) < 1e-3:
            break
        step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-3 * np.eye(3), error)
        joints = np.clip(joints + step.clip(-0.1, 0.1), *LIMITS.T)
    return np.linalg.norm(target - tip_and_jacobian(joints)[0])


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert (cfg.physics_dt, cfg.decimation, cfg.max_episode_steps) == (1 / 120, 6, 60)
    assert (cfg.success_distance, cfg.success_steps) == (0.02, 10)
    assert cfg.problems() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_joint_speed": 0.0}, "max_joint_speed=0.0"),
        ({"fine_scale": -0.1}, "fine_scale=-0.1"),
        ({"initial_joint_spread": 1.0}, "initial_joint_spread=1.0"),
        ({"target_azimuth": 3.0}, "target_azimuth=3.0"),
        ({"target_radius_min": 0.7}, "target_radius_min=0.7"),
        ({"target_radius_min": 0.1}, "target_radius_min=0.1"),
        ({"target_height_min": -0.1}, "target_height_min=-0.1"),
        ({"target_radius_max": 0.8}, "target_radius_max=0.8"),
        ({"success_steps": 61}, "success_steps=61"),
    ],
)
def test_settings_that_cannot_work_are_named(change, said):
    (problem,) = dataclasses.replace(Cfg(), **change).problems()
    assert problem.startswith(said + ": ")


def test_conventions_name_every_component_in_order():
    found = Cfg().conventions()
    names = [entry["name"] for entry in found["observations"]["policy"]]
    assert len(names) == len(set(names)) == load_env().obs_groups_spec["policy"]
    assert names[:6] == [f"{joint.name}_position" for joint in DECLARATION.joints]
    assert names[12:21] == [f"{name}_{axis}" for name in ("tip", "target", "to_target") for axis in "xyz"]
    assert [entry["name"] for entry in found["actions"]] == [
        f"{joint.name}_target_velocity" for joint in DECLARATION.joints
    ]


def test_the_arm_reaches_every_corner_of_the_region_and_any_target_in_it():
    cfg, generator = Cfg(), np.random.default_rng(0)
    corners = np.array(np.meshgrid((0, 1), (0, 1), (0, 1))).reshape(3, -1).T
    for azimuth, radius, height in np.concatenate((corners, generator.random((16, 3)))):
        turn = cfg.target_azimuth * (2 * azimuth - 1)
        out = cfg.target_radius_min + radius * (cfg.target_radius_max - cfg.target_radius_min)
        up = cfg.target_height_min + height * (cfg.target_height_max - cfg.target_height_min)
        assert reached(np.array([out * math.cos(turn), out * math.sin(turn), up])) < 1e-3


def test_the_robot_s_file_is_the_declared_table():
    model = mujoco.MjModel.from_xml_path(load_env().scene(Cfg(), 1).mjcf)
    for joint in DECLARATION.joints:
        found = model.joint(joint.name)
        assert found.range == pytest.approx([joint.lower, joint.upper])
        dof = found.dofadr[0]
        assert (model.dof_damping[dof], model.dof_armature[dof]) == (joint.damping, joint.armature)


@pytest.mark.engine
def test_observations_and_reward_terms_are_those_of_the_model():
    env = make(4)
    state = env.init_state()
    targets = [env.target[row].numpy().copy() for row in range(4)]
    before = np.zeros((4, 6))
    for actions in random_actions(env, 12):
        state = env.step(actions)
        clamped = actions.clamp(-1, 1).numpy()
        for row in range(4):
            joints = env.backend.joint_pos[row].numpy().astype(float)
            tip = tip_and_jacobian(joints)[0]
            away = targets[row] - tip
            seen = np.concatenate((joints, env.backend.joint_vel[row].numpy(), tip, targets[row], away, clamped[row]))
            assert state.obs["policy"][row].numpy() == pytest.approx(seen, abs=2e-5)
            distance = np.linalg.norm(away)
            terms = (-distance, 1 - math.tanh(distance / 0.1), -0.01 * ((clamped[row] - before[row]) ** 2).sum())
            assert env.terms[row].numpy() == pytest.approx(DT * np.array(terms), abs=2e-6)
            assert state.reward[row] == pytest.approx(DT * sum(terms), abs=2e-6)
        before = clamped
    assert not state.terminated.any()


@pytest.mark.engine
def test_an_action_moves_the_joint_s_target_at_the_stated_speed_and_not_beyond_its_limit():
    env = make(2, initial_joint_spread=0.0)
    env.init_state()
    first = torch.tensor(DEFAULT_POSE)
    actions = torch.tensor([[0.5, -1.0, 0.0, 3.0, -3.0, 1.0], [1.0] * 6])
    env.step(actions)
    assert torch.allclose(env.control, first + 2.0 * DT * actions.clamp(-1, 1))
    for _ in range(40):
        env.step(actions)
    assert torch.allclose(env.control[1], torch.tensor(LIMITS[:, 1], dtype=torch.float32))
    assert torch.allclose(env.backend.joint_pos[1], env.control[1], atol=0.05)


@pytest.mark.engine
def test_success_is_ten_steps_in_a_row_on_target_and_lasts_for_the_episode():
    env = make(2)
    env.set_reporting(True)
    env.init_state()
    env.step(still(env))
    told = []
    for step in range(40):
        tip = env.backend.link_pose[:, 0, :3]
        # Row 0 is off target once, at the ninth step; row 1 is never on it.
        env.target[0] = tip[0] + torch.tensor([0.0, 0.0, 0.5 if step == 8 or step > 25 else 0.01])
        env.target[1] = tip[1] + torch.tensor([0.03, 0.0, 0.0])
        state = env.step(still(env))
        told.append(bool(state.info["is_success"][0]))
        assert not state.info["is_success"][1]
        assert math.isnan(state.info["metrics"]["time_to_success"][1])
    assert told == [False] * 18 + [True] * 22
    assert state.info["metrics"]["time_to_success"][0] == pytest.approx((1 + 19) * DT)
    assert state.info["metrics"]["final_distance"].tolist() == pytest.approx([0.5, 0.03], abs=2e-3)


@pytest.mark.engine
def test_a_row_whose_time_is_up_does_not_succeed_afterwards():
    env = make(1, episode_length_s=12 * DT)
    env.set_autoreset(False)
    env.set_reporting(True)
    env.init_state()
    for step in range(25):
        env.target[0] = env.backend.link_pose[0, 0, :3] + (0.5 if step < 5 else 0.0)
        state = env.step(still(env))
    assert not state.info["is_success"].any()


@pytest.mark.engine
def test_an_episode_begins_near_the_default_pose_with_a_target_in_the_region_whatever_the_number_of_rows():
    env, other = make(16), make(5)
    first, seen = env.init_state().obs["policy"], other.init_state().obs["policy"]
    assert torch.equal(first[:5], seen)
    assert ((first[:, :6] - torch.tensor(DEFAULT_POSE)).abs() <= 0.3001).all()
    assert (first[:, :6].std(0) > 0.1).all()
    assert (first[:, 6:12] == 0).all()
    x, y, z = first[:, 15:18].T
    radius, azimuth = torch.hypot(x, y), torch.atan2(y, x)
    for values, low, high in ((radius, 0.3, 0.65), (azimuth, -1.5, 1.5), (z, 0.1, 0.6)):
        assert low - 1e-5 <= values.min() < low + 0.4 * (high - low)
        assert high - 0.4 * (high - low) < values.max() <= high + 1e-5


@pytest.mark.engine
def test_a_reset_forgets_the_last_episode():
    env = make(2)
    env.init_state()
    for actions in random_actions(env, 3):
        env.step(actions)
    env._held.fill_(9)
    env._success_step.fill_(3)
    env.reset(torch.tensor([0]))
    assert env._held.tolist() == [0, 9]
    assert env._success_step.tolist() == [0, 3]
    assert (env.state.obs["policy"][0, -6:] == 0).all()
    state = env.step(still(env))
    assert torch.allclose(env.control[0], env._setpoint[0])
    assert env.terms[0, 2] == 0
    assert (state.obs["policy"][0, :6] - env.control[0]).abs().max() < 0.05
