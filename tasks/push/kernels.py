# mypy: disable-error-code="no-untyped-def, untyped-decorator, index"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""Push's arithmetic, one thread per row. Joint columns: 0 shoulder, 1 elbow, 2 and 3 the box's position, 4 its yaw."""

import math

import warp as wp

from ..arm_kernels import count_held, point2, squared_change

PI = wp.constant(math.pi)


@wp.func
def peg(joint_pos: wp.array2d[wp.float32], row: wp.int32, upper_arm: wp.float32, forearm: wp.float32):
    """Where the peg is on the table [m], by the arm's forward kinematics."""
    first = joint_pos[row, 0]
    both = first + joint_pos[row, 1]
    return wp.vec2f(
        upper_arm * wp.cos(first) + forearm * wp.cos(both), upper_arm * wp.sin(first) + forearm * wp.sin(both)
    )


@wp.func
def box(joint_pos: wp.array2d[wp.float32], row: wp.int32):
    """Where the box's centre is on the table [m]."""
    return wp.vec2f(joint_pos[row, 2], joint_pos[row, 3])


@wp.func
def write2(policy: wp.array2d[wp.float32], row: wp.int32, column: wp.int32, value: wp.vec2f):
    """Two entries of an observation."""
    policy[row, column] = value[0]
    policy[row, column + 1] = value[1]


@wp.kernel(enable_backward=False)
def observe(
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    upper_arm: wp.float32,
    forearm: wp.float32,
    target: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    policy: wp.array2d[wp.float32],
):
    """Arm, peg, box, target, the ways from one to the next, last action."""
    row = wp.tid()
    tool = peg(joint_pos, row, upper_arm, forearm)
    centre = box(joint_pos, row)
    goal = point2(target, row)
    yaw = 4.0 * joint_pos[row, 4]
    write2(policy, row, 0, wp.vec2f(joint_pos[row, 0], joint_pos[row, 1]))
    write2(policy, row, 2, wp.vec2f(joint_vel[row, 0], joint_vel[row, 1]))
    write2(policy, row, 4, tool)
    write2(policy, row, 6, centre)
    write2(policy, row, 8, wp.vec2f(joint_vel[row, 2], joint_vel[row, 3]))
    write2(policy, row, 10, wp.vec2f(wp.cos(yaw), wp.sin(yaw)))
    write2(policy, row, 12, goal)
    write2(policy, row, 14, centre - tool)
    write2(policy, row, 16, goal - centre)
    write2(policy, row, 18, point2(action, row))


@wp.kernel(enable_backward=False)
def judge(
    joint_pos: wp.array2d[wp.float32],
    upper_arm: wp.float32,
    forearm: wp.float32,
    target: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    previous: wp.array2d[wp.float32],
    steps: wp.array[wp.int64],
    max_steps: wp.int64,
    near: wp.float32,
    needed: wp.int32,
    standoff: wp.float32,
    weights: wp.array[wp.float32],
    fine_scale: wp.float32,
    distance: wp.array[wp.float32],
    held: wp.array[wp.int32],
    success_step: wp.array[wp.int32],
    terms: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    terminated: wp.array[wp.bool],
):
    """The reward's terms and their sum (the control step is in `weights`), and how long the box has been on target.

    The peg should push from `standoff` behind the box, on the line from the target through its centre; the nearer the
    box is to the target (within `near`), the less it matters where the peg is.
    """
    row = wp.tid()
    centre = box(joint_pos, row)
    way = point2(target, row) - centre
    away = wp.length(way)
    distance[row] = away
    behind = centre - standoff * way / wp.max(away, near)
    terms[row, 0] = weights[0] * wp.length(behind - peg(joint_pos, row, upper_arm, forearm)) * wp.min(away / near, 1.0)
    terms[row, 1] = weights[1] * away
    terms[row, 2] = weights[2] * (1.0 - wp.tanh(away / fine_scale))
    terms[row, 3] = weights[3] * squared_change(action, previous, row)
    reward[row] = terms[row, 0] + terms[row, 1] + terms[row, 2] + terms[row, 3]
    terminated[row] = False
    count_held(away < near, steps, max_steps, needed, held, success_step, row)


@wp.kernel(enable_backward=False)
def place(
    rows: wp.array[wp.bool],
    uniform: wp.array2d[wp.float32],
    folded_pose: wp.array[wp.float32],
    spread: wp.float32,
    azimuth: wp.float32,
    radius_min: wp.float32,
    radius_max: wp.float32,
    turn: wp.float32,
    joint_pos: wp.array2d[wp.float32],
    setpoint: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    target: wp.array2d[wp.float32],
    held: wp.array[wp.int32],
    success_step: wp.array[wp.int32],
):
    """The arm folded, at rest and told to stay; box and target ahead of it, and apart from each other.

    Uniform numbers: the arm's two joints, the box's azimuth, radius and yaw, the target's turn and radius. Azimuths are
    taken to close up to a circle of 2 `azimuth`: going on from the box's by `turn` or more leads anywhere but near it.
    """
    row = wp.tid()
    if rows[row]:
        for joint in range(setpoint.shape[1]):
            joint_pos[row, joint] = folded_pose[joint] + (2.0 * uniform[row, joint] - 1.0) * spread
            setpoint[row, joint] = joint_pos[row, joint]
            action[row, joint] = 0.0
        range_ = 2.0 * azimuth
        box_at = range_ * uniform[row, 2]
        target_at = box_at + wp.lerp(turn, range_ - turn, uniform[row, 5])
        if target_at >= range_:
            target_at -= range_
        box_radius = wp.lerp(radius_min, radius_max, uniform[row, 3])
        target_radius = wp.lerp(radius_min, radius_max, uniform[row, 6])
        joint_pos[row, 2] = box_radius * wp.cos(box_at - azimuth)
        joint_pos[row, 3] = box_radius * wp.sin(box_at - azimuth)
        joint_pos[row, 4] = (2.0 * uniform[row, 4] - 1.0) * PI
        target[row, 0] = target_radius * wp.cos(target_at - azimuth)
        target[row, 1] = target_radius * wp.sin(target_at - azimuth)
        held[row] = 0
        success_step[row] = 0
