# mypy: disable-error-code="no-untyped-def, untyped-decorator, arg-type, operator, index, misc"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""The arithmetic of velocity tracking. Legs: front left, front right, rear left, rear right, of three joints each."""

import math

import warp as wp

from benchmark_app.physics.actuation import pd_effort

PI = wp.constant(math.pi)
LEGS = wp.constant(4)
JOINTS = wp.constant(12)
# The robot's file has the same sizes [m]; a test compares them.
TRUNK = wp.constant(wp.vec3(0.19, 0.075, 0.055))  # half extents of the trunk's box
FOOT = wp.constant(wp.vec3(0.0, 0.0, -0.21))  # centre of the foot's ball in the calf's frame
FOOT_RADIUS = wp.constant(0.022)
START_HEIGHT = wp.constant(0.34)

CONTACT_GAP = wp.constant(0.005)
"""A foot closer to the ground than this [m] is in contact: engines leave and allow gaps of a millimetre or so."""
STANDING = wp.constant(0.1)
"""Commands slower than this [m/s] reward no steps."""


@wp.func
def orientation(pose: wp.array2d[wp.float32], row: wp.int32):
    """Orientation in a row of poses."""
    return wp.quat(pose[row, 3], pose[row, 4], pose[row, 5], pose[row, 6])


@wp.func
def linear(vel: wp.array2d[wp.float32], row: wp.int32):
    """Linear part of a row of velocities."""
    return wp.vec3(vel[row, 0], vel[row, 1], vel[row, 2])


@wp.func
def angular(vel: wp.array2d[wp.float32], row: wp.int32):
    """Angular part of a row of velocities."""
    return wp.vec3(vel[row, 3], vel[row, 4], vel[row, 5])


@wp.func
def foot_height(calf_pose: wp.array3d[wp.float32], row: wp.int32, leg: wp.int32):
    """Gap between a foot and the ground [m]."""
    turn = wp.quat(calf_pose[row, leg, 3], calf_pose[row, leg, 4], calf_pose[row, leg, 5], calf_pose[row, leg, 6])
    return calf_pose[row, leg, 2] + wp.quat_rotate(turn, FOOT)[2] - FOOT_RADIUS


@wp.kernel(enable_backward=False)
def aim(
    actions: wp.array2d[wp.float32],
    default_pos: wp.array[wp.float32],
    action_scale: wp.float32,
    action: wp.array2d[wp.float32],
    targets: wp.array2d[wp.float32],
):
    """Clamp the actions, and make position targets of them. NaN stays NaN: the environment must see it."""
    row = wp.tid()
    for joint in range(JOINTS):
        value = actions[row, joint]
        if value > 1.0:
            value = 1.0
        elif value < -1.0:
            value = -1.0
        action[row, joint] = value
        targets[row, joint] = default_pos[joint] + action_scale * value


@wp.kernel(enable_backward=False)
def observe(
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    root_pose: wp.array2d[wp.float32],
    root_vel: wp.array2d[wp.float32],
    calf_pose: wp.array3d[wp.float32],
    default_pos: wp.array[wp.float32],
    ang_vel_scale: wp.float32,
    joint_vel_scale: wp.float32,
    command: wp.array2d[wp.float32],
    last_action: wp.array2d[wp.float32],
    air_time: wp.array2d[wp.float32],
    policy: wp.array2d[wp.float32],
    critic: wp.array2d[wp.float32],
):
    """What the policy sees, and for the critic the feet besides."""
    row = wp.tid()
    turn = orientation(root_pose, row)
    velocity = wp.quat_rotate_inv(turn, linear(root_vel, row))
    spin = wp.quat_rotate_inv(turn, angular(root_vel, row))
    gravity = wp.quat_rotate_inv(turn, wp.vec3(0.0, 0.0, -1.0))
    for i in range(3):
        policy[row, i] = velocity[i]
        policy[row, 3 + i] = ang_vel_scale * spin[i]
        policy[row, 6 + i] = gravity[i]
        policy[row, 9 + i] = command[row, i]
    for joint in range(JOINTS):
        policy[row, 12 + joint] = joint_pos[row, joint] - default_pos[joint]
        policy[row, 24 + joint] = joint_vel_scale * joint_vel[row, joint]
        policy[row, 36 + joint] = last_action[row, joint]
    for i in range(48):
        critic[row, i] = policy[row, i]
    for leg in range(LEGS):
        height = foot_height(calf_pose, row, leg)
        critic[row, 48 + leg] = height
        critic[row, 52 + leg] = wp.where(height < CONTACT_GAP, 1.0, 0.0)
        critic[row, 56 + leg] = air_time[row, leg]


@wp.kernel(enable_backward=False)
def judge(
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    root_pose: wp.array2d[wp.float32],
    root_vel: wp.array2d[wp.float32],
    calf_pose: wp.array3d[wp.float32],
    targets: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    steps: wp.array[wp.int64],
    weights: wp.array[wp.float32],
    dt: wp.float32,
    stiffness: wp.float32,
    damping: wp.float32,
    effort_limit: wp.float32,
    tracking_std: wp.float32,
    least_air_time: wp.float32,
    max_tilt: wp.float32,
    trunk_clearance: wp.float32,
    change_step: wp.int64,
    next_command: wp.array2d[wp.float32],
    command: wp.array2d[wp.float32],
    last_action: wp.array2d[wp.float32],
    last_joint_vel: wp.array2d[wp.float32],
    air_time: wp.array2d[wp.float32],
    errors: wp.array2d[wp.float32],
    terms: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    terminated: wp.array[wp.bool],
):
    """Terms of the reward, in the declaration's order, and termination; then on to the next step.

    `errors` sums up the errors in velocity and in yaw rate.
    """
    row = wp.tid()
    turn = orientation(root_pose, row)
    velocity = wp.quat_rotate_inv(turn, linear(root_vel, row))
    spin = wp.quat_rotate_inv(turn, angular(root_vel, row))
    gravity = wp.quat_rotate_inv(turn, wp.vec3(0.0, 0.0, -1.0))

    off_x = command[row, 0] - velocity[0]
    off_y = command[row, 1] - velocity[1]
    off_yaw = command[row, 2] - spin[2]
    off_squared = off_x * off_x + off_y * off_y
    errors[row, 0] += wp.sqrt(off_squared)
    errors[row, 1] += wp.abs(off_yaw)
    width = tracking_std * tracking_std

    torques = wp.float32(0.0)
    accelerations = wp.float32(0.0)
    changes = wp.float32(0.0)
    for joint in range(JOINTS):
        error = targets[row, joint] - joint_pos[row, joint]
        torque = pd_effort(error, joint_vel[row, joint], stiffness, damping, effort_limit)
        torques += torque * torque
        acceleration = (joint_vel[row, joint] - last_joint_vel[row, joint]) / dt
        accelerations += acceleration * acceleration
        change = action[row, joint] - last_action[row, joint]
        changes += change * change
        last_joint_vel[row, joint] = joint_vel[row, joint]
        last_action[row, joint] = action[row, joint]

    landings = wp.float32(0.0)
    for leg in range(LEGS):
        if foot_height(calf_pose, row, leg) >= CONTACT_GAP:
            air_time[row, leg] += dt
        elif air_time[row, leg] > 0.0:
            landings += air_time[row, leg] - least_air_time
            air_time[row, leg] = 0.0
    if command[row, 0] * command[row, 0] + command[row, 1] * command[row, 1] <= STANDING * STANDING:
        landings = 0.0

    terms[row, 0] = wp.exp(-off_squared / width)
    terms[row, 1] = wp.exp(-off_yaw * off_yaw / width)
    terms[row, 2] = velocity[2] * velocity[2]
    terms[row, 3] = spin[0] * spin[0] + spin[1] * spin[1]
    terms[row, 4] = torques
    terms[row, 5] = accelerations
    terms[row, 6] = changes
    terms[row, 7] = landings
    terms[row, 8] = gravity[0] * gravity[0] + gravity[1] * gravity[1]
    total = wp.float32(0.0)
    for term in range(weights.shape[0]):
        terms[row, term] = weights[term] * dt * terms[row, term]
        total += terms[row, term]
    reward[row] = total

    # Gravity's direction in the trunk's frame has the height of each of its axes in it.
    depth = wp.abs(gravity[0]) * TRUNK[0] + wp.abs(gravity[1]) * TRUNK[1] + wp.abs(gravity[2]) * TRUNK[2]
    terminated[row] = -gravity[2] < wp.cos(max_tilt) or root_pose[row, 2] - depth < trunk_clearance

    if steps[row] + wp.int64(1) == change_step:
        for i in range(3):
            command[row, i] = next_command[row, i]


@wp.func
def draw_command(
    uniform: wp.array2d[wp.float32],
    row: wp.int32,
    first: wp.int32,
    ranges: wp.vec3,
    standing_share: wp.float32,
    command: wp.array2d[wp.float32],
):
    """A command within plus and minus the ranges, or to stand, of four random numbers."""
    stands = uniform[row, first + 3] < standing_share
    for i in range(3):
        command[row, i] = wp.where(stands, 0.0, (2.0 * uniform[row, first + i] - 1.0) * ranges[i])


@wp.kernel(enable_backward=False)
def place(
    rows: wp.array[wp.bool],
    uniform: wp.array2d[wp.float32],
    default_pos: wp.array[wp.float32],
    initial_joint_offset: wp.float32,
    ranges: wp.vec3,
    standing_share: wp.float32,
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    root_pose: wp.array2d[wp.float32],
    root_vel: wp.array2d[wp.float32],
    next_command: wp.array2d[wp.float32],
    command: wp.array2d[wp.float32],
    last_action: wp.array2d[wp.float32],
    last_joint_vel: wp.array2d[wp.float32],
    air_time: wp.array2d[wp.float32],
    errors: wp.array2d[wp.float32],
):
    """At rest above the ground, headed anywhere, and what is remembered of the episode before forgotten."""
    row = wp.tid()
    if rows[row]:
        draw_command(uniform, row, 0, ranges, standing_share, command)
        draw_command(uniform, row, 4, ranges, standing_share, next_command)
        turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), (2.0 * uniform[row, 8] - 1.0) * PI)
        root_pose[row, 0] = 0.0
        root_pose[row, 1] = 0.0
        root_pose[row, 2] = START_HEIGHT
        for i in range(4):
            root_pose[row, 3 + i] = turn[i]
        for i in range(6):
            root_vel[row, i] = 0.0
        for joint in range(JOINTS):
            offset = (2.0 * uniform[row, 9 + joint] - 1.0) * initial_joint_offset
            joint_pos[row, joint] = default_pos[joint] + offset
            joint_vel[row, joint] = 0.0
            last_action[row, joint] = 0.0
            last_joint_vel[row, joint] = 0.0
        for leg in range(LEGS):
            air_time[row, leg] = 0.0
        errors[row, 0] = 0.0
        errors[row, 1] = 0.0
