# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types.
"""Latching of Newton's silent failures inside the recorded graph, and their names."""

from typing import Any

import warp as wp

NONFINITE = 1 << 30
"""Our own bit beside those of MuJoCo Warp (0-15) and Newton (16-17): a joint coordinate or velocity of the row."""


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def latch_faults(
    overflow: wp.array(dtype=wp.int32),  # type: ignore[valid-type]
    joint_q: wp.array2d(dtype=wp.float32),  # type: ignore[valid-type]
    joint_qd: wp.array2d(dtype=wp.float32),  # type: ignore[valid-type]
    row_faults: wp.array(dtype=wp.int32),  # type: ignore[valid-type]
    fault: wp.array(dtype=wp.float32),  # type: ignore[valid-type]
):  # type: ignore[no-untyped-def]
    """Collect what went wrong in each row in the substep just taken; nothing is ever cleared.

    Newton clears its overflow bits at the start of every substep, so they are gathered after each one. All rows that
    fail write the same 1.0 into `fault`: no atomic is needed.
    """
    row = wp.tid()
    bits = overflow[row]
    for i in range(joint_q.shape[1]):
        if not wp.isfinite(joint_q[row, i]):
            bits = bits | wp.static(NONFINITE)
    for i in range(joint_qd.shape[1]):
        if not wp.isfinite(joint_qd[row, i]):
            bits = bits | wp.static(NONFINITE)
    if bits != 0:
        row_faults[row] = row_faults[row] | bits
        fault[0] = 1.0


def fault_names(bits: int, enums: tuple[Any, ...]) -> list[str]:
    """Names of the bits set, from the engine's own flag enumerations.

    Args:
        bits: A row's latched bits.
        enums: `IntFlag` classes of the engine.
    """
    known = {int(flag): f"{flag.name} overflow" for enum in enums for flag in enum}
    known[NONFINITE] = "non-finite joint state"
    return [known.get(1 << i, f"bit {i}") for i in range(32) if bits >> i & 1]
