"""How far an engine may be from the truth: as far as its integrator errs, which half the step makes half as much."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

EPSILON = float(np.finfo(np.float32).eps)
LESS = 0.65
"""An error of first order halves; the margin is for its higher orders and for rounding."""


def noise(seconds: float, dt: float, scale: float, left: float = 0.0) -> float:
    """What every step may add, all to one side: the epsilon of a float32 of this size, and what a solver left.

    `left` is the solver's own tolerance of speeds (`Sim.tolerance`) times what makes it a number of this kind.
    """
    return EPSILON * scale * (seconds / dt + 4) + left * seconds / dt


def assert_shrinks(deviation: Callable[[float], float], dt: float, *, noise: float, bound: float) -> None:
    """A deviation is the integrator's error: within `bound` at `dt`, and about half at half the step or only noise.

    Terms of an error may cancel at one step, so that half of it seems worse. They do not at the next half.
    """
    coarse, fine = deviation(dt), deviation(dt / 2)
    assert max(coarse, fine) <= bound, f"deviates by {coarse:.3g} at a step of {dt:.3g} s, more than {bound:.3g}"
    if fine <= max(LESS * coarse, noise):
        return
    finest = deviation(dt / 4)
    assert finest <= max(LESS * fine, noise), (
        f"deviates by {coarse:.3g}, {fine:.3g}, {finest:.3g} at steps of {dt:.3g} s, half and a quarter of it: "
        f"no error of the integrator (noise would be {noise:.3g})"
    )
