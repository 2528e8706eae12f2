"""What of a board travels with a step, and in which direction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmark_app.execution.description import Board

from .frames import FrameError

ON_THE_BOARD = ("init", "reset", "import")
"""Commands that leave a state on the board."""
ALWAYS = ("numbers", "reward", "terminated", "truncated", "steps")
MAY_BE_UNFINISHED = ("actions", "metrics")
"""Arrays of a board that need not be finite: what was not measured; and actions, which the environment judges."""


def may_mark(name: str) -> bool:
    """Whether an array need not be finite. What commands carry (`@0`, …) is theirs to judge."""
    return name in MAY_BE_UNFINISHED or name.startswith("@")


def of_a_state(board: Board, *, reporting: bool) -> dict[str, np.ndarray]:
    """The arrays that say what a step gave, and no other."""
    return {name: board[name] for name in _names(board, reporting=reporting)}


def put_on(board: Board, arrays: Mapping[str, np.ndarray], *, reporting: bool) -> None:
    """Write what `of_a_state` gave at the other end on a board of the same kind.

    Raises:
        FrameError: It does not fit the board, which is left as it was.
    """
    if "numbers" not in arrays:
        raise FrameError("numbers: are missing")
    _require_fit(board, "numbers", arrays["numbers"])
    before = board["numbers"].copy()
    board["numbers"][:] = arrays["numbers"]
    names = _names(board, reporting=reporting)
    try:
        if set(names) != set(arrays):
            raise FrameError(f"a step that tells {', '.join(sorted(arrays))} instead of {', '.join(sorted(names))}")
        for name in names:
            _require_fit(board, name, arrays[name])
    except FrameError:
        board["numbers"][:] = before
        raise
    for name in names:
        np.copyto(board[name], arrays[name])


def _names(board: Board, *, reporting: bool) -> list[str]:
    names = [*ALWAYS, *(name for name in board.arrays if name.startswith("obs."))]
    if board.number("has_final"):
        names += ["final_mask", *(name for name in board.arrays if name.startswith("final."))]
    if board.number("has_frozen"):
        names.append("frozen")
    if board.number("has_success"):
        names.append("is_success")
    if reporting:
        names += ["metrics", "reward_terms"]
    return names


def _require_fit(board: Board, name: str, found: np.ndarray) -> None:
    if found.shape != board[name].shape or found.dtype != board[name].dtype:
        wanted = f"{board[name].dtype} {list(board[name].shape)}"
        raise FrameError(f"{name}: {found.dtype} {list(found.shape)} instead of {wanted}")
