# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""The pendulum's arithmetic."""

import warp as wp


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def drive(actions: wp.array2d[wp.float32], max_torque: wp.float32, efforts: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Clamp the action and scale it to a torque. NaN stays NaN: the environment must see it."""
    row = wp.tid()
    action = actions[row, 0]
    if action > 1.0:
        action = 1.0
    elif action < -1.0:
        action = -1.0
    efforts[row, 0] = max_torque * action


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def observe(joint_pos: wp.array2d[wp.float32], joint_vel: wp.array2d[wp.float32], policy: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Cosine and sine of the angle, and its velocity."""
    row = wp.tid()
    policy[row, 0] = wp.cos(joint_pos[row, 0])
    policy[row, 1] = wp.sin(joint_pos[row, 0])
    policy[row, 2] = joint_vel[row, 0]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def judge(  # type: ignore[no-untyped-def]
    policy: wp.array2d[wp.float32],
    efforts: wp.array2d[wp.float32],
    steps: wp.array[wp.int64],
    weights: wp.vec3,
    dt: wp.float32,
    upright_angle: wp.float32,
    angles: wp.array[wp.float32],
    upright_since: wp.array[wp.int64],
    terms: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
):
    """The reward: per second, times the control step; and since which step the rod has been upright (-1: it is not)."""
    row = wp.tid()
    angle = wp.atan2(policy[row, 1], policy[row, 0])
    angles[row] = angle
    if wp.abs(angle) >= upright_angle:
        upright_since[row] = wp.int64(-1)
    elif upright_since[row] < wp.int64(0):
        upright_since[row] = steps[row]
    terms[row, 0] = weights[0] * dt * angle * angle
    terms[row, 1] = weights[1] * dt * policy[row, 2] * policy[row, 2]
    terms[row, 2] = weights[2] * dt * efforts[row, 0] * efforts[row, 0]
    reward[row] = terms[row, 0] + terms[row, 1] + terms[row, 2]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def place(  # type: ignore[no-untyped-def]
    rows: wp.array[wp.bool],
    uniform: wp.array2d[wp.float32],
    initial_angle: wp.float32,
    initial_velocity: wp.float32,
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    upright_since: wp.array[wp.int64],
):
    """Angle and velocity uniform within plus and minus their ranges."""
    row = wp.tid()
    if rows[row]:
        joint_pos[row, 0] = (2.0 * uniform[row, 0] - 1.0) * initial_angle
        joint_vel[row, 0] = (2.0 * uniform[row, 1] - 1.0) * initial_velocity
        upright_since[row] = wp.int64(-1)
