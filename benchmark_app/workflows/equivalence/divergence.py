"""How far apart two engines come, and what that is due to. NumPy only: no engine, no torch.

The comparison rests on three baselines, measured with the same initial states and actions:

- *rounding*: each engine against itself from initial states `PERTURBATION` away, at both steps. What is smaller says
  nothing: it is the robot's own sensitivity, or what a solver that stops at its tolerance leaves.
- *step error*: each engine against itself at half the physics step.
- *both at half the step*: a difference of integrators shrinks with the step (to a half at first order, to a quarter at
  second), a difference of models does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .actions import ACTION_SETS
from .rollout import PERTURBATION, Rollout, Trace

SHRINKS = 0.75
"""Half-way between what halving the step leaves of a first-order integrator's difference (0.5) and of a model's (1)."""

CANCELS = 0.05
"""Share of both engines' own step errors below which what is left says nothing: at that step their terms may cancel."""

VERDICTS = ("identical", "rounding", "step", "model")
"""What a joint's divergence is due to, the most harmless first."""

MAJORITY = 0.5
"""A median is told as long as at least this share of the rows counts: it would be one of survivors afterwards."""


def distances(one: Rollout, other: Rollout, units: Sequence[str]) -> np.ndarray:
    """How far apart two rollouts are at each step.

    Angles are compared up to whole turns: engines that keep an unlimited hinge within some turns are not thereby wrong.

    Args:
        one: N rows over T steps.
        other: As many.
        units: `rad` or `m`, of each joint.

    Returns:
        float64 `[T+1, N, C]`: every joint [rad or m], then for a floating robot the root's position [m] and orientation
        [rad, the angle between the two].
    """
    apart: np.ndarray = np.abs(one.joint_pos.astype(np.float64) - other.joint_pos)
    apart = np.abs(apart - turns(apart, units) * 2 * np.pi)
    if one.root_pose is None or other.root_pose is None:
        return apart
    here, there = one.root_pose.astype(np.float64), other.root_pose.astype(np.float64)
    position = np.linalg.norm(here[..., :3] - there[..., :3], axis=-1)
    p, q = here[..., 3:], there[..., 3:]
    # From the chord, because the arc cosine of a dot product cannot tell small angles.
    chord = np.minimum(np.linalg.norm(p - q, axis=-1), np.linalg.norm(p + q, axis=-1))
    angle = 4 * np.arcsin(np.minimum(chord / 2, 1.0))
    return np.concatenate([apart, position[..., None], angle[..., None]], axis=-1)


def turns(difference: np.ndarray, units: Sequence[str]) -> np.ndarray:
    """Whole turns in differences `[..., D]` of joint positions; 0 for a joint that does not turn."""
    return np.where(np.array(units) == "rad", np.round(difference / (2 * np.pi)), 0.0)


def compare_traces(
    reference: Trace,
    reference_half: Trace,
    other: Trace,
    other_half: Trace,
    *,
    control_dt: float,
    tolerance: dict[str, float],
) -> dict[str, Any]:
    """Compare two engines.

    A row counts until the first end of its episode in any of the rollouts.

    Args:
        reference: Trace of the reference engine.
        reference_half: The same at half the physics step.
        other: Trace of the other engine.
        other_half: The same at half the physics step.
        control_dt: Control step [s].
        tolerance: Largest divergence that is small, by unit, `rad` and `m`.

    Returns:
        The result's `comparison`, plain JSON data.
    """
    traces = (reference, reference_half, other, other_half)
    ended = np.min([rollout.ended for each in traces for rollout in (each.nominal, each.perturbed)], axis=0)
    names, units = [*reference.joints], [*reference.units]

    def apart(one: Rollout, another: Rollout) -> np.ndarray:
        return distances(one, another, reference.units)

    def rounding(one: Trace, another: Trace) -> np.ndarray:
        sides = [apart(engine.nominal, engine.perturbed) for engine in (one, another)]
        larger: np.ndarray = np.maximum(*sides)
        return larger

    curves = {
        "divergence": apart(reference.nominal, other.nominal),
        "divergence_at_half_step": apart(reference_half.nominal, other_half.nominal),
        "rounding": rounding(reference, other),
        "rounding_at_half_step": rounding(reference_half, other_half),
        "step_error_reference": apart(reference.nominal, reference_half.nominal),
        "step_error_physics": apart(other.nominal, other_half.nominal),
    }
    whole = turns(reference.nominal.joint_pos - other.nominal.joint_pos, units) != 0
    rows_turned = (whole & _counting(ended, len(whole))[..., None]).any(axis=0).sum(axis=0).tolist()
    if curves["divergence"].shape[-1] > len(names):
        names, units = [*names, "root position", "root orientation"], [*units, "m", "rad"]
        rows_turned += [0, 0]
    joints: list[dict[str, Any]] = []
    for column, (name, unit) in enumerate(zip(names, units, strict=True)):
        of_joint = {key: value[..., column] for key, value in curves.items()}
        found = _joint(of_joint, ended, control_dt, tolerance[unit])
        joint = {"name": name, "unit": unit, "tolerance": tolerance[unit]}
        joints.append(joint | {"rows_whole_turns_apart": rows_turned[column]} | found)
    return {
        "verdict": _worst(joint["verdict"] for joint in joints),
        "control_dt_s": control_dt,
        "steps": len(reference.actions),
        "perturbation": PERTURBATION,
        "initial_difference": float(curves["divergence"][0].max()),
        "joints": joints,
    }


def _joint(curves: dict[str, np.ndarray], ended: np.ndarray, control_dt: float, tolerance: float) -> dict[str, Any]:
    """Judge one joint in every action set; `curves` are `[T+1, N]`."""
    sets = {}
    for number, name in enumerate(ACTION_SETS):
        rows = {key: value[:, number :: len(ACTION_SETS)] for key, value in curves.items()}
        sets[name] = judge(rows, ended[number :: len(ACTION_SETS)], control_dt=control_dt, tolerance=tolerance)
    return {
        "verdict": _worst(each["verdict"] for each in sets.values()),
        "horizon_s": _earliest(each["horizon_s"] for each in sets.values()),
        "first_row_s": _earliest(each["first_row_s"] for each in sets.values()),
        "compared_s": max(each["compared_s"] for each in sets.values()),
        "action_sets": sets,
    }


def judge(curves: dict[str, np.ndarray], ended: np.ndarray, *, control_dt: float, tolerance: float) -> dict[str, Any]:
    """Judge one joint in the rows of one action set.

    Args:
        curves: `divergence`, `rounding`, the same two `…_at_half_step`, `step_error_reference` and
            `step_error_physics`, each `[T+1, N]`.
        ended: int `[N]`, the last index that counts, per row.
        control_dt: Control step [s].
        tolerance: Divergence that is still small.

    Returns:
        `horizon_s` and `first_row_s`, when the median row and the first row exceed the tolerance (None: never, while
        compared); `judged_s` (the horizon, or the end of the comparison) with the size of every curve up to then, the
        median over rows of each row's largest; `left_at_half_step`, the share of the divergence that halving the steps
        leaves; the verdict; and the curves over time.
    """
    counting = _counting(ended, len(curves["divergence"]))
    last = int(np.flatnonzero(counting.mean(axis=1) >= MAJORITY)[-1])
    counted = {key: np.where(counting, value, np.nan)[: last + 1] for key, value in curves.items()}
    median = {key: np.nanmedian(value, axis=1) for key, value in counted.items()}
    largest = np.nanmax(counted["divergence"], axis=1)
    horizon, first_row = _first_above(median["divergence"], tolerance), _first_above(largest, tolerance)
    at = last if horizon is None else horizon
    still = counting[at]
    size = {key: float(np.median(value[: at + 1, still].max(axis=0))) for key, value in curves.items()}
    left = size["divergence_at_half_step"] / size["divergence"] if size["divergence"] > 0 else None
    if largest.max() == 0.0:
        verdict = "identical"
    elif size["divergence"] <= size["rounding"]:
        verdict = "rounding"
    else:  # what rounding does at half the step is no sign of another model
        kept = size["divergence_at_half_step"] - size["rounding_at_half_step"]
        unsaid = CANCELS * min(size["step_error_reference"], size["step_error_physics"])
        verdict = "step" if kept <= max(SHRINKS * size["divergence"], unsaid) else "model"
    return {
        "verdict": verdict,
        "rows": len(ended),
        "compared_s": last * control_dt,
        "horizon_s": None if horizon is None else horizon * control_dt,
        "first_row_s": None if first_row is None else first_row * control_dt,
        "judged_s": at * control_dt,
        **size,
        "left_at_half_step": left,
        "curves": {
            "rows_counting": counting[: last + 1].sum(axis=1).tolist(),
            "divergence_maximum": _short(largest),
            **{f"{key}_median": _short(value) for key, value in median.items()},
        },
    }


def _counting(ended: np.ndarray, length: int) -> np.ndarray:
    """Which rows count at each step, bool `[length, N]`."""
    counting: np.ndarray = np.arange(length)[:, None] <= ended
    return counting


def _first_above(values: np.ndarray, limit: float) -> int | None:
    above = np.flatnonzero(values > limit)
    return int(above[0]) if len(above) else None


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _worst(verdicts: Iterable[str]) -> str:
    return max(verdicts, key=VERDICTS.index)


def _short(values: np.ndarray) -> list[float]:
    """Numbers with as many digits as a curve needs."""
    return [float(f"{value:.4g}") for value in values.tolist()]
