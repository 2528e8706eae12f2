"""Frames and conventions: positions in the world, quaternions xyzw, velocities of the link frame's origin."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from .engine import NO_GRAVITY, UNIT_POSE
from .mechanics import forward, turn_between
from .robots import ARM, BALL, TREE, TUMBLER, Z, turned
from .tolerance import EPSILON, assert_shrinks, noise

POSE = (0.4, -0.3, 1.2, *turned((0.48, 0.64, 0.6), 1.1))
TWIST = (0.3, -0.5, 0.2, 0.7, -0.4, 0.9)
READ = 8 * EPSILON * 4.0
"""A state just written is rounded a few times on its way through a chain of links, at a size of a few."""


@pytest.mark.parametrize("robot", [ARM, TREE], ids=lambda robot: robot.name)
def test_links_of_a_fixed_robot_are_where_its_joints_put_them(engine, robot):
    joint_pos, joint_vel = np.linspace(-0.9, 1.1, len(robot.joints)), np.linspace(1.3, -0.8, len(robot.joints))
    sim = engine.open(robot, dt=0.002, gravity=NO_GRAVITY)
    sim.place(joint_pos=joint_pos, joint_vel=joint_vel)
    motion = sim.run(0.0)
    np.testing.assert_array_equal(motion.joint_pos[0, 0], joint_pos.astype(np.float32))
    poses, velocities = forward(robot, joint_pos, joint_vel)
    assert np.abs(motion.link_pose[0, 0, :, :3] - poses[:, :3]).max() < READ
    assert turn_between(motion.link_pose[0, 0, :, 3:], poses[:, 3:]) < READ
    assert np.abs(motion.link_vel[0, 0] - velocities).max() < READ


@pytest.mark.parametrize("robot", [ARM, TREE], ids=lambda robot: robot.name)
def test_links_and_joints_tell_of_the_same_instant_while_stepping(engine, robot):
    seconds, dt = 0.2, 0.01
    size = len(robot.joints)

    def gap(dt):
        sim = engine.open(robot, dt=dt, gravity=NO_GRAVITY)
        sim.place(joint_pos=np.linspace(-0.5, 0.6, size), joint_vel=np.linspace(0.9, -0.7, size))
        motion = sim.run(seconds)
        worst = 0.0
        for time in range(1, len(motion.time)):
            poses, velocities = forward(robot, motion.joint_pos[time, 0], motion.joint_vel[time, 0])
            worst = max(
                worst,
                np.abs(motion.link_pose[time, 0, :, :3] - poses[:, :3]).max(),
                np.abs(motion.link_vel[time, 0] - velocities).max(),
            )
        return worst

    assert_shrinks(gap, dt, noise=noise(seconds, dt / 2, 4.0), bound=0.02)


def test_a_quarter_turn_about_the_vertical_takes_x_to_y(floating_engine):
    sim = floating_engine.open(TUMBLER, dt=0.002, gravity=NO_GRAVITY)
    sim.place(root_pose=(0.0, 0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)))
    (waist,) = TUMBLER.joints
    body, paddle = sim.run(0.0).link_pose[0, 0]
    x, y, z = waist.position
    np.testing.assert_allclose(paddle[:3] - body[:3], (-y, x, z), atol=READ)
    quarter = Rotation.from_quat(turned(Z, np.pi / 2))
    assert turn_between(paddle[3:], (quarter * Rotation.from_quat(waist.orientation)).as_quat()) < READ


def test_a_floating_robot_shows_the_state_it_was_put_into(floating_engine):
    sim = floating_engine.open(TUMBLER, dt=0.002, gravity=NO_GRAVITY, num_envs=2)
    start = {"joint_pos": np.array([[0.4], [-0.2]]), "joint_vel": np.array([[-0.8], [0.5]])}
    poses = np.array([POSE, UNIT_POSE])
    sim.place(root_pose=poses, root_vel=np.array([TWIST, TWIST[::-1]]), **start)
    motion = sim.run(0.0)
    for row, twist in enumerate((TWIST, TWIST[::-1])):
        exact_pose, exact_vel = forward(TUMBLER, start["joint_pos"][row], start["joint_vel"][row], poses[row], twist)
        assert np.abs(motion.root_pose[0, row, :3] - poses[row, :3]).max() < READ
        assert turn_between(motion.root_pose[0, row, 3:], poses[row, 3:]) < READ
        assert np.abs(motion.root_vel[0, row] - twist).max() < READ
        assert np.abs(motion.link_pose[0, row, :, :3] - exact_pose[:, :3]).max() < READ
        assert turn_between(motion.link_pose[0, row, :, 3:], exact_pose[:, 3:]) < READ
        assert np.abs(motion.link_vel[0, row] - exact_vel).max() < READ


def test_a_linear_velocity_is_that_of_the_frame_origin_and_not_of_the_centre_of_mass(floating_engine):
    """The origin's path, differentiated, gives its velocity; the centre of mass's would be off by ω × r."""
    seconds, dt = 0.2, 0.02
    arm = np.cross(TWIST[3:], Rotation.from_quat(POSE[3:]).apply(TUMBLER.links[0].com))
    assert np.linalg.norm(arm) > 0.04

    def deviation(dt):
        sim = floating_engine.open(TUMBLER, dt=dt, gravity=NO_GRAVITY)
        sim.place(root_pose=POSE, root_vel=TWIST)
        motion = sim.run(seconds)
        path, speed = motion.link_pose[:, 0, :, :3], motion.link_vel[:, 0, :, :3]
        np.testing.assert_array_equal(motion.root_vel[:, 0], motion.link_vel[:, 0, 0])
        return np.abs((path[2:] - path[:-2]) / (2 * dt) - speed[1:-1]).max()

    # A path is rounded like any state that is read, and the difference of two places divided by two steps.
    assert_shrinks(deviation, dt, noise=READ / (dt / 2), bound=0.5 * np.linalg.norm(arm))


def test_an_angular_velocity_is_in_world_axes(floating_engine):
    """A ball spins on evenly about an axis of the world, however it was turned before."""
    seconds, dt, spin = 0.5, 0.01, np.array(TWIST[3:])

    def deviation(dt):
        sim = floating_engine.open(BALL, dt=dt, gravity=NO_GRAVITY)
        sim.place(root_pose=POSE, root_vel=TWIST)
        motion = sim.run(seconds)
        # An engine may turn it into the body's axes and back at every step: a few roundings each.
        assert np.abs(motion.root_vel[:, 0, 3:] - spin).max() <= noise(seconds, dt, 4.0)
        turn = Rotation.from_rotvec(motion.time[:, None] * spin) * Rotation.from_quat(POSE[3:])
        return turn_between(motion.root_pose[:, 0, 3:], turn.as_quat())

    # An angle taken from a quaternion of float32 is rounded to twice its epsilon.
    assert_shrinks(deviation, dt, noise=noise(seconds, dt / 2, 2.0), bound=0.02)
