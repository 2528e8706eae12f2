# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""What `newton_mjwarp` launches around the solver, and the names of the solver's silent failures."""

from typing import Any

import warp as wp

NONFINITE = wp.constant(1 << 30)
"""Our own bit beside those of MuJoCo Warp (0-15) and Newton (16-17): a joint coordinate or velocity of the row."""


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def write_efforts(efforts: wp.array2d[wp.float32], columns: wp.array[wp.int32], joint_f: wp.array2d[wp.float32]):  # type: ignore[no-untyped-def]
    """Task order to engine order; `columns` holds the task's column of each engine joint."""
    row = wp.tid()
    for joint in range(columns.shape[0]):
        joint_f[row, joint] = efforts[row, columns[joint]]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def write_rows(  # type: ignore[no-untyped-def]
    mask: wp.array[wp.bool],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
    columns: wp.array[wp.int32],
    world_mask: wp.array[wp.bool],
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
):
    """Joint states of the masked rows, task order to engine order, and the mask Newton's reset wants."""
    row = wp.tid()
    world_mask[row] = mask[row]
    if mask[row]:
        for joint in range(columns.shape[0]):
            joint_q[row, joint] = joint_pos[row, columns[joint]]
            joint_qd[row, joint] = joint_vel[row, columns[joint]]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def read_joints(  # type: ignore[no-untyped-def]
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
    columns: wp.array[wp.int32],
    joint_pos: wp.array2d[wp.float32],
    joint_vel: wp.array2d[wp.float32],
):
    """Engine order to task order."""
    row = wp.tid()
    for joint in range(columns.shape[0]):
        joint_pos[row, columns[joint]] = joint_q[row, joint]
        joint_vel[row, columns[joint]] = joint_qd[row, joint]


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def latch_faults(  # type: ignore[no-untyped-def]
    overflow: wp.array[wp.int32],
    joint_q: wp.array2d[wp.float32],
    joint_qd: wp.array2d[wp.float32],
    row_faults: wp.array[wp.int32],
    fault: wp.array[wp.float32],
):
    """Collect what went wrong in each row in the substep just taken; nothing is ever cleared.

    Newton clears its overflow bits at the start of every substep, so they are gathered after each one. All rows that
    fail write the same 1.0 into `fault`: no atomic is needed.
    """
    row = wp.tid()
    bits = overflow[row]
    verdict = wp.float32(0.0)
    for i in range(joint_q.shape[1]):
        verdict += 0.0 * joint_q[row, i] + 0.0 * joint_qd[row, i]  # a number that is not finite makes it NaN
    if not wp.isfinite(verdict):
        bits = bits | NONFINITE
    if bits != 0:
        row_faults[row] = row_faults[row] | bits
        fault[0] = 1.0


def fault_names(bits: int, enums: tuple[Any, ...]) -> list[str]:
    """Names of the bits set, from the engine's own flag enumerations.

    Args:
        bits: Latched bits.
        enums: `IntFlag` classes of the engine.
    """
    known = {int(flag): f"{name} overflow" for enum in enums for name, flag in enum.__members__.items()}
    known[int(NONFINITE)] = "non-finite joint state"
    return [known.get(1 << i, f"bit {i}") for i in range(31) if bits >> i & 1]
