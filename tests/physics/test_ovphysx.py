"""ovphysx behind our contract."""

import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg, load_env

from benchmark_app.physics import make_backend
from benchmark_app.physics.availability import missing
from benchmark_app.physics.catalogue import ENGINES
from tests.conformance.robots import BALL, BOX, TUMBLER
from tests.conformance.usda import to_usda

pytestmark = [
    pytest.mark.ovphysx,
    pytest.mark.skipif(bool(missing("ovphysx")), reason=f"physics=ovphysx {missing('ovphysx')}"),
]

N = 5
CARTPOLE = load_env().scene(Cfg(), N)


_built = []


@pytest.fixture(autouse=True)
def close_all():
    """Close what a test built: threads cannot be set anew while a stage is attached."""
    yield
    while _built:
        _built.pop().close()


def build(spec=CARTPOLE, **settings):
    _built.append(make_backend("ovphysx", spec, "cpu", **settings))
    return _built[-1]


def efforts(steps, spec=CARTPOLE, seed=0):
    shape = (steps, spec.num_envs, len(spec.joints))
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) - 0.5


def state(backend):
    return torch.cat(list(backend.robot_state.values()), 1).clone()


def run(backend, sequence):
    states = []
    for effort in sequence:
        backend.step(effort)
        states.append(state(backend))
    return torch.stack(states)


def everywhere(backend, *given):
    backend.reset_rows(torch.ones(backend.num_envs, dtype=torch.bool), *given)


def scene_of(robot, folder, **changes):
    """A conformance robot on the floor."""
    path = Path(folder) / f"{robot.name}.usda"
    path.write_text(to_usda(robot))
    fields = {
        "mjcf": "",
        "usd": str(path),
        "joints": tuple(joint.name for joint in robot.joints),
        "links": tuple(link.name for link in robot.links),
        "floating": robot.floating,
        "num_envs": 4,
        "physics_dt": 0.005,
        "decimation": 4,
        "ground": True,
        "floor": None,
        "max_contacts": 8,
        "max_constraints": 32,
        "extent": (2.0, 2.0),
    }
    return replace(CARTPOLE, **(fields | changes))


def standing(spec, height):
    """A state above the floor of every row."""
    pose = torch.tensor([[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0]]).repeat(spec.num_envs, 1)
    joints = torch.zeros(2, spec.num_envs, len(spec.joints))
    return [*joints, pose, torch.zeros(spec.num_envs, 6)]


def test_a_reset_row_is_bitwise_a_fresh_start_and_the_others_do_not_notice():
    sequence = 40.0 * efforts(60)
    used, fresh, undisturbed = build(), build(), build()
    run(used, sequence[:40])
    run(undisturbed, sequence[:40])
    assert torch.equal(state(used), state(undisturbed))
    mask = torch.zeros(N, dtype=torch.bool)
    mask[1] = True
    pos, vel = torch.full((N, 2), 0.4), torch.full((N, 2), -0.1)
    used.reset_rows(mask, pos, vel)
    fresh.reset_rows(mask, pos, vel)
    assert state(used)[1].tolist() == state(fresh)[1].tolist()
    after = run(used, sequence[40:])
    assert torch.equal(after[:, 1], run(fresh, sequence[40:])[:, 1])
    assert torch.equal(after[:, ~mask], run(undisturbed, sequence[40:])[:, ~mask])


def test_a_row_does_not_depend_on_how_many_rows_there_are():
    few, many = build(replace(CARTPOLE, num_envs=1)), build(replace(CARTPOLE, num_envs=8))
    sequence = 80.0 * efforts(30, replace(CARTPOLE, num_envs=1))
    assert torch.equal(run(few, sequence)[:, 0], run(many, sequence.expand(-1, 8, -1))[:, 5])


def test_an_imported_state_continues_bitwise_in_an_engine_with_another_past():
    backend, other = build(), build()
    assert backend.capabilities.exact_state
    run(backend, 80.0 * efforts(70))
    run(other, 80.0 * efforts(13, seed=3))
    other.import_state(backend.export_state())
    assert torch.equal(state(other), state(backend))
    sequence = 80.0 * efforts(100, seed=1)
    assert torch.equal(run(other, sequence), run(backend, sequence))


def test_another_process_computes_bitwise_the_same(tmp_path):
    code = f"""
import torch
from tests.physics.test_ovphysx import build, efforts, run
torch.save(run(build(), 80.0 * efforts(30)), {str(tmp_path / "states.pt")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert torch.equal(run(build(), 80.0 * efforts(30)), torch.load(tmp_path / "states.pt"))


def test_joints_come_in_the_task_order_whatever_the_engine_order():
    given, turned = build(), build(replace(CARTPOLE, joints=("hinge", "slider")))
    assert given.diagnostics()["joint_order_matches"]
    assert not turned.diagnostics()["joint_order_matches"]
    for effort in efforts(5):
        given.step(effort)
        turned.step(effort.flip(1))
        assert torch.equal(given.joint_pos, turned.joint_pos.flip(1))


@pytest.mark.parametrize("solver", ["pgs", "tgs"])
def test_what_a_file_leaves_open_is_nothing_to_physx(tmp_path, solver):
    spec = scene_of(BALL, tmp_path, max_contacts=0, ground=False, gravity=(0.0, 0.0, 0.0))
    path = Path(spec.usd)
    path.write_text(re.sub(r"float physxRigidBody:\w+ = 0|, \"PhysxRigidBodyAPI\"", "", path.read_text()))
    backend = build(spec, solver_type=solver)
    given = standing(spec, 0.0)
    given[3][:, 5] = 150.0
    everywhere(backend, *given)
    run(backend, torch.zeros(100, 4, 0))
    # Unasked, PhysX damps turning by 5 % a second, stops links at 100 rad/s and puts robots at rest to sleep.
    assert backend.root_vel[:, 5].tolist() == pytest.approx([150.0] * 4, rel=1e-4)


def test_a_state_that_is_not_finite_is_a_fault_with_its_row_and_a_whole_reset_heals_it():
    backend, fresh = build(), build()
    effort = torch.zeros(N, 2)
    effort[3, 0] = torch.nan
    backend.step(effort)
    assert backend.fault == 1.0
    assert backend.describe_fault() == "ovphysx: non-finite joint state in row 3"
    backend.clear_fault()
    for engine in (backend, fresh):
        everywhere(engine, torch.full((N, 2), 0.2), torch.zeros(N, 2))
    assert torch.equal(run(backend, efforts(10)), run(fresh, efforts(10)))
    assert backend.fault == 0.0


def test_a_robot_on_the_floor_stands_and_its_environments_keep_apart(tmp_path):
    spec = scene_of(BOX, tmp_path)
    backend = build(spec)
    assert not backend.capabilities.row_independent
    everywhere(backend, *standing(spec, 0.3))
    run(backend, torch.zeros(60, 4, 0))
    assert backend.root_pose[:, 2].tolist() == pytest.approx([0.05] * 4, abs=1e-3)
    assert backend.root_pose[:, :2].abs().max() < 1e-3, "positions are local to each environment"
    assert torch.allclose(backend.link_pose[:, 0], backend.root_pose)
    assert backend.fault == 0.0


def test_friction_is_the_scenes_on_both_sides(tmp_path):
    slid = {}
    for friction in (0.0, 0.1, 0.4):
        spec = scene_of(BOX, tmp_path, friction=friction)
        backend = build(spec)
        pos, vel, pose, _ = standing(spec, 0.05)
        velocity = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]).repeat(4, 1)
        everywhere(backend, pos, vel, pose, velocity)
        run(backend, torch.zeros(10, 4, 0))
        slid[friction] = float(backend.root_vel[0, 0])
    assert slid[0.0] == pytest.approx(1.0, abs=0.01)
    assert slid[0.1] == pytest.approx(1.0 - 0.1 * 9.81 * 0.2, abs=0.03)
    assert slid[0.4] == pytest.approx(1.0 - 0.4 * 9.81 * 0.2, abs=0.05)


def test_a_scene_without_contacts_ignores_the_shapes_of_its_robot(tmp_path):
    backend = build(scene_of(BALL, tmp_path, max_contacts=0, ground=False))
    everywhere(backend, *standing(backend._spec, 0.0))  # all at the same place
    run(backend, torch.zeros(5, 4, 0))
    fallen = backend.root_pose[:, 2]
    assert fallen.unique().numel() == 1
    assert float(fallen[0]) == pytest.approx(-9.81 * 0.1**2 / 2, rel=0.06)
    assert backend.root_pose[:, :2].abs().max() == 0.0, "robots that touched would part"


def test_rows_in_contact_are_reset_while_the_others_go_on_bitwise(tmp_path):
    spec = scene_of(TUMBLER, tmp_path, ground=False)
    used, undisturbed = build(spec), build(spec)
    given = standing(spec, 1.0)
    given[3] += 1.0  # moving and turning
    for backend in (used, undisturbed):
        everywhere(backend, *given)
        run(backend, efforts(10, spec))
    mask = torch.tensor([False, True, False, False])
    used.reset_rows(mask, *given)
    assert torch.allclose(state(used)[1], torch.cat(given, 1)[1], atol=1e-5)
    assert torch.equal(run(used, efforts(10, spec))[:, ~mask], run(undisturbed, efforts(10, spec))[:, ~mask])


def test_a_second_scene_needs_the_threads_of_the_first_and_a_later_one_may_have_others():
    first = build()
    with pytest.raises(ValueError, match="num_threads=1: another scene of this process has 0"):
        build(num_threads=1)
    first.step(torch.zeros(N, 2))


def test_a_file_that_holds_no_articulation_is_refused(tmp_path):
    empty = tmp_path / "empty.usda"
    empty.write_text('#usda 1.0\n(\n    defaultPrim = "thing"\n)\n\ndef Xform "thing"\n{\n}\n')
    with pytest.raises(ValueError, match=r"empty.usda: must hold one articulation, PhysX finds 0"):
        build(replace(CARTPOLE, usd=str(empty)))


def test_the_engine_is_quiet_about_what_is_deprecated_and_its_harmless_lines_are_no_warnings(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build().close()
    said = "".join(capfd.readouterr())
    lines = [
        *said.splitlines(),
        "[Warning] [omni.physx] GPU broadphase requires a CUDA context manager; falling back to ePABP.",
    ]
    for warning in ENGINES["ovphysx"].warnings.values():
        assert not [line for line in lines if warning.pattern and re.search(warning.pattern, line)]


def test_an_inertia_physx_replaces_is_printed_and_recognised(tmp_path, capfd):
    spec = scene_of(BOX, tmp_path)
    path = Path(spec.usd)
    kept = [
        line for line in path.read_text().splitlines() if "diagonalInertia" not in line and "physics:mass" not in line
    ]
    path.write_text("\n".join(line for line in kept if "PhysicsCollisionAPI" not in line) + "\n")
    path.write_text(re.sub(r'def Cube "shape_0" \(\n\s*\)', 'def Cube "shape_0"', path.read_text()))
    build(spec).close()
    said = "".join(capfd.readouterr())
    pattern = ENGINES["ovphysx"].warnings["invalid_inertia"].pattern
    assert re.search(pattern, said), said


def test_diagnostics_are_plain_json_and_closing_twice_is_harmless():
    backend = build(position_iterations=7)
    facts = json.loads(json.dumps(backend.diagnostics()))
    assert facts["ovphysx"].startswith("0.7.")
    assert (facts["position_iterations"], facts["solver_type"], facts["num_envs"]) == (7, "pgs", N)
    assert facts["contacts"] is False
    backend.close()
    backend.close()


def test_a_recorded_environment_equals_one_that_runs_its_hooks_each_step():
    class Unrecorded(load_env()):
        """Cartpole whose hooks run in Python each step: `recordable` is not inherited."""

    envs = [load_env()(Cfg(), build(), N), Unrecorded(Cfg(), build(), N)]
    states = [[env.init_state().obs["policy"]] for env in envs]
    actions = 2.0 * torch.rand(120, N, 1, generator=torch.Generator().manual_seed(0)) - 1.0
    for action in actions:
        for env, seen in zip(envs, states, strict=True):
            seen.append(env.step(action).obs["policy"])
    recorded, plain = (torch.stack(seen) for seen in states)
    assert torch.equal(recorded, plain)
    assert envs[0].drain_episodes().lengths.tolist() == envs[1].drain_episodes().lengths.tolist()
