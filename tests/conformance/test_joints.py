"""Joints: their order, limits, damping, armature, and what a control does to them."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark_app.physics.scene import PDActuator

from .engine import NO_GRAVITY, same
from .mechanics import mass_matrix
from .robots import GATE, TREE
from .tolerance import EPSILON, assert_shrinks, noise

FREE_GATE = replace(GATE, joints=tuple(replace(joint, limits=None, damping=0.0) for joint in GATE.joints))
UNLIMITED_GATE = replace(GATE, joints=tuple(replace(joint, limits=None) for joint in GATE.joints))
INERTIA = np.diag(mass_matrix(GATE, (0.0, 0.0)))  # the cart carries the gate; the gate turns about its centre of mass
DAMPING = np.array([joint.damping for joint in GATE.joints])


@pytest.mark.parametrize("turned_about", [False, True], ids=["declared", "reversed"])
def test_an_effort_moves_the_joint_it_is_meant_for_and_others_only_through_their_inertia(engine, turned_about):
    robot = replace(TREE, joints=TREE.joints[::-1]) if turned_about else TREE
    at, size = np.array([0.3, -0.4, 0.5, 0.2]), len(TREE.joints)
    at = at[::-1] if turned_about else at
    efforts = np.concatenate((np.eye(size), -np.eye(size)))
    exact = efforts @ np.linalg.inv(mass_matrix(robot, at)).T
    assert np.all(np.diag(exact[:size]) > 0)

    def deviation(dt):
        sim = engine.open(robot, dt=dt, num_envs=2 * size, gravity=NO_GRAVITY)
        sim.place(joint_pos=at)
        return np.abs(sim.run(dt, efforts).joint_vel[-1] / dt - exact).max()

    # Solving for an acceleration amplifies rounding by the condition of the mass matrix. Where joints are constraints a
    # speed is also only as good as the tolerance of their solver, which engines that have one tell [m/s, rad/s].
    dt, scale = 0.02, np.abs(exact).max()
    rounding = EPSILON * np.linalg.cond(mass_matrix(robot, at)) * scale
    tolerance = engine.open(robot, dt=dt).tolerance
    assert_shrinks(deviation, dt, noise=rounding + tolerance / (dt / 2), bound=0.01 * scale)


def test_an_armature_is_inertia_and_nothing_else(engine):
    """Without damping a constant effort speeds a joint up evenly, whatever the integrator."""
    seconds, dt, effort = 0.4, 0.01, np.array([1.3, -0.4])
    sim = engine.open(FREE_GATE, dt=dt)
    sim.place()
    motion = sim.run(seconds, effort)
    exact = motion.time[:, None] * effort / INERTIA
    assert np.abs(motion.joint_vel[:, 0] - exact).max() <= noise(seconds, dt, np.abs(exact).max(), sim.tolerance)


def test_damping_makes_a_speed_die_away_exponentially(engine):
    seconds, dt, start = 1.0, 0.02, np.array([0.9, -1.4])

    def deviation(dt):
        sim = engine.open(UNLIMITED_GATE, dt=dt)
        sim.place(joint_vel=start)
        motion = sim.run(seconds)
        return np.abs(motion.joint_vel[:, 0] - start * np.exp(-motion.time[:, None] * DAMPING / INERTIA)).max()

    assert_shrinks(deviation, dt, noise=noise(seconds, dt / 2, 2.0), bound=0.05)


def test_limits_hold_against_a_push_and_a_swing(engine):
    lower, upper = np.array([joint.limits for joint in GATE.joints]).T
    push = np.array([[2.0, 0.5], [-2.0, -0.5]])
    sim = engine.open(GATE, dt=0.005, num_envs=2)
    sim.place(joint_vel=np.array([[1.0, 1.5], [-1.0, -1.5]]))
    motion = sim.run(2.0, push)
    # A limit may give (MuJoCo's is a spring): a tenth of a degree, and a hundredth of its range on impact.
    assert np.abs(motion.joint_pos[-1] - [upper, lower]).max() < 2e-3
    assert np.abs(motion.joint_vel[-1]).max() < 1e-2
    assert (motion.joint_pos > upper + 0.02).sum() == 0
    assert (motion.joint_pos < lower - 0.02).sum() == 0


def test_an_effort_beyond_the_limit_is_the_limit_bitwise(engine):
    limit = (1.5, 0.25)
    commands = np.array([(9.0, -7.0), (1.5, -0.25), (-9.0, 7.0), (-1.5, 0.25), (1.2, 0.2), (0.0, 0.0)])
    limited = engine.open(FREE_GATE, dt=0.01, num_envs=len(commands), effort_limit=limit)
    limited.place()
    motion = limited.run(0.1, commands)
    assert same(motion.row(0), motion.row(1))
    assert same(motion.row(2), motion.row(3))
    free = engine.open(FREE_GATE, dt=0.01, num_envs=len(commands))
    free.place()
    unlimited = free.run(0.1, commands)
    assert same(motion.row([1, 3, 4, 5]), unlimited.row([1, 3, 4, 5]))
    assert not np.array_equal(motion.joint_vel[:, 0], unlimited.joint_vel[:, 0])


def simulate(targets, gains, limit, steps, decimation, dt, held):
    """Speeds after each control step of two independent joints under the law: taken at every physics step, or held."""
    place, speed, seen = np.zeros(2), np.zeros(2), []
    for step in range(steps * decimation):
        if step % decimation == 0 or not held:
            effort = np.clip(gains[0] * (targets - place) - gains[1] * speed, -np.asarray(limit), limit)
        speed = speed + dt * effort / INERTIA
        place = place + dt * speed
        if step % decimation == decimation - 1:
            seen.append(speed)
    return np.array(seen)


@pytest.mark.parametrize("limit", [(np.inf, np.inf), (6.0, 0.9)], ids=["unlimited", "saturating"])
def test_the_pd_law_acts_at_every_physics_step_on_present_positions_and_velocities(engine, limit):
    targets, gains = np.array([0.4, -0.6]), np.array([(60.0, 9.0), (5.0, 1.1)])
    decimation, dt, steps = 8, 0.005, 15
    gains = gains.T
    sim = engine.open(
        FREE_GATE,
        dt=dt,
        decimation=decimation,
        actuator=PDActuator(stiffness=tuple(gains[0]), damping=tuple(gains[1])),
        effort_limit=None if np.isinf(limit).any() else limit,
    )
    sim.place()
    speeds = sim.run(steps * decimation * dt, targets).joint_vel[1:, 0]
    ours = simulate(targets, gains, limit, steps, decimation, dt, held=False)
    held = simulate(targets, gains, limit, steps, decimation, dt, held=True)
    # Engines add an effort to the velocity in the same way; what they do with positions may be one step apart.
    assert np.abs(speeds - ours).max() < 0.1 * np.abs(held - ours).max()
