# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# No `from __future__ import annotations` here: Warp reads the annotations of a function as types.
"""What a control becomes at a physics step: our own arithmetic, the same in every engine's kernels."""

import warp as wp


@wp.func
def limited(effort: wp.float32, limit: wp.float32):
    """Saturate an effort [N or N·m]; one that is no number stays none."""
    if effort > limit:
        return limit
    if effort < -limit:
        return -limit
    return effort


@wp.func
def pd_effort(error: wp.float32, velocity: wp.float32, stiffness: wp.float32, damping: wp.float32, limit: wp.float32):
    """The law of `scene.PDActuator`; `error` is target less position [rad or m]."""
    return limited(stiffness * error - damping * velocity, limit)
