# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types, of its own kind.
"""What the NaN guard adds to a step: one kernel that remembers it."""

import warp as wp


@wp.func
def copy_row(
    tensor: wp.array2d[wp.float32], row: wp.int32, slot: wp.int32, column: wp.int32, numbers: wp.array3d[wp.float32]
):
    """Copy a row of a tensor, from `column` on; returns the column behind it."""
    for i in range(tensor.shape[1]):
        numbers[slot, row, column + i] = tensor[row, i]
    return column + tensor.shape[1]


@wp.kernel(enable_backward=False)
def remember(
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    root_pose: wp.array2d[wp.float32],
    root_vel: wp.array2d[wp.float32],
    actions: wp.array2d[wp.float32],
    control: wp.array2d[wp.float32],
    steps: wp.array[wp.int64],
    episode: wp.array[wp.int32],
    count: wp.array[wp.int64],
    numbers: wp.array3d[wp.float32],
    places: wp.array3d[wp.int64],
):
    """Copy a row into the ring: its tensors side by side into `numbers`, where in which episode into `places`.

    Of a robot that does not float, the root's state has no columns.
    Each row counts the steps itself, so that no row waits for another.
    """
    row = wp.tid()
    slot = wp.int32(count[row] % wp.int64(numbers.shape[0]))
    count[row] = count[row] + wp.int64(1)
    places[slot, row, 0] = wp.int64(episode[row])
    places[slot, row, 1] = steps[row]
    column = copy_row(joint_pos, row, slot, 0, numbers)
    column = copy_row(joint_vel, row, slot, column, numbers)
    column = copy_row(root_pose, row, slot, column, numbers)
    column = copy_row(root_vel, row, slot, column, numbers)
    column = copy_row(control, row, slot, column, numbers)
    column = copy_row(actions, row, slot, column, numbers)
