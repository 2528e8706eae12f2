# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""Reach's arithmetic, one thread per row."""

import warp as wp

from ..arm_kernels import count_held, point3, squared_change


@wp.func
def tip(link_pose: wp.array3d[wp.float32], row: wp.int32):
    """The tool's tip [m]: the origin of the only link that is read."""
    return wp.vec3f(link_pose[row, 0, 0], link_pose[row, 0, 1], link_pose[row, 0, 2])


@wp.kernel(enable_backward=False)
def observe(
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    link_pose: wp.array3d[wp.float32],
    target: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    policy: wp.array2d[wp.float32],
):
    """Joint positions and velocities, tip, target, the way between them, last action."""
    row = wp.tid()
    joints = joint_pos.shape[1]
    for joint in range(joints):
        policy[row, joint] = joint_pos[row, joint]
        policy[row, joints + joint] = joint_vel[row, joint]
        policy[row, 2 * joints + 9 + joint] = action[row, joint]
    at = tip(link_pose, row)
    goal = point3(target, row)
    for axis in range(3):
        policy[row, 2 * joints + axis] = at[axis]
        policy[row, 2 * joints + 3 + axis] = goal[axis]
        policy[row, 2 * joints + 6 + axis] = goal[axis] - at[axis]


@wp.kernel(enable_backward=False)
def judge(
    link_pose: wp.array3d[wp.float32],
    target: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    previous: wp.array2d[wp.float32],
    steps: wp.array[wp.int64],
    max_steps: wp.int64,
    near: wp.float32,
    needed: wp.int32,
    weights: wp.array[wp.float32],
    fine_scale: wp.float32,
    distance: wp.array[wp.float32],
    held: wp.array[wp.int32],
    success_step: wp.array[wp.int32],
    terms: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    terminated: wp.array[wp.bool],
):
    """The reward's terms and their sum (the control step is in `weights`), and how long the tip has been on target."""
    row = wp.tid()
    away = wp.length(point3(target, row) - tip(link_pose, row))
    distance[row] = away
    terms[row, 0] = weights[0] * away
    terms[row, 1] = weights[1] * (1.0 - wp.tanh(away / fine_scale))
    terms[row, 2] = weights[2] * squared_change(action, previous, row)
    reward[row] = terms[row, 0] + terms[row, 1] + terms[row, 2]
    terminated[row] = False
    count_held(away < near, steps, max_steps, needed, held, success_step, row)


@wp.kernel(enable_backward=False)
def place(
    rows: wp.array[wp.bool],
    uniform: wp.array2d[wp.float32],
    default_pose: wp.array[wp.float32],
    spread: wp.float32,
    region: wp.array2d[wp.float32],
    joint_pos: wp.array2d[wp.float32],
    setpoint: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    target: wp.array2d[wp.float32],
    held: wp.array[wp.int32],
    success_step: wp.array[wp.int32],
):
    """Joints around the default pose, at rest and told to stay; a target in the region (azimuth, radius, height)."""
    row = wp.tid()
    if rows[row]:
        joints = joint_pos.shape[1]
        for joint in range(joints):
            joint_pos[row, joint] = default_pose[joint] + (2.0 * uniform[row, joint] - 1.0) * spread
            setpoint[row, joint] = joint_pos[row, joint]
            action[row, joint] = 0.0
        azimuth = wp.lerp(region[0, 0], region[0, 1], uniform[row, joints])
        radius = wp.lerp(region[1, 0], region[1, 1], uniform[row, joints + 1])
        target[row, 0] = radius * wp.cos(azimuth)
        target[row, 1] = radius * wp.sin(azimuth)
        target[row, 2] = wp.lerp(region[2, 0], region[2, 1], uniform[row, joints + 2])
        held[row] = 0
        success_step[row] = 0
