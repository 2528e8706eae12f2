"""The push task: its numbers, its contact, and its rewards against a model in plain NumPy."""

import dataclasses
import math

import mujoco
import numpy as np
import pytest
import torch
from benchmark_app.tasks.push import Cfg, load_env
from benchmark_app.tasks.push.declaration import DECLARATION

from benchmark_app.envs.make import make_env

DT = 0.05


def make(num_envs=2, **settings):
    return make_env(Cfg(**settings), "newton_mjwarp", num_envs)


def still(env):
    return torch.zeros(env.num_envs, 2)


def peg(shoulder, elbow):
    """Forward kinematics [m]."""
    return np.array(
        [
            0.35 * math.cos(shoulder) + 0.3 * math.cos(shoulder + elbow),
            0.35 * math.sin(shoulder) + 0.3 * math.sin(shoulder + elbow),
        ]
    )


def put(env, *joints):
    """Start every row in a state of our choice, the arm's joints told to stay there."""
    env.init_state()
    state = torch.tensor(joints).repeat(env.num_envs, 1)
    env.backend.reset_rows(torch.ones(env.num_envs, dtype=torch.bool), state, torch.zeros_like(state))
    env._setpoint.copy_(state[:, :2])
    return env


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert (cfg.physics_dt, cfg.decimation, cfg.max_episode_steps) == (1 / 120, 6, 100)
    assert (cfg.success_distance, cfg.success_steps) == (0.03, 10)
    assert cfg.problems() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_joint_speed": 0.0}, "max_joint_speed=0.0"),
        ({"friction": -0.1}, "friction=-0.1"),
        ({"initial_joint_spread": 0.5}, "initial_joint_spread=0.5"),
        ({"box_azimuth": 2.0}, "box_azimuth=2.0"),
        ({"box_radius_min": 0.2}, "box_radius_min=0.2"),
        ({"box_radius_max": 0.6}, "box_radius_min=0.36, box_radius_max=0.6"),
        ({"box_turn": 0.7}, "box_turn=0.7"),
        ({"success_steps": 101}, "success_steps=101"),
    ],
)
def test_settings_that_cannot_work_are_named(change, said):
    (problem,) = dataclasses.replace(Cfg(), **change).problems()
    assert problem.startswith(said)
    assert ": must" in problem


def test_conventions_name_every_component_in_order():
    found = Cfg().conventions()
    names = [entry["name"] for entry in found["observations"]["policy"]]
    assert len(names) == len(set(names)) == load_env().obs_groups_spec["policy"]
    assert names[4:10] == ["peg_x", "peg_y", "box_x", "box_y", "box_velocity_x", "box_velocity_y"]
    assert [entry["name"] for entry in found["actions"]] == ["shoulder_target_velocity", "elbow_target_velocity"]


def test_the_robot_s_file_is_the_declared_table_and_its_peg_is_where_the_task_computes_it():
    model = mujoco.MjModel.from_xml_path(load_env().scene(Cfg(), 1).mjcf)
    for joint in DECLARATION.joints:
        found = model.joint(joint.name)
        limits = (joint.lower, joint.upper) if found.range.any() else (None, None)
        assert (joint.lower, joint.upper) == limits
        dof = found.dofadr[0]
        assert (model.dof_damping[dof], model.dof_armature[dof]) == (joint.damping, joint.armature)
    data = mujoco.MjData(model)
    data.qpos[:] = [0.4, 1.1, 0.3, -0.2, 0.5]
    mujoco.mj_forward(model, data)
    tip, box = data.geom("peg_tip").xpos, data.geom("box").xpos
    assert tip == pytest.approx([*peg(0.4, 1.1), 0.03])
    assert box == pytest.approx([0.3, -0.2, 0.03])


@pytest.mark.engine
def test_observations_and_reward_terms_are_those_of_the_model():
    env = make(3)
    env.init_state()
    generator = torch.Generator().manual_seed(0)
    before = np.zeros((3, 2))
    for _ in range(12):
        actions = 2.4 * torch.rand(3, 2, generator=generator) - 1.2
        state = env.step(actions)
        clamped = actions.clamp(-1, 1).numpy()
        for row in range(3):
            joints, velocities = (
                part[row].numpy().astype(float) for part in (env.backend.joint_pos, env.backend.joint_vel)
            )
            tool, box, target = peg(*joints[:2]), joints[2:4], env.target[row].numpy().astype(float)
            way, yaw = target - box, 4 * joints[4]
            seen = (joints[:2], velocities[:2], tool, box, velocities[2:4], [math.cos(yaw), math.sin(yaw)], target)
            seen = np.concatenate((*seen, box - tool, way, clamped[row]))
            assert state.obs["policy"][row].numpy() == pytest.approx(seen, abs=2e-5)
            away, cfg = np.linalg.norm(way), env.task
            behind = box - cfg.standoff * way / away
            terms = (
                cfg.reward_approach * np.linalg.norm(behind - tool),
                cfg.reward_distance * away,
                1 - math.tanh(away / 0.05),
                -0.01 * ((clamped[row] - before[row]) ** 2).sum(),
            )
            assert away > cfg.success_distance
            assert env.terms[row].numpy() == pytest.approx(DT * np.array(terms), abs=2e-6)
            assert state.reward[row] == pytest.approx(DT * sum(terms), abs=2e-6)
        before = clamped
    assert not state.terminated.any()


@pytest.mark.engine
def test_where_the_peg_is_counts_less_and_less_on_target():
    env = put(make(2), -1.3, 2.5, 0.45, 0.1, 0.0)
    env.target.copy_(torch.tensor([[0.45, 0.1], [0.465, 0.1]]))
    env.step(still(env))
    behind = np.array([0.45 - env.task.standoff / 2, 0.1])  # half of the stand-off at half of the distance
    assert env.terms[0, 0] == pytest.approx(0.0, abs=1e-6)
    expected = DT * env.task.reward_approach * np.linalg.norm(behind - peg(-1.3, 2.5)) / 2
    assert env.terms[1, 0] == pytest.approx(expected, rel=0.01)


@pytest.mark.engine
def test_only_the_peg_moves_the_box_and_it_does_not_pass_through_it():
    env = put(make(2), -0.9, 1.2, 0.5, 0.0, 0.0)
    env.backend.reset_rows(
        torch.tensor([False, True]),
        torch.tensor([[-0.9, 1.2, 0.5, 0.0, 0.0], [-0.9, 1.2, 0.4, 0.45, 0.0]]),  # out of the peg's way
        torch.zeros(2, 5),
    )
    for _ in range(14):
        env.step(torch.tensor([[0.5, 0.0]]).repeat(2, 1))
        shoulder, elbow, x, y, yaw = env.backend.joint_pos[0].tolist()
        dx, dy = peg(shoulder, elbow) - np.array([x, y])
        along, across = (math.cos(yaw) * dx + math.sin(yaw) * dy, math.cos(yaw) * dy - math.sin(yaw) * dx)
        outside = math.hypot(max(abs(along) - 0.04, 0.0), max(abs(across) - 0.04, 0.0))
        assert outside > 0.02 - 0.004  # the peg's radius, less what a soft contact gives
    pushed, left = env.backend.joint_pos.tolist()
    assert pushed[3] > 0.05
    assert left[2:] == pytest.approx([0.4, 0.45, 0.0], abs=1e-6)


@pytest.mark.engine
def test_success_is_ten_steps_in_a_row_on_target_and_lasts_for_the_episode():
    env = put(make(2), -1.3, 2.5, 0.45, 0.1, 0.3)
    env.set_reporting(True)
    told = []
    for step in range(30):
        # Row 0 is off target once, at the ninth step; row 1 is never on it.
        env.target[0] = torch.tensor([0.45, 0.2 if step == 8 or step > 25 else 0.11])
        env.target[1] = torch.tensor([0.45, 0.14])
        state = env.step(still(env))
        told.append(bool(state.info["is_success"][0]))
        assert not state.info["is_success"][1]
        assert math.isnan(state.info["metrics"]["time_to_success"][1])
    assert told == [False] * 18 + [True] * 12
    assert state.info["metrics"]["time_to_success"][0] == pytest.approx(19 * DT)
    assert state.info["metrics"]["final_distance"].tolist() == pytest.approx([0.1, 0.04], abs=1e-4)


@pytest.mark.engine
def test_an_episode_begins_with_the_box_clear_of_the_peg_and_of_the_target_whatever_the_number_of_rows():
    env, other = make(16), make(5)
    first, seen = env.init_state().obs["policy"], other.init_state().obs["policy"]
    assert torch.equal(first[:5], seen)
    box, target = first[:, 6:8], first[:, 12:14]
    for place in (box, target):
        radius, azimuth = place.norm(dim=1), torch.atan2(place[:, 1], place[:, 0])
        assert radius.min() >= 0.36 - 1e-5
        assert radius.max() <= 0.5 + 1e-5
        assert azimuth.abs().max() <= 0.7 + 1e-5
        assert azimuth.std() > 0.2
    assert first[:, 14:16].norm(dim=1).min() > 0.02 + 0.04 * math.sqrt(2)
    assert first[:, 16:18].norm(dim=1).min() > 2 * 0.36 * math.sin(0.15) - 1e-5
    assert (env.backend.joint_pos[:, 4].abs() <= math.pi).all()
    assert env.backend.joint_pos[:, 4].std() > 1.0


@pytest.mark.engine
def test_a_reset_forgets_the_last_episode():
    env = make(2)
    env.init_state()
    env.step(torch.ones(2, 2))
    env._held.fill_(9)
    env._success_step.fill_(3)
    env.reset(torch.tensor([0]))
    assert (env._held.tolist(), env._success_step.tolist()) == ([0, 9], [0, 3])
    env.step(still(env))
    assert torch.allclose(env.control[0, :2], env._setpoint[0])
    assert env.terms[0, 3] == 0
    assert env.terms[1, 3] < 0
