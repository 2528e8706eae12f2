# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""Cartpole's arithmetic. Joint columns: 0 the slider, 1 the hinge."""

import math

import warp as wp

PI = wp.constant(math.pi)


@wp.func  # type: ignore[untyped-decorator]
def wrapped(angle: wp.float32):  # type: ignore[no-untyped-def]
    """An angle in [-π, π)."""
    turned = angle - 2.0 * PI * wp.floor((angle + PI) / (2.0 * PI))
    if turned >= PI:  # rounding
        turned = turned - 2.0 * PI
    return turned


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def push(actions: wp.array2d[wp.float32], max_effort: wp.float32, efforts: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Clamp the action and scale it to a force on the cart. NaN stays NaN: the environment must see it."""
    row = wp.tid()
    action = actions[row, 0]
    if action > 1.0:
        action = 1.0
    elif action < -1.0:
        action = -1.0
    efforts[row, 0] = max_effort * action
    efforts[row, 1] = 0.0


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def observe(  # type: ignore[no-untyped-def]
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    wrap: wp.bool,
    policy: wp.array2d[wp.float32],
):
    """Pole angle, pole velocity, cart position, cart velocity."""
    row = wp.tid()
    angle = joint_pos[row, 1]
    if wrap:
        angle = wrapped(angle)
    policy[row, 0] = angle
    policy[row, 1] = joint_vel[row, 1]
    policy[row, 2] = joint_pos[row, 0]
    policy[row, 3] = joint_vel[row, 0]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def judge(  # type: ignore[no-untyped-def]
    policy: wp.array2d[wp.float32],
    max_cart_position: wp.float32,
    max_pole_angle: wp.float32,
    dt: wp.float32,
    alive: wp.float32,
    on_termination: wp.float32,
    pole_angle: wp.float32,
    cart_velocity: wp.float32,
    pole_velocity: wp.float32,
    terms: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    terminated: wp.array[wp.bool],
    measured: wp.array2d[wp.float32],
):
    """Termination, the reward's terms (per second, times the control step), and the metrics."""
    row = wp.tid()
    angle = policy[row, 0]
    over = wp.abs(policy[row, 2]) > max_cart_position or wp.abs(angle) > max_pole_angle
    terminated[row] = over
    terms[row, 0] = wp.where(over, 0.0, alive * dt)
    terms[row, 1] = wp.where(over, on_termination * dt, 0.0)
    terms[row, 2] = pole_angle * angle * angle * dt
    terms[row, 3] = cart_velocity * wp.abs(policy[row, 3]) * dt
    terms[row, 4] = pole_velocity * wp.abs(policy[row, 1]) * dt
    reward[row] = terms[row, 0] + terms[row, 1] + terms[row, 2] + terms[row, 3] + terms[row, 4]
    measured[0, row] = wp.abs(angle)
    measured[1, row] = wp.abs(policy[row, 2])


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def place(  # type: ignore[no-untyped-def]
    rows: wp.array[wp.bool],
    uniform: wp.array2d[wp.float32],
    ranges: wp.array[wp.float32],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
):
    """Joint states uniform within plus and minus the ranges: slider, hinge, their velocities."""
    row = wp.tid()
    if rows[row]:
        for joint in range(2):
            joint_pos[row, joint] = (2.0 * uniform[row, joint] - 1.0) * ranges[joint]
            joint_vel[row, joint] = (2.0 * uniform[row, joint + 2] - 1.0) * ranges[joint + 2]
