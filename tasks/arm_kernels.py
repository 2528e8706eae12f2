# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""What tasks with an arm have in common: how actions move the targets of its joints, and what holding still is."""

import warp as wp


@wp.func
def clamped(value: wp.float32, lower: wp.float32, upper: wp.float32):
    """A number within its limits. NaN stays NaN: the environment must see it."""
    if value > upper:
        return upper
    if value < lower:
        return lower
    return value


@wp.func
def point2(points: wp.array2d[wp.float32], row: wp.int32):
    """A row of `[N, 2]` as a vector."""
    return wp.vec2f(points[row, 0], points[row, 1])


@wp.func
def point3(points: wp.array2d[wp.float32], row: wp.int32):
    """A row of `[N, 3]` as a vector."""
    return wp.vec3f(points[row, 0], points[row, 1], points[row, 2])


@wp.func
def squared_change(action: wp.array2d[wp.float32], previous: wp.array2d[wp.float32], row: wp.int32):
    """How much the action of a row changed since the last step, squared and summed."""
    change = wp.float32(0.0)
    for joint in range(action.shape[1]):
        difference = action[row, joint] - previous[row, joint]
        change += difference * difference
    return change


@wp.func
def count_held(
    near: wp.bool,
    steps: wp.array[wp.int64],
    max_steps: wp.int64,
    needed: wp.int32,
    held: wp.array[wp.int32],
    success_step: wp.array[wp.int32],
    row: wp.int32,
):
    """Count the steps in a row on target, and remember the first step (from 1) at which they were as many as needed.

    A row whose time was up before this step is frozen: it counts no further.
    """
    if steps[row] < max_steps:
        held[row] = wp.where(near, held[row] + 1, 0)
        if held[row] >= needed and success_step[row] == 0:
            success_step[row] = wp.int32(steps[row]) + 1


@wp.kernel(enable_backward=False)
def move_targets(
    actions: wp.array2d[wp.float32],
    step: wp.float32,
    limits: wp.array2d[wp.float32],
    action: wp.array2d[wp.float32],
    previous: wp.array2d[wp.float32],
    setpoint: wp.array2d[wp.float32],
    control: wp.array2d[wp.float32],
):
    """Clamp the actions, remember them and those before, and move the targets of the first joints by up to `step`."""
    row = wp.tid()
    for joint in range(actions.shape[1]):
        previous[row, joint] = action[row, joint]
        action[row, joint] = clamped(actions[row, joint], -1.0, 1.0)
        moved = setpoint[row, joint] + step * action[row, joint]
        setpoint[row, joint] = clamped(moved, limits[joint, 0], limits[joint, 1])
        control[row, joint] = setpoint[row, joint]
