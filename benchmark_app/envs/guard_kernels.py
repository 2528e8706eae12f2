# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""What the NaN guard adds to a step: one kernel that remembers it."""

import warp as wp


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def remember(  # type: ignore[no-untyped-def]
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    actions: wp.array2d[wp.float32],
    control: wp.array2d[wp.float32],
    steps: wp.array[wp.int64],
    episode: wp.array[wp.int32],
    count: wp.array[wp.int64],
    numbers: wp.array3d[wp.float32],
    places: wp.array3d[wp.int64],
):
    """Copy a row into the ring: its four tensors side by side into `numbers`, where in which episode into `places`.

    Each row counts the steps itself, so that no row waits for another.
    """
    row = wp.tid()
    slot = wp.int32(count[row] % wp.int64(numbers.shape[0]))
    count[row] = count[row] + wp.int64(1)
    places[slot, row, 0] = wp.int64(episode[row])
    places[slot, row, 1] = steps[row]
    joints = joint_pos.shape[1]
    for i in range(joints):
        numbers[slot, row, i] = joint_pos[row, i]
        numbers[slot, row, joints + i] = joint_vel[row, i]
        numbers[slot, row, 2 * joints + i] = control[row, i]
    for i in range(actions.shape[1]):
        numbers[slot, row, 3 * joints + i] = actions[row, i]
