"""Learning curves of a group: its seeds against environment steps and against seconds, thinned for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmark_app.analysis.learning import Curve, curve_of, efficiency_curve

POINTS = 80  # of a curve across seeds
SEED_POINTS = 60  # of the thin line of a single seed
_RESAMPLES = 400  # of the interval: two more digits than can be seen in a chart

# Field of a curve → its name on the page, and on the axis.
CURVES = {"returns": ("Return", "episode return"), "success": ("Success", "success rate")}
AXES = ("steps", "seconds")

Drawn = dict[str, Any]


def read_curve(bundle: dict[str, Any], ends: Sequence[float]) -> Curve | None:
    """The curve of one training; None where its bundle keeps no series.

    Args:
        bundle: A training bundle.
        ends: Seconds of training until the end of each iteration, from the journal. Without them every iteration
            counts as equally long.
    """
    curve = curve_of(bundle)
    if curve is None or len(ends) != bundle["runtime"]["iterations_completed"]:
        return curve
    return replace(curve, seconds=tuple(ends[-len(curve.returns) :]))


def draw_curves(curves: Sequence[Curve]) -> dict[str, Drawn]:
    """A group's curves as the page draws them.

    Across seeds: the interquartile mean with a bootstrap interval, at evenly spaced places as far as all seeds go.
    Single seeds are thinned to measured values and go to their own ends.

    Args:
        curves: One per seed.

    Returns:
        Field → `seeds`, and for each axis `points` (x, centre, low, high, seeds) and `lines` (x, value) of every seed.
    """
    drawn: dict[str, Drawn] = {}
    for name in CURVES:
        having = [curve for curve in curves if getattr(curve, name) is not None]
        if having:
            drawn[name] = {"seeds": len(having)} | {axis: _against(having, axis, name) for axis in AXES}
    return drawn


def _against(curves: Sequence[Curve], axis: str, name: str) -> Drawn:
    runs = [(getattr(curve, axis), getattr(curve, name)) for curve in curves]
    lines = [_thin(list(zip(x, y, strict=True)), SEED_POINTS) for x, y in runs]
    if max(x[0] for x, _ in runs) > min(x[-1] for x, _ in runs):
        return {"points": [], "lines": lines}
    band = efficiency_curve(runs, points=min(POINTS, max(len(x) for x, _ in runs)), resamples=_RESAMPLES)
    single = len(runs) == 1
    points = [
        (x, y, None if single else low, None if single else high, band.runs)
        for x, y, low, high in zip(band.x, band.y, band.low, band.high, strict=True)
    ]
    return {"points": points, "lines": [] if single else lines}


def _thin(line: list[tuple[float, float]], wanted: int) -> list[tuple[float, float]]:
    """Evenly spaced points of a line, the first and the last among them."""
    if len(line) <= wanted:
        return line
    return [line[round(i * (len(line) - 1) / (wanted - 1))] for i in range(wanted)]
