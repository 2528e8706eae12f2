# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""What PhysX's engines launch around its calls.

Shapes: N rows, D joints in the task's order, `q`, `qd` and `efforts` `[N, D]` in the engine's order; `dofs` says in
which of its columns each joint is. Poses are position and quaternion xyzw, velocities linear and then angular, in
world axes. PhysX's poses are world poses of link frames; its velocities are those of centres of mass.
"""

import warp as wp

from ..actuation import limited, pd_effort

NONFINITE_JOINTS, NONFINITE_FRAMES = wp.constant(1), wp.constant(2)
"""Bits of a row's faults: what is not finite in it."""


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def write_efforts(  # type: ignore[no-untyped-def]
    control: wp.array2d[wp.float32],
    dofs: wp.array[wp.int32],
    limits: wp.array[wp.float32],
    efforts: wp.array2d[wp.float32],
):
    """Efforts in task order to the engine's, saturated."""
    row = wp.tid()
    for joint in range(dofs.shape[0]):
        efforts[row, dofs[joint]] = limited(control[row, joint], limits[joint])


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def drive(  # type: ignore[no-untyped-def]
    targets: wp.array2d[wp.float32],
    dofs: wp.array[wp.int32],
    stiffness: wp.array[wp.float32],
    damping: wp.array[wp.float32],
    limits: wp.array[wp.float32],
    q: wp.array2d[wp.float32],
    qd: wp.array2d[wp.float32],
    efforts: wp.array2d[wp.float32],
):
    """The PD law of `PDActuator`, for the physics step about to be taken."""
    row = wp.tid()
    for joint in range(dofs.shape[0]):
        dof = dofs[joint]
        error = targets[row, joint] - q[row, dof]
        efforts[row, dof] = pd_effort(error, qd[row, dof], stiffness[joint], damping[joint], limits[joint])


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def read_joints(  # type: ignore[no-untyped-def]
    q: wp.array2d[wp.float32],
    qd: wp.array2d[wp.float32],
    dofs: wp.array[wp.int32],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    row_faults: wp.array[wp.int32],
    fault: wp.array[wp.float32],
):
    """Engine order to task order. A row that is not finite is noted for good.

    All rows that fail write the same 1.0 into `fault`: no atomic is needed.
    """
    row = wp.tid()
    verdict = wp.float32(0.0)
    for joint in range(dofs.shape[0]):
        position = q[row, dofs[joint]]
        velocity = qd[row, dofs[joint]]
        joint_pos[row, joint] = position
        joint_vel[row, joint] = velocity
        verdict += 0.0 * position + 0.0 * velocity  # a number that is not finite makes it NaN
    if not wp.isfinite(verdict):
        row_faults[row] = row_faults[row] | NONFINITE_JOINTS
        fault[0] = 1.0


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def read_frames(  # type: ignore[no-untyped-def]
    poses: wp.array2d[wp.transformf],
    velocities: wp.array2d[wp.spatial_vectorf],
    bodies: wp.array[wp.int32],
    coms: wp.array[wp.vec3f],
    origins: wp.array[wp.vec3f],
    frame_pose: wp.array2d[wp.transformf],
    frame_vel: wp.array2d[wp.spatial_vectorf],
    row_faults: wp.array[wp.int32],
    fault: wp.array[wp.float32],
):
    """Some links' poses local to their environment, and the velocities of the frames' origins; faults likewise.

    A frame's origin moves with the centre of mass at `com`, less what the turning adds there.
    """
    row, frame = wp.tid()  # type: ignore[misc]
    pose = poses[row, bodies[frame]]
    velocity = velocities[row, bodies[frame]]
    rotation = wp.transform_get_rotation(pose)
    angular = wp.spatial_bottom(velocity)
    linear = wp.spatial_top(velocity) - wp.cross(angular, wp.quat_rotate(rotation, coms[frame]))  # type: ignore[operator]
    position = wp.transform_get_translation(pose) - origins[row]  # type: ignore[operator]
    frame_pose[row, frame] = wp.transform(position, rotation)
    frame_vel[row, frame] = wp.spatial_vector(linear, angular)
    verdict = wp.float32(0.0)
    for i in range(7):
        verdict += 0.0 * pose[i]
    for i in range(6):
        verdict += 0.0 * velocity[i]
    if not wp.isfinite(verdict):
        row_faults[row] = row_faults[row] | NONFINITE_FRAMES
        fault[0] = 1.0


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def write_joints(  # type: ignore[no-untyped-def]
    mask: wp.array[wp.bool],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    dofs: wp.array[wp.int32],
    chosen: wp.array[wp.bool],
    q: wp.array2d[wp.float32],
    qd: wp.array2d[wp.float32],
):
    """Joint states of the masked rows, task order to engine order; the mask itself is kept for the native call."""
    row = wp.tid()
    chosen[row] = mask[row]
    if mask[row]:
        for joint in range(dofs.shape[0]):
            q[row, dofs[joint]] = joint_pos[row, joint]
            qd[row, dofs[joint]] = joint_vel[row, joint]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def write_roots(  # type: ignore[no-untyped-def]
    mask: wp.array[wp.bool],
    root_pose: wp.array[wp.transformf],
    root_vel: wp.array[wp.spatial_vectorf],
    coms: wp.array[wp.vec3f],
    origins: wp.array[wp.vec3f],
    poses: wp.array2d[wp.transformf],
    velocities: wp.array2d[wp.spatial_vectorf],
):
    """Root states of the masked rows, to world poses and velocities of the centre of mass at `coms[0]`."""
    row = wp.tid()
    if mask[row]:
        rotation = wp.transform_get_rotation(root_pose[row])
        angular = wp.spatial_bottom(root_vel[row])
        linear = wp.spatial_top(root_vel[row]) + wp.cross(angular, wp.quat_rotate(rotation, coms[0]))  # type: ignore[operator]
        position = wp.transform_get_translation(root_pose[row]) + origins[row]  # type: ignore[operator]
        poses[row, 0] = wp.transform(position, rotation)
        velocities[row, 0] = wp.spatial_vector(linear, angular)
