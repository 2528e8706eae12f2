"""What a solver of Newton's reports of its rows, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..base import name_rows
from ..scene import SceneSpec
from . import kernels

UNSOLVED = "no_convergence"
"""Name in the catalogue of what more iterations help against; the other warnings are for want of room."""


class FaultBit(NamedTuple):
    """A silent failure of a solver.

    Attributes:
        warning: Its name in the catalogue.
        said: The solver's own word for it.
    """

    warning: str
    said: str


def describe(
    engine: str,
    bits: np.ndarray,
    known: Mapping[int, FaultBit],
    spec: SceneSpec,
    convergence_settings: Sequence[str],
    first_row: int = 0,
) -> str:
    """What failed, in which rows, and the settings that help.

    Args:
        engine: Name of the engine.
        bits: int `[N]`, what is wrong in each row.
        known: What the solver's own bits mean.
        spec: The scene, for its capacities.
        convergence_settings: The engine's settings that decide when its solver stops.
        first_row: Number of the first row.
    """
    rows = (bits.nonzero()[0] + first_row).tolist()
    if not rows:
        return f"{engine} is sound"
    found = int(np.bitwise_or.reduce(bits))
    seen = [fault for bit, fault in sorted(known.items()) if found >> bit & 1]
    said = [fault.said for fault in seen] + (["non-finite joint state"] if found & int(kernels.NONFINITE) else [])
    names = sorted({fault.warning for fault in seen})
    help_with = []
    if set(names) - {UNSOLVED}:
        room = f"max_contacts={spec.max_contacts}, max_constraints={spec.max_constraints}"
        help_with.append(f"give the task's scene more room (per row: {room})")
    if UNSOLVED in names:
        help_with.append(f"raise {' or '.join(f'physics.{name}' for name in convergence_settings)}")
    if names:
        help_with.append(f"to run all the same, set physics.allow=[{','.join(names)}]")
    return "; ".join([f"{engine}: {', '.join(said)} in {name_rows(rows)}", *help_with])
