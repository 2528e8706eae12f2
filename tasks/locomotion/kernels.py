# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""The arithmetic of walking towards a far target, at (distance, 0): what is observed, rewarded and put at the start.

Columns: of a pose, position and quaternion xyzw; of a velocity, linear and angular; of an observation, those of
`LocomotionCfg.conventions`. D joints, in the task's order.
"""

import warp as wp

UP, HEADING, JOINTS = wp.constant(10), wp.constant(11), wp.constant(12)
"""Columns of the observation: upright, facing the target, and the first joint's position."""

PROGRESS, ALIVE, UPRIGHT, FACING = wp.constant(0), wp.constant(1), wp.constant(2), wp.constant(3)
ACTION, ENERGY, JOINT_LIMIT, DEATH = wp.constant(4), wp.constant(5), wp.constant(6), wp.constant(7)
"""Columns of the reward's terms."""


@wp.func  # type: ignore[untyped-decorator]
def wrapped(angle: wp.float32):  # type: ignore[no-untyped-def]
    """An angle in [-π, π]."""
    return wp.atan2(wp.sin(angle), wp.cos(angle))


@wp.func  # type: ignore[untyped-decorator]
def nearer(distance: wp.float32, x0: wp.float32, y0: wp.float32, x1: wp.float32, y1: wp.float32):  # type: ignore[no-untyped-def]
    """How much nearer to the target (x1, y1) is than (x0, y0).

    The difference of two lengths a and b as (a² - b²) / (a + b), multiplied out: subtracting lengths near 1000 m would
    leave nothing of a slow step in float32.
    """
    before = wp.length(wp.vec2(distance - x0, y0))
    after = wp.length(wp.vec2(distance - x1, y1))
    return ((x1 - x0) * (2.0 * distance - x0 - x1) + (y0 - y1) * (y0 + y1)) / (before + after)


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def drive(  # type: ignore[no-untyped-def]
    actions: wp.array2d[wp.float32],
    strengths: wp.array[wp.float32],
    root_pose: wp.array2d[wp.float32],
    last_actions: wp.array2d[wp.float32],
    last_place: wp.array2d[wp.float32],
    control: wp.array2d[wp.float32],
):
    """Clamp the actions and scale them to the control; remember them, and where the step begins. NaN stays NaN."""
    row = wp.tid()
    last_place[row, 0] = root_pose[row, 0]
    last_place[row, 1] = root_pose[row, 1]
    for joint in range(strengths.shape[0]):
        action = actions[row, joint]
        if action > 1.0:
            action = 1.0
        elif action < -1.0:
            action = -1.0
        last_actions[row, joint] = action
        control[row, joint] = strengths[joint] * action


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def observe(  # type: ignore[no-untyped-def]
    root_pose: wp.array2d[wp.float32],
    root_vel: wp.array2d[wp.float32],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    last_actions: wp.array2d[wp.float32],
    limits: wp.array2d[wp.float32],
    distance: wp.float32,
    angular_velocity_scale: wp.float32,
    joint_velocity_scale: wp.float32,
    policy: wp.array2d[wp.float32],
):
    """Torso, joints, last actions; `limits` holds lower and upper of every joint."""
    row = wp.tid()
    x, y, z, w = root_pose[row, 3], root_pose[row, 4], root_pose[row, 5], root_pose[row, 6]
    turn = wp.quat(x, y, z, w)
    velocity = wp.quat_rotate_inv(turn, wp.vec3(root_vel[row, 0], root_vel[row, 1], root_vel[row, 2]))
    spin = wp.quat_rotate_inv(turn, wp.vec3(root_vel[row, 3], root_vel[row, 4], root_vel[row, 5]))
    target_x, target_y = distance - root_pose[row, 0], -root_pose[row, 1]
    ahead_x, ahead_y = 1.0 - 2.0 * (y * y + z * z), 2.0 * (w * z + x * y)
    yaw = wp.atan2(ahead_y, ahead_x)
    policy[row, 0] = root_pose[row, 2]
    for axis in range(3):
        policy[row, 1 + axis] = velocity[axis]  # type: ignore[index]
        policy[row, 4 + axis] = spin[axis] * angular_velocity_scale  # type: ignore[index]
    policy[row, 7] = yaw
    policy[row, 8] = wp.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    policy[row, 9] = wrapped(wp.atan2(target_y, target_x) - yaw)
    policy[row, UP] = 1.0 - 2.0 * (x * x + y * y)
    policy[row, HEADING] = (ahead_x * target_x + ahead_y * target_y) / wp.length(wp.vec2(target_x, target_y))
    joints = limits.shape[0]
    for joint in range(joints):
        lower, upper = limits[joint, 0], limits[joint, 1]
        policy[row, JOINTS + joint] = (2.0 * joint_pos[row, joint] - upper - lower) / (upper - lower)
        policy[row, JOINTS + joints + joint] = joint_vel[row, joint] * joint_velocity_scale
        policy[row, JOINTS + 2 * joints + joint] = last_actions[row, joint]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def judge(  # type: ignore[no-untyped-def]
    policy: wp.array2d[wp.float32],
    root_pose: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    last_actions: wp.array2d[wp.float32],
    last_place: wp.array2d[wp.float32],
    gear_shares: wp.array[wp.float32],
    weights: wp.array[wp.float32],
    distance: wp.float32,
    min_height: wp.float32,
    up_threshold: wp.float32,
    heading_threshold: wp.float32,
    joint_limit_threshold: wp.float32,
    terms: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    terminated: wp.array[wp.bool],
):
    """Termination, the reward's terms and their sum; `weights` are those of the terms, per control step.

    `gear_shares` holds the gear of every joint by the largest.
    """
    row = wp.tid()
    terminated[row] = root_pose[row, 2] < min_height
    effort, power, at_limit = wp.float32(0.0), wp.float32(0.0), wp.float32(0.0)
    for joint in range(gear_shares.shape[0]):
        action, share = last_actions[row, joint], gear_shares[joint]
        effort += action * action
        power += wp.abs(action * joint_vel[row, joint]) * share
        into = (wp.abs(policy[row, JOINTS + joint]) - joint_limit_threshold) / (1.0 - joint_limit_threshold)
        at_limit += wp.max(into, 0.0) * share
    terms[row, PROGRESS] = nearer(
        distance, last_place[row, 0], last_place[row, 1], root_pose[row, 0], root_pose[row, 1]
    )
    terms[row, ALIVE] = wp.where(terminated[row], 0.0, 1.0)
    terms[row, UPRIGHT] = wp.where(policy[row, UP] > up_threshold, 1.0, 0.0)
    terms[row, FACING] = wp.min(policy[row, HEADING] / heading_threshold, 1.0)
    terms[row, ACTION] = effort
    terms[row, ENERGY] = power
    terms[row, JOINT_LIMIT] = at_limit
    terms[row, DEATH] = wp.where(terminated[row], 1.0, 0.0)
    total = wp.float32(0.0)
    for term in range(weights.shape[0]):
        terms[row, term] = weights[term] * terms[row, term]
        total += terms[row, term]
    reward[row] = total


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def place(  # type: ignore[no-untyped-def]
    rows: wp.array[wp.bool],
    uniform: wp.array2d[wp.float32],
    default_pose: wp.array[wp.float32],
    limits: wp.array2d[wp.float32],
    height: wp.float32,
    pos_range: wp.float32,
    vel_range: wp.float32,
    last_actions: wp.array2d[wp.float32],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    root_pose: wp.array2d[wp.float32],
):
    """The torso upright above the origin; joints about their default pose, within their limits. No last action."""
    row = wp.tid()
    if rows[row]:
        joints = limits.shape[0]
        for joint in range(joints):
            offset = (2.0 * uniform[row, joint] - 1.0) * pos_range
            joint_pos[row, joint] = wp.clamp(default_pose[joint] + offset, limits[joint, 0], limits[joint, 1])
            joint_vel[row, joint] = (2.0 * uniform[row, joints + joint] - 1.0) * vel_range
            last_actions[row, joint] = 0.0
        root_pose[row, 2] = height
        root_pose[row, 6] = 1.0
