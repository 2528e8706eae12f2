"""The quadruped's velocity task: its robot, and what it sees and judges against a plain NumPy model."""

import math

import mujoco
import numpy as np
import pytest
import torch
from benchmark_app.tasks.quadruped_velocity import Cfg, kernels
from benchmark_app.tasks.quadruped_velocity.declaration import DECLARATION, LEGS
from benchmark_app.tasks.quadruped_velocity.env import DEFAULT_POSE
from scipy.spatial.transform import Rotation

from benchmark_app.envs.make import make_env
from tests.conftest import ROOT
from tests.tasks.mjcf_to_usda import to_usda

DT = 0.02
ASSETS = ROOT / "tasks" / "quadruped_velocity" / "assets"
DEFAULT = np.array(DEFAULT_POSE * 4)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_path(str(ASSETS / "quadruped_velocity.xml"))


def make(num_envs=2, **settings):
    env = make_env(Cfg(**settings), "newton_mjwarp", num_envs)
    env.set_reporting(True)
    return env


@pytest.fixture(scope="module")
def four():
    """Four rows, for tests that put them where they want them."""
    env = make(4)
    yield env
    env.close()


def put(env, height=0.34, turn=UPRIGHT, velocity=(0.0,) * 6, joints=DEFAULT):
    """Start every row in a state of our choice, in the air unless told otherwise."""
    env.init_state()
    n = env.num_envs
    pose = torch.tensor([0.0, 0.0, height, *turn], dtype=torch.float32)
    env.backend.reset_rows(
        torch.ones(n, dtype=torch.bool),
        torch.tensor(joints, dtype=torch.float32).repeat(n, 1),
        torch.zeros(n, 12),
        pose.repeat(n, 1),
        torch.tensor(velocity, dtype=torch.float32).repeat(n, 1),
    )
    return env


def feet(backend):
    """Gap of every foot to the ground [N, 4]."""
    pose = backend.link_pose.double().numpy()
    turns = Rotation.from_quat(pose[..., 3:].reshape(-1, 4))
    return pose[..., 2] + turns.apply([0.0, 0.0, -0.21])[:, 2].reshape(-1, 4) - 0.022


def trunk(backend):
    """Velocity, turning and direction of gravity in the trunk's frame [N, 3] each."""
    pose, velocity = backend.root_pose.double().numpy(), backend.root_vel.double().numpy()
    turn = Rotation.from_quat(pose[:, 3:]).inv()
    return turn.apply(velocity[:, :3]), turn.apply(velocity[:, 3:]), turn.apply([[0.0, 0.0, -1.0]] * len(pose))


def test_the_numbers_of_the_task():
    cfg = Cfg()
    assert (cfg.physics_dt, cfg.decimation, cfg.max_episode_steps) == (1 / 200, 4, 1000)
    assert (cfg.stiffness, cfg.damping, cfg.effort_limit, cfg.action_scale) == (40.0, 1.0, 30.0, 0.5)
    assert cfg.problems() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"action_scale": 0.0}, "action_scale=0.0"),
        ({"stiffness": -1.0}, "stiffness=-1.0"),
        ({"command_lin_vel_y": -1.0}, "command_lin_vel_y=-1.0"),
        ({"standing_share": 1.5}, "standing_share=1.5"),
        ({"initial_joint_offset": 0.5}, "initial_joint_offset=0.5"),
        ({"max_tilt": 4.0}, "max_tilt=4.0"),
        ({"tracking_std": 0.0}, "tracking_std=0.0"),
        ({"episode_length_s": 0.0}, "episode_length_s=0.0"),
    ],
)
def test_settings_that_cannot_work_are_named(change, said):
    (problem,) = Cfg(**change).problems()
    assert problem.startswith(said + ": must")


def test_conventions_name_every_component():
    ours = Cfg().conventions()
    policy, critic = ([entry["name"] for entry in ours["observations"][group]] for group in ("policy", "critic"))
    assert (len(policy), len(critic), len(ours["actions"])) == (48, 60, 12)
    assert critic[:48] == policy
    assert len(set(critic)) == 60
    assert policy[9:13] == ["command_lin_vel_x", "command_lin_vel_y", "command_ang_vel_z", "front_left_hip_joint_pos"]
    assert (ours["control_rate_hz"], ours["controller"]) == (50.0, "joint_position")


def test_the_robot_has_the_size_it_is_said_to_have(model):
    assert [model.joint(joint).name for joint in range(1, 13)] == [joint.name for joint in DECLARATION.joints]
    for place, row in enumerate(DECLARATION.joints, start=1):
        dof = model.jnt_dofadr[place]
        assert model.jnt_range[place].tolist() == [row.lower, row.upper]
        assert (model.dof_damping[dof], model.dof_armature[dof]) == (row.damping, row.armature)
    assert 12.0 < model.body_mass.sum() < 15.0
    assert model.geom("trunk").size.tolist() == pytest.approx(list(kernels.TRUNK))
    for leg in LEGS:
        assert model.geom(f"{leg}_foot").size[0] == pytest.approx(kernels.FOOT_RADIUS)
        assert model.geom(f"{leg}_foot").pos.tolist() == pytest.approx(list(kernels.FOOT))
    collide = [model.geom(geom).name for geom in range(model.ngeom) if model.geom_conaffinity[geom]]
    assert sorted(collide) == sorted(["trunk", *(f"{leg}_{part}" for leg in LEGS for part in ("knee", "foot"))])
    assert not model.geom_contype.any()  # nothing touches the robot itself


def test_left_and_right_are_mirror_images(model):
    for front in ("front", "rear"):
        for part in ("hip", "thigh", "calf"):
            left, right = (model.body(f"{front}_{side}_{part}") for side in ("left", "right"))
            assert left.pos.tolist() == pytest.approx((right.pos * [1, -1, 1]).tolist())
            assert left.inertia.tolist() == pytest.approx(right.inertia.tolist())


def test_each_foot_stands_below_its_hip_in_the_default_pose(model):
    data = mujoco.MjData(model)
    data.qpos[7:] = DEFAULT
    mujoco.mj_forward(model, data)
    for leg in LEGS:
        foot, thigh = data.geom(f"{leg}_foot").xpos, data.body(f"{leg}_thigh").xpos
        assert foot[:2] == pytest.approx(thigh[:2], abs=1e-6)
        assert thigh[2] - foot[2] + 0.022 == pytest.approx(0.3146, abs=1e-3)


def test_the_usd_file_is_written_from_the_mjcf_file():
    assert (ASSETS / "quadruped_velocity.usda").read_text() == to_usda(ASSETS / "quadruped_velocity.xml")


@pytest.mark.engine
def test_the_control_is_the_default_pose_and_the_clamped_action_times_its_scale(four):
    put(four)
    actions = torch.linspace(-2.0, 2.0, 48).view(4, 12)
    four.step(actions)
    expected = DEFAULT + 0.5 * actions.clamp(-1, 1).double().numpy()
    np.testing.assert_allclose(four.control.numpy(), expected, atol=1e-6)


@pytest.mark.engine
def test_observations_are_those_of_a_numpy_model(four):
    put(four, 0.5, Rotation.from_euler("zyx", [2.0, 0.3, -0.2]).as_quat(), (0.7, -0.4, 0.2, 0.5, -0.3, 1.1))
    four.step(torch.zeros(4, 12))
    actions = torch.rand(4, 12, generator=torch.Generator().manual_seed(0)) * 3 - 1.5
    state = four.step(actions)
    backend, command = four.backend, four.task_state()["command"].double().numpy()
    assert np.abs(command).max(0).min() > 0.05
    velocity, spin, gravity = trunk(backend)
    joints = [backend.joint_pos.double().numpy() - DEFAULT, 0.05 * backend.joint_vel.double().numpy()]
    policy = np.concatenate([velocity, 0.25 * spin, gravity, command, *joints, actions.clamp(-1, 1).numpy()], 1)
    np.testing.assert_allclose(state.obs["policy"].numpy(), policy, rtol=1e-4, atol=2e-5)
    air = np.full((4, 4), 2 * DT)
    np.testing.assert_allclose(
        state.obs["critic"].numpy(),
        np.concatenate([policy, feet(backend), np.zeros((4, 4)), air], 1),
        rtol=1e-4,
        atol=2e-5,
    )


@pytest.mark.engine
def test_the_reward_is_the_sum_of_its_terms_of_a_numpy_model(four):
    cfg, backend = Cfg(), four.backend
    put(four, 0.32, Rotation.from_euler("zyx", [1.0, 0.1, -0.1]).as_quat(), (0.5, 0.2, -0.3, 0.4, -0.6, 0.8))
    generator, landed = torch.Generator().manual_seed(1), 0
    last_action, last_vel, air = np.zeros((4, 12)), np.zeros((4, 12)), np.zeros((4, 4))
    for _ in range(12):
        action = torch.rand(4, 12, generator=generator) * 1.2 - 0.6
        state = four.step(action)
        command = four.task_state()["command"].double().numpy()
        velocity, spin, gravity = trunk(backend)
        pos, vel, action = (
            backend.joint_pos.double().numpy(),
            backend.joint_vel.double().numpy(),
            action.double().numpy(),
        )
        torque = np.clip(40.0 * (DEFAULT + 0.5 * action - pos) - 1.0 * vel, -30.0, 30.0)
        touching = feet(backend) < 0.005
        landing = np.where(touching & (air > 0), air - cfg.air_time, 0.0).sum(1)
        landing *= np.linalg.norm(command[:, :2], axis=1) > 0.1
        landed += int((landing != 0).sum())
        air = np.where(touching, 0.0, air + DT)
        rates = {
            "track_lin_vel_xy_exp": np.exp(-((command[:, :2] - velocity[:, :2]) ** 2).sum(1) / 0.25),
            "track_ang_vel_z_exp": np.exp(-((command[:, 2] - spin[:, 2]) ** 2) / 0.25),
            "lin_vel_z_l2": velocity[:, 2] ** 2,
            "ang_vel_xy_l2": (spin[:, :2] ** 2).sum(1),
            "dof_torques_l2": (torque**2).sum(1),
            "dof_acc_l2": (((vel - last_vel) / DT) ** 2).sum(1),
            "action_rate_l2": ((action - last_action) ** 2).sum(1),
            "feet_air_time": landing,
            "flat_orientation_l2": (gravity[:, :2] ** 2).sum(1),
        }
        assert list(rates) == list(DECLARATION.reward_terms) == list(state.info["reward_terms"])
        total = 0.0
        for name, rate in rates.items():
            term = getattr(cfg, f"reward_{name}") * DT * rate
            np.testing.assert_allclose(
                state.info["reward_terms"][name].numpy(), term, rtol=2e-3, atol=1e-6, err_msg=name
            )
            total = total + term
        np.testing.assert_allclose(state.reward.numpy(), total, rtol=2e-3, atol=1e-5)
        last_action, last_vel = action, vel
    assert landed > 4


@pytest.mark.engine
@pytest.mark.parametrize(
    ("height", "tilt", "ends"),
    [
        (0.34, 0.0, False),
        (0.34, 0.9, False),
        (0.60, 1.1, True),
        (0.60, -1.1, True),
        (0.10, 0.0, False),  # the trunk's lower side is 5.5 cm below its middle
        (0.05, 0.0, True),
        (0.10, 0.4, True),  # its corner comes down by 7.4 cm
    ],
)
def test_where_an_episode_ends(four, height, tilt, ends):
    put(four, height, Rotation.from_euler("y", tilt).as_quat(), joints=np.array([0.0, 2.0, -2.6] * 4))
    assert four.step(torch.zeros(4, 12)).terminated.tolist() == [ends] * 4


@pytest.mark.engine
def test_episodes_start_at_rest_in_the_air_and_commands_fill_their_ranges():
    env = make(256)
    obs = env.init_state().obs
    assert (obs["critic"][:, 48:52] > 0).all()
    assert (obs["critic"][:, 48:52] < 0.06).all()
    assert not obs["policy"][:, :6].any()
    assert not obs["policy"][:, 24:].any()
    assert 0.09 < obs["policy"][:, 12:24].abs().max() <= 0.1 + 1e-6
    headings = Rotation.from_quat(env.backend.root_pose[:, 3:].numpy()).as_euler("zyx")
    assert np.abs(headings[:, 1:]).max() < 1e-5
    assert headings[:, 0].min() < -0.9 * math.pi
    assert headings[:, 0].max() > 0.9 * math.pi
    for commands in (obs["policy"][:, 9:12], env.task_state()["next_command"]):
        highest = torch.tensor([1.0, 0.5, 1.0])
        assert (commands.abs() <= highest).all()
        assert (commands.max(0).values > 0.95 * highest).all()
        assert (commands.min(0).values < -0.95 * highest).all()
        standing = (commands == 0.0).all(1).float().mean()
        assert 0.03 < standing < 0.2
    assert not torch.equal(obs["policy"][:, 9:12], env.task_state()["next_command"])


@pytest.mark.engine
def test_the_command_changes_half_way_and_is_seen_before_it_is_judged():
    env = make(2, episode_length_s=6 * DT)
    first = env.init_state().obs["policy"][:, 9:12]
    second = env.task_state()["next_command"].clone()
    for step in range(1, 6):
        before = env.state.obs["policy"][:, 9:12]
        state = env.step(torch.zeros(2, 12))
        assert torch.equal(state.obs["policy"][:, 9:12], first if step < 3 else second)
        velocity, _, _ = trunk(env.backend)
        error = ((before[:, :2].double().numpy() - velocity[:, :2]) ** 2).sum(1)
        found = state.info["reward_terms"]["track_lin_vel_xy_exp"].numpy()
        assert found == pytest.approx(1.5 * DT * np.exp(-error / 0.25), rel=1e-4)


@pytest.mark.engine
def test_metrics_are_mean_errors_and_success_is_to_stand_the_episode_with_small_ones():
    env = make(8, episode_length_s=10 * DT, max_lin_vel_error=0.6, max_ang_vel_error=0.5)
    env.init_state()
    lin, ang = np.zeros(8), np.zeros(8)
    for step in range(1, 11):
        command = env.state.obs["policy"][:, 9:12].double().numpy()
        state = env.step(torch.zeros(8, 12))
        final = state.obs if state.final_observation is None else state.final_observation
        velocity, spin = final["policy"][:, :3].double().numpy(), 4.0 * final["policy"][:, 3:6].double().numpy()
        lin += np.linalg.norm(command[:, :2] - velocity[:, :2], axis=1)
        ang += np.abs(command[:, 2] - spin[:, 2])
        metrics = state.info["metrics"]
        assert metrics["lin_vel_error_mps"].numpy() == pytest.approx(lin / step, rel=1e-3)
        assert metrics["ang_vel_error_radps"].numpy() == pytest.approx(ang / step, rel=1e-3)
        if step < 10:
            assert not state.info["is_success"].any()
    close = (lin / 10 < 0.6) & (ang / 10 < 0.5)
    assert 0 < close.sum() < 8
    assert state.info["is_success"].tolist() == close.tolist()


@pytest.mark.engine
def test_a_fall_is_no_success_however_small_the_errors(four):
    put(four, 0.6, Rotation.from_euler("x", 1.2).as_quat())
    four.drain_episodes()
    four.step(torch.zeros(4, 12))
    assert four.drain_episodes().success.tolist() == [False] * 4


@pytest.mark.engine
def test_the_robot_stands_in_its_default_pose_and_nothing_overflows():
    env = make(4, standing_share=1.0)
    env.init_state()
    for _ in range(100):
        state = env.step(torch.zeros(4, 12))
        assert not state.terminated.any()
    assert (state.obs["critic"][:, 52:56] == 1.0).all()
    assert (env.backend.root_pose[:, 2] - 0.28).abs().max() < 0.03
    assert (state.info["metrics"]["lin_vel_error_mps"] < 0.1).all()


@pytest.mark.engine
def test_an_episode_is_the_same_for_any_number_of_rows():
    found = []
    for num_envs in (1, 3):
        env = make(num_envs, episode_length_s=20 * DT)
        env.seed_episodes(5)
        obs, _ = env.reset()
        for _ in range(20):
            obs = env.step(obs["policy"][:, 24:36] + 0.3 * obs["policy"][:, 9:10]).obs
        done = env.drain_episodes()
        row = int((done.index == 0).nonzero()[0])
        found.append((done.returns[row].item(), done.metrics["lin_vel_error_mps"][row].item()))
    assert found[0] == found[1]
