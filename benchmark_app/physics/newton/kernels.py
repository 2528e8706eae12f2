# mypy: disable-error-code="no-untyped-def, untyped-decorator, arg-type, operator, index, misc, call-overload"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types, of its own kind.
"""What Newton's engines launch around their solver.

Shapes: N rows, D joints in the task's order, `joint_q` and `joint_qd` `[N, …]` in the engine's own order, where the
free joint of a floating robot comes first: 7 coordinates (position, quaternion xyzw) and 6 velocities (of the centre of
mass, then angular, world axes). `coords` and `dofs` say in which column of `joint_q` and `joint_qd` each joint is.
"""

from typing import Any

import warp as wp

from ..actuation import limited, pd_effort

NONFINITE = wp.constant(1 << 30)
"""Our own bit beside the engine's: a joint coordinate or velocity of the row is not finite."""


@wp.kernel(enable_backward=False)
def write_efforts(efforts: wp.array2d[wp.float32], dofs: wp.array[wp.int32], joint_f: wp.array2d[wp.float32]):
    """Task order to engine order."""
    row = wp.tid()
    for joint in range(dofs.shape[0]):
        joint_f[row, dofs[joint]] = efforts[row, joint]


@wp.kernel(enable_backward=False)
def write_limited_efforts(
    efforts: wp.array2d[wp.float32],
    dofs: wp.array[wp.int32],
    limits: wp.array[wp.float32],
    joint_f: wp.array2d[wp.float32],
):
    """The same, saturated."""
    row = wp.tid()
    for joint in range(dofs.shape[0]):
        joint_f[row, dofs[joint]] = limited(efforts[row, joint], limits[joint])


@wp.kernel(enable_backward=False)
def drive(
    targets: wp.array2d[wp.float32],
    coords: wp.array[wp.int32],
    dofs: wp.array[wp.int32],
    stiffness: wp.array[wp.float32],
    damping: wp.array[wp.float32],
    limits: wp.array[wp.float32],
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
    joint_f: wp.array2d[wp.float32],
):
    """The PD law of `PDActuator`, for the physics step about to be taken."""
    row = wp.tid()
    for joint in range(dofs.shape[0]):
        error = targets[row, joint] - joint_q[row, coords[joint]]
        velocity = joint_qd[row, dofs[joint]]
        joint_f[row, dofs[joint]] = pd_effort(error, velocity, stiffness[joint], damping[joint], limits[joint])


@wp.kernel(enable_backward=False)
def write_rows(
    mask: wp.array[wp.bool],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    coords: wp.array[wp.int32],
    dofs: wp.array[wp.int32],
    world_mask: wp.array[wp.bool],
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
):
    """Joint states of the masked rows, task order to engine order, and the mask Newton's reset wants."""
    row = wp.tid()
    world_mask[row] = mask[row]
    if mask[row]:
        for joint in range(dofs.shape[0]):
            joint_q[row, coords[joint]] = joint_pos[row, joint]
            joint_qd[row, dofs[joint]] = joint_vel[row, joint]


@wp.kernel(enable_backward=False)
def write_roots(
    mask: wp.array[wp.bool],
    root_pose: wp.array[wp.transformf],
    root_vel: wp.array[wp.spatial_vectorf],
    com: wp.vec3f,
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
):
    """Root states of the masked rows; the velocity of the link's origin becomes that of its centre of mass at `com`."""
    row = wp.tid()
    if mask[row]:
        pose = root_pose[row]
        for i in range(7):
            joint_q[row, i] = pose[i]
        angular = wp.spatial_bottom(root_vel[row])
        arm = wp.quat_rotate(wp.transform_get_rotation(pose), com)
        linear = wp.spatial_top(root_vel[row]) + wp.cross(angular, arm)
        for i in range(3):
            joint_qd[row, i] = linear[i]
            joint_qd[row, 3 + i] = angular[i]


@wp.kernel(enable_backward=False)
def forget(mask: wp.array[wp.bool], flags: wp.array[wp.int32]):
    """Lower the flags `[N]` of some rows."""
    row = wp.tid()
    if mask[row]:
        flags[row] = 0


@wp.kernel(enable_backward=False)
def read_joints(
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
    coords: wp.array[wp.int32],
    dofs: wp.array[wp.int32],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
):
    """Engine order to task order."""
    row = wp.tid()
    for joint in range(dofs.shape[0]):
        joint_pos[row, joint] = joint_q[row, coords[joint]]
        joint_vel[row, joint] = joint_qd[row, dofs[joint]]


@wp.kernel(enable_backward=False)
def read_roots(
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
    com: wp.vec3f,
    root_pose: wp.array2d[wp.transformf],
    root_vel: wp.array2d[wp.spatial_vectorf],
):
    """Root states; the velocity of the centre of mass at `com` becomes that of the link's origin."""
    row = wp.tid()
    position = wp.vec3f(joint_q[row, 0], joint_q[row, 1], joint_q[row, 2])
    rotation = wp.quatf(joint_q[row, 3], joint_q[row, 4], joint_q[row, 5], joint_q[row, 6])
    linear = wp.vec3f(joint_qd[row, 0], joint_qd[row, 1], joint_qd[row, 2])
    angular = wp.vec3f(joint_qd[row, 3], joint_qd[row, 4], joint_qd[row, 5])
    linear = linear - wp.cross(angular, wp.quat_rotate(rotation, com))
    root_pose[row, 0] = wp.transform(position, rotation)
    root_vel[row, 0] = wp.spatial_vector(linear, angular)


@wp.kernel(enable_backward=False)
def read_links(
    body_q: wp.array2d[wp.transformf],
    body_qd: wp.array2d[wp.spatial_vectorf],
    bodies: wp.array[wp.int32],
    coms: wp.array[wp.vec3f],
    link_pose: wp.array2d[wp.transformf],
    link_vel: wp.array2d[wp.spatial_vectorf],
):
    """Poses and velocities of some bodies; the velocities of their centres of mass become those of their origins."""
    row, link = wp.tid()
    pose = body_q[row, bodies[link]]
    velocity = body_qd[row, bodies[link]]
    angular = wp.spatial_bottom(velocity)
    arm = wp.quat_rotate(wp.transform_get_rotation(pose), coms[link])
    link_pose[row, link] = pose
    link_vel[row, link] = wp.spatial_vector(wp.spatial_top(velocity) - wp.cross(angular, arm), angular)


@wp.kernel(enable_backward=False)
def latch_faults(
    found: wp.array[wp.int32],
    fatal: wp.int32,
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
    row_faults: wp.array[wp.int32],
    fault: wp.array[wp.float32],
):
    """Collect what went wrong in each row in the substep just taken; nothing is ever cleared.

    Newton clears its own bits at the start of every substep, so they are gathered after each one. All rows that
    fail write the same 1.0 into `fault`: no atomic is needed.
    """
    row = wp.tid()
    bits = found[row]
    verdict = wp.float32(0.0)
    for i in range(joint_q.shape[1]):
        verdict += 0.0 * joint_q[row, i]  # a number that is not finite makes it NaN
    for i in range(joint_qd.shape[1]):
        verdict += 0.0 * joint_qd[row, i]
    if not wp.isfinite(verdict):
        bits = bits | NONFINITE
    if bits != 0:
        row_faults[row] = row_faults[row] | bits
        if bits & fatal != 0:
            fault[0] = 1.0


@wp.kernel(enable_backward=False)
def report_status(
    status: wp.array[Any],
    contacts: wp.array[wp.int32],
    room: wp.int32,
    unconverged: wp.int32,
    overflow: wp.int32,
    found: wp.array[wp.int32],
):
    """Kamino's step as bits: `unconverged`, and `overflow` where a row has more contacts than there is room for.

    A row whose solve failed is left as it was from then on, every number finite; its residual tells.
    """
    row = wp.tid()
    bits = wp.int32(0)
    if status[row].converged == 0:
        bits = bits | unconverged
    if not wp.isfinite(status[row].r_p):
        bits = bits | NONFINITE
    if contacts[row] > room:
        bits = bits | overflow
    found[row] = bits
