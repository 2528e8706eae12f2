"""How far two engines are apart, and why, in exact numbers."""

import dataclasses
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from benchmark_app.launch.equivalence_summary import equivalence_lines
from benchmark_app.workflows.equivalence.actions import ACTION_SETS, open_loop_actions
from benchmark_app.workflows.equivalence.divergence import compare_traces, distances, judge
from benchmark_app.workflows.equivalence.plot import draw
from benchmark_app.workflows.equivalence.rollout import PERTURBATION, Rollout, Trace

DT = 0.1
T = 20
RAMP = np.arange(T + 1.0)[:, None]  # grows by one each step, the same in every row
NEVER = np.full(4, T)


def judged(divergence, at_half_step, *, rounding=1e-6 * RAMP, rounding_at_half_step=0 * RAMP, ended=NEVER):
    curves = {
        "divergence": divergence,
        "divergence_at_half_step": at_half_step,
        "rounding": rounding,
        "rounding_at_half_step": rounding_at_half_step,
        "step_error_reference": 0.02 * RAMP,
        "step_error_physics": 0.03 * RAMP,
    }
    rows = len(ended)
    return judge(
        {name: np.broadcast_to(curve, (T + 1, rows)) for name, curve in curves.items()},
        ended,
        control_dt=DT,
        tolerance=0.055,
    )


def test_the_horizon_is_when_the_median_row_exceeds_the_tolerance_and_the_first_row_is_earlier():
    divergence = RAMP * np.array([0.005, 0.01, 0.01, 0.03])
    found = judged(divergence, 0.5 * divergence)
    assert found["horizon_s"] == pytest.approx(0.6)  # 0.01 a step: above 0.055 at the sixth
    assert found["first_row_s"] == pytest.approx(0.2)
    assert found["judged_s"] == found["horizon_s"]
    assert found["divergence"] == pytest.approx(0.06)
    assert found["step_error_reference"] == pytest.approx(0.12)
    assert found["step_error_physics"] == pytest.approx(0.18)
    assert found["compared_s"] == pytest.approx(T * DT)
    assert found["curves"]["divergence_maximum"][:3] == [0.0, 0.03, 0.06]
    assert found["curves"]["divergence_median"][:3] == [0.0, 0.01, 0.02]


@pytest.mark.parametrize(
    ("left", "verdict"),
    [(0.25, "step"), (0.5, "step"), (0.74, "step"), (0.76, "model"), (1.0, "model"), (2.0, "model")],
)
def test_a_difference_that_halving_the_step_leaves_is_one_of_models(left, verdict):
    found = judged(0.01 * RAMP, left * 0.01 * RAMP)
    assert found["verdict"] == verdict
    assert found["left_at_half_step"] == pytest.approx(left)


def test_a_difference_no_larger_than_what_a_tiny_perturbation_grows_to_is_rounding():
    assert judged(1e-6 * RAMP, 1e-6 * RAMP)["verdict"] == "rounding"
    assert judged(0.0011 * RAMP, 0.0011 * RAMP, rounding=0.001 * RAMP)["verdict"] == "model"


def test_a_difference_far_below_the_step_errors_of_both_is_none_of_models():
    # Errors of two integrators may cancel at one step and not at half of it.
    assert judged(0.0009 * RAMP, 0.0009 * RAMP)["verdict"] == "step"  # a twentieth of 0.02 is 0.001
    assert judged(0.0011 * RAMP, 0.0011 * RAMP)["verdict"] == "model"


def test_what_rounding_does_at_half_the_step_is_no_sign_of_another_model():
    divergence, left = 0.01 * RAMP, 0.009 * RAMP
    assert judged(divergence, left, rounding_at_half_step=0.001 * RAMP)["verdict"] == "model"
    assert judged(divergence, left, rounding_at_half_step=0.002 * RAMP)["verdict"] == "step"


def test_no_difference_at_all_is_identical_and_has_no_horizon():
    found = judged(0 * RAMP, 0 * RAMP)
    assert found["verdict"] == "identical"
    assert found["horizon_s"] is None
    assert found["first_row_s"] is None
    assert found["left_at_half_step"] is None


def test_a_row_counts_until_its_episode_ends_and_the_comparison_while_half_of_the_rows_do():
    divergence = np.where(RAMP > 5, 99.0, 0.001 * RAMP) * np.array([1, 0, 0, 0]) + 0.001 * RAMP * np.array([0, 1, 1, 1])
    found = judged(divergence, divergence, ended=np.array([5, 12, 9, 20]))
    assert found["first_row_s"] is None  # what the first row does after its end is not looked at
    assert found["compared_s"] == pytest.approx(12 * DT)
    assert found["curves"]["rows_counting"] == [4] * 6 + [3] * 4 + [2] * 3
    assert len(found["curves"]["divergence_median"]) == 13


def rollout(joint_pos, ended=None, root_pose=None):
    joint_pos = np.asarray(joint_pos, dtype=np.float32)
    steps, rows = joint_pos.shape[0] - 1, joint_pos.shape[1]
    return Rollout(joint_pos=joint_pos, root_pose=root_pose, ended=np.full(rows, steps) if ended is None else ended)


def test_the_distance_of_two_roots_is_that_of_their_positions_and_the_angle_between_them():
    def pose(angle, sign=1.0):
        quaternion = sign * np.array([0, np.sin(angle / 2), 0, np.cos(angle / 2)])
        return np.tile(np.concatenate([[0.0, 3.0, angle], quaternion]), (1, 2, 1)).astype(np.float32)

    one = rollout(np.zeros((1, 2, 1)), root_pose=pose(0.0))
    for angle in (0.25, 3.0, 1e-5):
        for sign in (1.0, -1.0):  # a quaternion and its negative are the same orientation
            other = rollout(np.ones((1, 2, 1)), root_pose=pose(angle, sign))
            assert distances(one, other, ["m"])[0, 0] == pytest.approx([1.0, angle, angle], rel=1e-3)


def test_angles_are_compared_up_to_whole_turns_which_are_told_and_lengths_are_not():
    far = pendulum_like(1.0)
    far[8:, :2, :] += 4 * np.pi  # the first two rows of both joints, two turns on
    found = compared(1.0, 1.0, 1.0, 1.0, other_joint_pos=far)
    slider, hinge = found["joints"]
    assert hinge["rows_whole_turns_apart"] == 2
    assert hinge["horizon_s"] is None
    assert max(each["curves"]["divergence_maximum"][-1] for each in hinge["action_sets"].values()) < 1e-5
    assert slider["rows_whole_turns_apart"] == 0
    assert slider["first_row_s"] == pytest.approx(0.8)


def pendulum_like(slope, rows=6):
    """Joint positions that grow by `slope` each step: a slider, and a hinge that never moves."""
    moving = np.broadcast_to(slope * RAMP, (T + 1, rows))
    return np.stack([moving, np.zeros_like(moving)], axis=-1)


def trace(slope, ended=None):
    nominal = rollout(pendulum_like(slope), ended)
    return Trace(
        joints=("slider", "hinge"),
        units=("m", "rad"),
        actions=np.zeros((T, 6, 1), dtype=np.float32),
        nominal=nominal,
        perturbed=rollout(nominal.joint_pos + PERTURBATION, ended),
    )


def compared(*slopes, other_joint_pos=None):
    traces = [trace(slope) for slope in slopes]
    if other_joint_pos is not None:
        traces[2] = dataclasses.replace(traces[2], nominal=rollout(other_joint_pos))
    return compare_traces(*traces, control_dt=DT, tolerance={"rad": 0.01, "m": 0.05})


def test_traces_are_compared_joint_by_joint_with_the_tolerance_of_each_unit():
    found = compared(1.0, 1.01, 1.02, 1.02)
    slider, hinge = found["joints"]
    assert (slider["name"], slider["unit"], slider["tolerance"]) == ("slider", "m", 0.05)
    assert slider["horizon_s"] == pytest.approx(0.3)
    assert slider["verdict"] == found["verdict"] == "step"
    assert set(slider["action_sets"]) == set(ACTION_SETS)
    assert [each["rows"] for each in slider["action_sets"].values()] == [2, 2, 2]
    assert hinge["tolerance"] == 0.01
    assert hinge["verdict"] == "identical"
    assert hinge["horizon_s"] is None
    assert found["initial_difference"] == 0.0
    json.dumps(found, allow_nan=False)


def test_the_worst_joint_decides_the_verdict():
    assert compared(1.0, 1.0, 1.0, 1.0)["verdict"] == "identical"
    assert compared(1.0, 1.0, 1.02, 1.02)["verdict"] == "model"


def test_a_trace_survives_its_file(tmp_path):
    path = tmp_path / "equivalence" / "reference.npz"
    before = trace(1.5, ended=np.arange(6))
    before.save(path)
    after = Trace.load(path)
    assert (after.joints, after.units) == (before.joints, before.units)
    np.testing.assert_array_equal(after.nominal.ended, np.arange(6))
    np.testing.assert_array_equal(after.perturbed.joint_pos, before.perturbed.joint_pos)
    assert after.nominal.root_pose is None


def test_the_plot_is_svg_with_its_words_as_text_also_where_nothing_differs(tmp_path):
    for slopes in ((1.0, 1.01, 1.02, 1.02), (1.0, 1.0, 1.0, 1.0)):
        draw(
            tmp_path / "plot.svg",
            compared(*slopes),
            trace(slopes[0]),
            trace(slopes[2]),
            names=("a", "b"),
            title="A task",
        )
        words = "".join(ET.parse(tmp_path / "plot.svg").getroot().itertext())
        for word in ("A task", "slider", "hinge: identical", "tolerance", "step error of b"):
            assert word in words


def actions(**changes):
    settings = {"steps": 60, "num_envs": 6, "num_actions": 2, "control_dt": 1 / 60, "amplitude": 0.1}
    return open_loop_actions(7, **settings | changes)


def test_each_row_is_driven_with_one_set_of_actions():
    drawn = actions()
    assert drawn.dtype == np.float32
    assert np.abs(drawn).max() <= 0.1
    assert (drawn[:, 0::3] == 0).all()  # zero
    held = drawn[:, 1::3]
    assert (held[:15] == held[0]).all()  # a quarter of a second
    assert (held[15] != held[0]).all()
    assert np.unique(np.diff(drawn[:, 2::3], axis=0)).size > 100  # sine: it always moves
    np.testing.assert_array_equal(drawn, actions())


def test_a_shorter_run_is_driven_with_the_first_actions_of_a_longer_one():
    drawn = actions()
    for steps in (1, 15, 31, len(drawn) - 1):
        np.testing.assert_array_equal(actions(steps=steps), drawn[:steps])


def test_the_summary_says_what_differs_and_for_how_long_the_engines_agree(tmp_path):
    written = {
        "comparison": compared(1.0, 1.01, 1.02, 1.02),
        "fact_differences": [{"fact": "joint hinge: damping", "reference": None, "physics": 0.2}],
        "engine_warnings": {"reference.half_step": {"no_convergence": 4}},
    }
    path = tmp_path / "equivalence.json"
    path.write_text(json.dumps(written))
    assert equivalence_lines(path) == [
        "apart by the time step only: the difference shrinks with it",
        "slider: within 0.05 m until 0.30 s (the horizon); step, 0.06 m at 0.30 s, 0.50 of it at half the step",
        "hinge: within 0.01 rad for 2.00 s; identical",
        "facts: 1 differ: joint hinge: damping 0.2 (reference none)",
        "engine warning no_convergence: 4 (reference.half step)",
    ]
