"""The picture of an equivalence run: each joint's trajectories in both engines, and how far they are apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from .actions import ACTION_SETS
from .rollout import Trace

COLOURS = dict(zip(ACTION_SETS, ("#0072B2", "#D55E00", "#009E73"), strict=True))  # told apart by the colour-blind too
GREYS = {"rounding": ":", "step_error_reference": "--", "step_error_physics": "-."}
SMALLEST = 1e-9  # below what float32 resolves of any position: the bottom of the axis


def draw(
    path: Path, comparison: dict[str, Any], reference: Trace, other: Trace, *, names: tuple[str, str], title: str
) -> None:
    """Draw a comparison, as SVG with its text as text.

    Args:
        path: File to write.
        comparison: What `compare_traces` found.
        reference: Trace of the reference engine.
        other: Trace of the other engine.
        names: Their names.
        title: Over the whole picture.
    """
    joints = comparison["joints"]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "benchmark_app", "font.size": 8}):
        figure = Figure(figsize=(10, 1.0 + 2.5 * len(joints)), layout="constrained")
        grid = figure.subplots(len(joints), 2, squeeze=False)
        for row, (axes, joint) in enumerate(zip(grid, joints, strict=True)):
            if row < len(reference.joints):
                _trajectories(axes[0], row, joint, reference, other, comparison["control_dt_s"])
            else:
                axes[0].set_axis_off()  # the root's pose is told by its distance alone
            _divergence(axes[1], joint, comparison["control_dt_s"])
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        figure.suptitle(title)
        figure.legend(handles=_legend(names), loc="outside lower center", ncols=5, frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _trajectories(axes: Axes, column: int, joint: dict[str, Any], reference: Trace, other: Trace, dt: float) -> None:
    """One row of each action set, as far as it counts."""
    ended = np.minimum(reference.nominal.ended, other.nominal.ended)
    for number, (name, colour) in enumerate(COLOURS.items()):
        longest = number + len(ACTION_SETS) * int(np.argmax(ended[number :: len(ACTION_SETS)]))
        time = dt * np.arange(ended[longest] + 1)
        for each, style in ((reference, "-"), (other, "--")):
            axes.plot(
                time, each.nominal.joint_pos[: len(time), longest, column], style, color=colour, lw=1.2,
                label=name, dash_capstyle="round",
            )  # fmt: skip
    axes.set_ylabel(f"{joint['name']} [{joint['unit']}]")


def _divergence(axes: Axes, joint: dict[str, Any], dt: float) -> None:
    """Median and maximum over rows for each action set, the baselines of the first one that reaches far, tolerance."""
    sets = joint["action_sets"]
    for name, colour in COLOURS.items():
        curves = sets[name]["curves"]
        _line(axes, curves["divergence_median"], dt, color=colour, lw=1.4)
        _line(axes, curves["divergence_maximum"], dt, color=colour, lw=0.6)
        _line(axes, curves["divergence_at_half_step_median"], dt, color=colour, lw=1.2, ls=(0, (4, 2)))
        if sets[name]["horizon_s"] is not None:
            axes.axvline(sets[name]["horizon_s"], color=colour, lw=0.8, ls=":")
    longest = max(sets.values(), key=lambda each: each["compared_s"])["curves"]
    for key, style in GREYS.items():
        _line(axes, longest[f"{key}_median"], dt, color="0.55", lw=1.0, ls=style)
    axes.axhline(joint["tolerance"], color="k", lw=0.8)
    axes.set_yscale("log")
    axes.set_ylim(bottom=max(axes.get_ylim()[0], SMALLEST))
    axes.set_ylabel(f"|difference| [{joint['unit']}]")
    axes.set_title(_words(joint), loc="left", fontsize=8)


def _line(axes: Axes, values: list[float], dt: float, **style: Any) -> None:
    shown = np.array(values)
    axes.plot(dt * np.arange(len(shown)), np.where(shown > 0, shown, np.nan), **style)


def _words(joint: dict[str, Any]) -> str:
    horizon = joint["horizon_s"]
    where = "within tolerance" if horizon is None else f"horizon {horizon:.2f} s"
    return f"{joint['name']}: {joint['verdict']}, {where}"


def _legend(names: tuple[str, str]) -> list[Line2D]:
    def line(label: str, **style: Any) -> Line2D:
        return Line2D([], [], label=label, **style)

    return [
        *(line(f"actions: {name}", color=colour) for name, colour in COLOURS.items()),
        line(f"left: {names[0]}", color="k", ls="-"),
        line(f"left: {names[1]}", color="k", ls="--"),
        line("median of the rows", color="k", lw=1.4),
        line("largest row", color="k", lw=0.6),
        line("median, both at half the step", color="k", ls=(0, (4, 2))),
        line("rounding (1e-6 perturbed)", color="0.55", ls=GREYS["rounding"]),
        line(f"step error of {names[0]}", color="0.55", ls=GREYS["step_error_reference"]),
        line(f"step error of {names[1]}", color="0.55", ls=GREYS["step_error_physics"]),
        line("tolerance", color="k", lw=0.8),
        line("horizon", color="k", lw=0.8, ls=":"),
    ]
