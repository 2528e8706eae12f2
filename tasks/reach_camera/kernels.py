# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""What is told of the arm in numbers while it is seen through a camera."""

import warp as wp


@wp.kernel(enable_backward=False)
def observe(
    joint_vel: wp.array2d[wp.float32],
    target: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    policy: wp.array2d[wp.float32],
):
    """Joint velocities, target, last action."""
    row = wp.tid()
    joints = joint_vel.shape[1]
    for joint in range(joints):
        policy[row, joint] = joint_vel[row, joint]
        policy[row, joints + 3 + joint] = action[row, joint]
    for axis in range(3):
        policy[row, joints + axis] = target[row, axis]
