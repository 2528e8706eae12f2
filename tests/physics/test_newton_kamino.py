"""Newton's Kamino solver behind our contract: what is peculiar to it."""

import json
import math
from dataclasses import replace

import pytest
import torch

from benchmark_app.physics import make_backend
from benchmark_app.physics.newton.cfg import KaminoCfg

from .test_newton import CARTPOLE, FALLING, N, at_rest, started

pytestmark = pytest.mark.engine


def swing(backend, steps):
    for _ in range(steps):
        backend.step(torch.zeros(N, 2))
    return backend.joint_pos.clone()


@pytest.mark.parametrize("decimation", [1, 2, 3])
def test_tensors_stay_live_whatever_the_number_of_substeps(decimation):
    spec = replace(CARTPOLE, decimation=decimation)
    backend, single = (
        started("newton_kamino", each, at_rest(spec, 0.2)) for each in (spec, replace(spec, decimation=1))
    )
    before = backend.joint_pos
    assert torch.equal(swing(backend, 6), swing(single, 6 * decimation))
    assert backend.joint_pos.data_ptr() == before.data_ptr()


@pytest.mark.parametrize("turns", [0, 3, -3])
def test_whole_turns_of_a_joint_are_kept_over_a_reset_and_counted_on(turns):
    whole = at_rest(CARTPOLE, 0.2)
    whole["joint_pos"][:, 1] += 2 * math.pi * turns
    backend, plain = (
        started("newton_kamino", CARTPOLE, whole),
        started("newton_kamino", CARTPOLE, at_rest(CARTPOLE, 0.2)),
    )
    assert torch.equal(backend.joint_pos, whole["joint_pos"])
    angle = swing(backend, 60)[:, 1] - swing(plain, 60)[:, 1]
    assert angle.tolist() == pytest.approx([2 * math.pi * turns] * N, abs=1e-3)


def test_a_pole_that_goes_over_keeps_counting():
    start = at_rest(CARTPOLE)
    start["joint_vel"][:, 1] = 30.0
    assert (swing(started("newton_kamino", CARTPOLE, start), 60)[:, 1] > 4 * math.pi).all()


def test_a_solve_that_does_not_converge_is_a_fault_unless_allowed():
    for allow in ([], ["no_convergence"]):
        backend = started(
            "newton_kamino", FALLING, at_rest(FALLING, -0.9), max_iterations=1, tolerance=1e-7, allow=allow
        )
        for _ in range(10):
            backend.step(torch.zeros(N, 1))
        assert backend.warning_counts() == {"no_convergence": N}
        assert bool(backend.fault) is not bool(allow)
        said = "newton_kamino is sound"
        if not allow:
            said = (
                f"newton_kamino: no convergence in rows {list(range(N))}; raise physics.max_iterations or "
                "physics.tolerance; to run all the same, set physics.allow=[no_convergence]"
            )
        assert backend.describe_fault() == said


def test_a_nonfinite_effort_is_a_fault_with_its_row():
    backend = started("newton_kamino", CARTPOLE, at_rest(CARTPOLE), allow=["no_convergence"])
    effort = torch.zeros(N, 2)
    effort[1, 0] = torch.nan
    backend.step(effort)
    assert backend.describe_fault() == "newton_kamino: non-finite joint state in row 1"


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dvi", "padmm"])
def test_the_other_dynamics_solvers_swing_the_same_pole(solver):
    found, other = (
        swing(started("newton_kamino", CARTPOLE, at_rest(CARTPOLE, 0.2), dynamics_solver=name), 40)
        for name in ("lox", solver)
    )
    torch.testing.assert_close(found, other, atol=2e-3, rtol=0.0)


def test_diagnostics_are_plain_json_and_closing_twice_is_harmless():
    backend = make_backend("newton_kamino", CARTPOLE, "cpu", max_iterations=33)
    facts = json.loads(json.dumps(backend.diagnostics()))
    assert (facts["dynamics_solver"], facts["solver_iterations"]) == ("lox", 33)
    assert facts["tolerance"] == pytest.approx(1e-4)
    backend.close()
    backend.close()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("dynamics_solver", "mlcp"),
        ("max_iterations", 0),
        ("tolerance", 0.0),
        ("tolerance", math.nan),
        ("allow", ["rain"]),
    ],
)
def test_a_setting_that_cannot_work_is_named(setting, value):
    (problem,) = KaminoCfg(name="newton_kamino", **{setting: value}).problems()
    assert problem.startswith(f"{setting}={value}: ")
    assert KaminoCfg(name="newton_kamino").problems() == []
