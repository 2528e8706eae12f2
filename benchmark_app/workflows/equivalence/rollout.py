"""What one worker process of the workflow leaves: the trajectories of every row, in a file. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PERTURBATION = 1e-6
"""Added to every initial joint position and to the root's position [rad or m]."""


def trace_path(directory: Path, part: str) -> Path:
    """The trace file of a part of the workflow, in a run directory."""
    return directory / "equivalence" / f"{part}.npz"


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """The trajectories of N rows over T control steps.

    Attributes:
        joint_pos: `[T+1, N, D]` [rad or m], the initial state first.
        root_pose: `[T+1, N, 7]`, position [m] and quaternion xyzw; None for a robot fixed to the world.
        ended: int `[N]`, the last index that belongs to the row's episode.
    """

    joint_pos: np.ndarray
    root_pose: np.ndarray | None
    ended: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What one worker process leaves.

    Attributes:
        joints: Their names, D of them.
        units: `rad` or `m` for each.
        actions: `[T, N, A]`.
        nominal: From the task's seeded episodes.
        perturbed: From initial states `PERTURBATION` away.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    actions: np.ndarray
    nominal: Rollout
    perturbed: Rollout

    def save(self, path: Path) -> None:
        """Write it as `.npz`, which a reader needs no pickle for."""
        path.parent.mkdir(exist_ok=True)
        arrays: dict[str, Any] = {"joints": self.joints, "units": self.units, "actions": self.actions}
        for name, rollout in (("nominal", self.nominal), ("perturbed", self.perturbed)):
            kept = {key: value for key, value in vars(rollout).items() if value is not None}
            arrays |= {f"{name}.{key}": value for key, value in kept.items()}
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> Trace:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)

        def rollout(name: str) -> Rollout:
            found = {key: arrays.get(f"{name}.{key}") for key in ("joint_pos", "root_pose", "ended")}
            return Rollout(**found)  # type: ignore[arg-type]  # only root_pose may be absent

        return cls(
            joints=tuple(map(str, arrays["joints"])),
            units=tuple(map(str, arrays["units"])),
            actions=arrays["actions"],
            nominal=rollout("nominal"),
            perturbed=rollout("perturbed"),
        )
