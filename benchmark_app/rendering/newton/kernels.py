# mypy: disable-error-code="no-untyped-def, untyped-decorator, arg-type, operator, index, misc, call-overload"
# No `from __future__ import annotations` here: Warp reads the annotations of a kernel as types, of its own kind.
"""What is launched around Newton's ray tracer."""

from typing import Any

import warp as wp


@wp.kernel(enable_backward=False)
def choose_worlds(rows: wp.array[wp.bool], untouched: int, worlds: wp.array[wp.int32]):
    """Of each view, the world it shows: its row's, or `untouched`, which leaves its picture as it is."""
    row = wp.tid()
    if rows[row]:
        worlds[row] = row
    else:
        worlds[row] = untouched


@wp.kernel(enable_backward=False)
def gather(rows: wp.array[wp.bool], found: wp.array[wp.int32], worlds: wp.array[wp.int32]):
    """Write the rows chosen one after the other, in no certain order, as far as there is room; `found` counts them."""
    row = wp.tid()
    if rows[row]:
        place = wp.atomic_add(found, 0, 1)
        if place < worlds.shape[0]:
            worlds[place] = row


@wp.kernel(enable_backward=False)
def place_again(transforms: wp.array[wp.transformf], worlds: wp.array[wp.int32], chosen: wp.array[wp.transformf]):
    """The cameras of the worlds chosen."""
    view = wp.tid()
    chosen[view] = transforms[worlds[view]]


@wp.kernel(enable_backward=False)
def scatter(pictures: wp.array3d[wp.uint32], worlds: wp.array[wp.int32], into: wp.array3d[wp.uint32]):
    """Put the pictures of the worlds chosen, four bytes a pixel, where those of all worlds are."""
    view, row, column = wp.tid()
    into[worlds[view], row, column] = pictures[view, row, column]


@wp.kernel(enable_backward=False)
def follow(
    body_q: wp.array2d[wp.transformf],
    body: int,
    mounted: wp.transformf,
    turns: bool,
    transforms: wp.array[wp.transformf],
):
    """Where a camera mounted on a body is, in each world; if it `turns`, with the body, otherwise only beside it."""
    row = wp.tid()
    pose = body_q[row, body]
    if not turns:
        pose = wp.transformf(wp.transform_get_translation(pose), wp.quat_identity())
    transforms[row] = pose * mounted


def launch(kernel: Any, dim: Any, inputs: list[Any], output: Any) -> None:
    """Launch a kernel on the device of its output."""
    wp.launch(kernel, dim=dim, inputs=inputs, outputs=[output], device=output.device)
