"""Motion without contacts: free fall, projectile, pendulum, momentum and energy against the closed form."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import ellipk

from .engine import GRAVITY, NO_GRAVITY
from .mechanics import centre_of_mass, energy, momentum
from .robots import BALL, DOUBLE_PENDULUM, PENDULUM, TUMBLER, turned
from .tolerance import assert_shrinks, noise

THROWN = (0.3, -0.2, 1.5, *turned((0.0, 0.6, 0.8), 0.9))
STARTS = np.array(
    [
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),  # falls
        (1.5, -0.7, 2.0, 0.0, 0.0, 0.0),  # is thrown
        (1.5, -0.7, 2.0, 1.1, -1.6, 2.3),  # is thrown and spins
    ]
)


@lru_cache(maxsize=8)  # momentum and energy are of one flight, and some engines take a long time for it
def thrown(engine, robot, dt, gravity=(0.0, 0.0, -GRAVITY), seconds=0.5):
    sim = engine.open(robot, dt=dt, num_envs=len(STARTS), gravity=gravity)
    sim.place(root_pose=THROWN, root_vel=STARTS, joint_pos=0.3, joint_vel=np.array([[0.0], [0.0], [-1.3]]))
    return sim.run(seconds)


def test_a_floating_root_falls_and_flies_on_the_parabola(floating_engine):
    seconds, dt = 0.5, 0.01

    def deviation(dt):
        motion = thrown(floating_engine, BALL, dt)
        time = motion.time[:, None, None]
        exact = np.array(THROWN[:3]) + STARTS[:, :3] * time + 0.5 * np.array([0.0, 0.0, -GRAVITY]) * time**2
        speed = STARTS[:, :3] + np.array([0.0, 0.0, -GRAVITY]) * time
        assert np.abs(motion.root_vel[..., :3] - speed).max() <= noise(seconds, dt, 5.0)
        return np.abs(motion.root_pose[..., :3] - exact).max()

    assert_shrinks(deviation, dt, noise=noise(seconds, dt / 2, 2.0), bound=seconds * GRAVITY * dt)


def test_the_centre_of_mass_of_a_tumbling_robot_flies_on_the_parabola(floating_engine):
    seconds, dt = 0.5, 0.01

    def deviation(dt):
        motion = thrown(floating_engine, TUMBLER, dt)
        place, speed = centre_of_mass(TUMBLER, motion.link_pose, motion.link_vel)
        time = motion.time[:, None, None]
        fall = np.array([0.0, 0.0, -GRAVITY])
        exact = place[0] + speed[0] * time + 0.5 * fall * time**2
        return np.abs(place - exact).max()

    assert_shrinks(deviation, dt, noise=noise(seconds, dt / 2, 4.0), bound=2 * seconds * GRAVITY * dt)


@pytest.mark.parametrize("amplitude", [0.4, 1.6, 2.6])
def test_a_pendulum_swings_with_the_period_of_the_elliptic_integral(engine, amplitude):
    (bob,), length = PENDULUM.links, 0.6
    inertia = bob.inertia[1] + bob.mass * length**2
    exact = 4 * math.sqrt(inertia / (bob.mass * GRAVITY * length)) * ellipk(math.sin(amplitude / 2) ** 2)
    dt = 1 / 40

    def deviation(dt):
        sim = engine.open(PENDULUM, dt=dt)
        sim.place(joint_pos=amplitude)
        motion = sim.run(0.8 * exact)
        angle = motion.joint_pos[:, 0, 0]
        (crossings,) = np.nonzero(np.diff(np.sign(angle)))  # at a quarter and at three quarters of the period
        first, second = crossings + angle[crossings] / (angle[crossings] - angle[crossings + 1])
        return abs(2 * (second - first) * dt - exact)

    # The angle at a crossing is noise of the period's steps, and it passes at a speed of order one.
    assert_shrinks(deviation, dt, noise=noise(exact, dt / 2, 4.0), bound=0.03 * exact)


def test_momentum_stays_where_nothing_pulls(floating_engine):
    seconds, dt = 0.5, 0.01

    def drift(dt):
        motion = thrown(floating_engine, TUMBLER, dt, gravity=NO_GRAVITY)
        linear, angular = momentum(TUMBLER, motion.link_pose, motion.link_vel)
        return max(np.abs(linear - linear[0]).max(), np.abs(angular - angular[0]).max())

    mass = sum(link.mass for link in TUMBLER.links)
    left = mass * floating_engine.open(TUMBLER, dt=dt).tolerance
    assert_shrinks(drift, dt, noise=noise(seconds, dt / 2, 10.0, left), bound=0.5)


def test_energy_stays_where_nothing_pulls(floating_engine):
    seconds, dt = 0.5, 0.01

    def drift(dt):
        motion = thrown(floating_engine, TUMBLER, dt, gravity=NO_GRAVITY)
        total = energy(TUMBLER, motion.link_pose, motion.link_vel, 0.0)
        return np.abs(total - total[0]).max()

    momentum_of_order = 6.0  # what a change of speed does to energy
    left = momentum_of_order * floating_engine.open(TUMBLER, dt=dt).tolerance
    assert_shrinks(drift, dt, noise=noise(seconds, dt / 2, 20.0, left), bound=0.5)


def test_a_swinging_chain_keeps_its_energy(engine):
    seconds, dt = 1.0, 0.005

    def drift(dt):
        sim = engine.open(DOUBLE_PENDULUM, dt=dt)
        sim.place(joint_pos=(1.2, -0.8))
        motion = sim.run(seconds)
        total = energy(DOUBLE_PENDULUM, motion.link_pose, motion.link_vel, GRAVITY)
        return np.abs(total - total[0]).max()

    # It swings through 10 J.
    assert_shrinks(drift, dt, noise=noise(seconds, dt / 2, 20.0), bound=0.5)
