"""Poses of our contract as the matrices USD takes."""

from __future__ import annotations

import torch


def matrices(poses: torch.Tensor) -> torch.Tensor:
    """Transforms, float64 `[..., 4, 4]`, that multiply rows from the left; the translation is the last row.

    Args:
        poses: Position and quaternion xyzw `[..., 7]`.
    """
    x, y, z, w = poses[..., 3:].double().unbind(-1)
    found = torch.zeros(*poses.shape[:-1], 4, 4, dtype=torch.float64, device=poses.device)
    # Rows are the axes of the frame: the transpose of the matrix that turns columns.
    found[..., 0, 0] = 1 - 2 * (y * y + z * z)
    found[..., 0, 1] = 2 * (x * y + z * w)
    found[..., 0, 2] = 2 * (x * z - y * w)
    found[..., 1, 0] = 2 * (x * y - z * w)
    found[..., 1, 1] = 1 - 2 * (x * x + z * z)
    found[..., 1, 2] = 2 * (y * z + x * w)
    found[..., 2, 0] = 2 * (x * z + y * w)
    found[..., 2, 1] = 2 * (y * z - x * w)
    found[..., 2, 2] = 1 - 2 * (x * x + y * y)
    found[..., 3, :3] = poses[..., :3]
    found[..., 3, 3] = 1.0
    return found
