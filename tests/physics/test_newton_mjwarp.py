"""Newton's MuJoCo Warp solver behind our contract."""

import json
import re
from dataclasses import replace
from pathlib import Path

import mujoco
import newton
import pytest
import torch
import warp as wp
from benchmark_app.tasks.cartpole import Cfg, load_env
from newton.solvers import SolverMuJoCo

from benchmark_app.physics import make_backend
from benchmark_app.physics.newton.mjwarp import INTEGRATION_STATE
from benchmark_app.physics.scene import SceneSpec

pytestmark = pytest.mark.engine

N = 5
CARTPOLE = load_env().scene(Cfg(), N)
FALLING = SceneSpec(
    mjcf=str(Path(__file__).parent / "falling.xml"),
    joints=("lift",),
    num_envs=3,
    physics_dt=0.005,
    decimation=4,
    ground=True,
    max_contacts=8,
    max_constraints=24,
)


def build(spec=CARTPOLE, **settings):
    return make_backend("newton_mjwarp", spec, "cpu", **settings)


def efforts(steps, spec=CARTPOLE, seed=0):
    shape = (steps, spec.num_envs, len(spec.joints))
    return 80.0 * (torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) - 0.5)


def joints(backend):
    return torch.cat((backend.joint_pos, backend.joint_vel), 1).clone()


def run(backend, sequence):
    states = []
    for effort in sequence:
        backend.step(effort)
        states.append(joints(backend))
    return torch.stack(states)


def everywhere(backend, pos, vel):
    shape = backend.joint_pos.shape
    backend.reset_rows(torch.ones(shape[0], dtype=torch.bool), torch.full(shape, pos), torch.full(shape, vel))


def test_the_recorded_graph_equals_eager_solver_calls_bitwise():
    backend = build()
    everywhere(backend, 0.3, -0.2)
    robot = newton.ModelBuilder()
    SolverMuJoCo.register_custom_attributes(robot)
    robot.add_mjcf(CARTPOLE.mjcf)
    scene = newton.ModelBuilder()
    scene.replicate(robot, N)
    model = scene.finalize(device="cpu")
    solver = SolverMuJoCo(model, integrator="implicitfast", njmax=2, nconmax=1, disable_contacts=True)
    state, control = model.state(), model.control()
    wp.to_torch(state.joint_q).fill_(0.3)
    wp.to_torch(state.joint_qd).fill_(-0.2)
    for effort in efforts(40):
        backend.step(effort)
        wp.to_torch(control.joint_f).copy_(effort.flatten())
        for _ in range(CARTPOLE.decimation):
            solver.step(state, state, control, None, CARTPOLE.physics_dt)
        assert torch.equal(backend.joint_pos.flatten(), wp.to_torch(state.joint_q))
        assert torch.equal(backend.joint_vel.flatten(), wp.to_torch(state.joint_qd))


@pytest.mark.parametrize(
    ("spec", "start"),
    [
        pytest.param(CARTPOLE, (0.4, -0.1), id="cartpole"),
        pytest.param(FALLING, (-0.901, -0.1), id="in_contact"),  # where the solver's warm start would leak
    ],
)
def test_a_reset_row_is_bitwise_a_fresh_start_and_the_others_do_not_notice(spec, start):
    sequence = efforts(60, spec)
    used, fresh, undisturbed = build(spec), build(spec), build(spec)
    run(used, sequence[:40])
    run(undisturbed, sequence[:40])
    assert torch.equal(joints(used), joints(undisturbed))
    mask = torch.zeros(spec.num_envs, dtype=torch.bool)
    mask[1] = True
    pos, vel = (torch.full_like(used.joint_pos, value) for value in start)
    used.reset_rows(mask, pos, vel)
    fresh.reset_rows(mask, pos, vel)
    assert joints(used)[1].tolist() == joints(fresh)[1].tolist()
    after = run(used, sequence[40:])
    assert torch.equal(after[:, 1], run(fresh, sequence[40:])[:, 1])
    others = ~mask
    assert torch.equal(after[:, others], run(undisturbed, sequence[40:])[:, others])


def test_the_same_efforts_give_bitwise_the_same_states_and_others_do_not():
    one, two, other = build(), build(), build()
    states = run(one, efforts(30))
    assert torch.equal(states, run(two, efforts(30)))
    assert not torch.equal(states, run(other, efforts(30, seed=1)))


def test_a_row_does_not_depend_on_how_many_rows_there_are():
    few, many = build(replace(CARTPOLE, num_envs=1)), build(replace(CARTPOLE, num_envs=8))
    sequence = efforts(30, replace(CARTPOLE, num_envs=1))
    assert torch.equal(run(few, sequence)[:, 0], run(many, sequence.expand(-1, 8, -1))[:, 5])


def test_joints_come_in_the_task_order_whatever_the_engine_order():
    given, turned = build(), build(replace(CARTPOLE, joints=("hinge", "slider")))
    assert given.diagnostics()["joint_order_matches"]
    assert not turned.diagnostics()["joint_order_matches"]
    mask = torch.tensor([True, False, True, False, False])
    pos, vel = torch.rand(2, N, 2)
    given.reset_rows(mask, pos, vel)
    turned.reset_rows(mask, pos.flip(1), vel.flip(1))
    assert torch.equal(given.joint_pos[mask], pos[mask])
    for effort in efforts(5):
        given.step(effort)
        turned.step(effort.flip(1))
        assert torch.equal(given.joint_pos, turned.joint_pos.flip(1))
        assert torch.equal(given.joint_vel, turned.joint_vel.flip(1))


def test_joint_tensors_are_live_views():
    backend = build()
    before = backend.joint_pos.data_ptr()
    everywhere(backend, 0.25, 0.0)
    backend.step(torch.zeros(N, 2))
    assert backend.joint_pos.data_ptr() == before
    assert backend.joint_pos[0, 1] != 0.25


@pytest.mark.parametrize(
    ("room", "heights", "said"),
    [
        ({"max_contacts": 1}, [2.0, 0.0, 0.0], "overflow in row"),  # the engine pools the rows' room for contacts
        (
            {"max_constraints": 1},
            [2.0, 0.0, 2.0],
            "NEFC overflow in row 1; give the task's scene more room (per row: max_contacts=8, max_constraints=1); ",
        ),
    ],
)
def test_an_overflowing_buffer_is_a_fault_with_its_rows_and_stays(room, heights, said, capfd):
    backend = build(replace(FALLING, **room))
    backend.reset_rows(torch.ones(3, dtype=torch.bool), torch.tensor(heights).unsqueeze(1), torch.zeros(3, 1))
    backend.step(torch.zeros(3, 1))
    assert backend.fault == 0.0
    assert backend.describe_fault() == "newton_mjwarp is sound"
    for _ in range(30):
        backend.step(torch.zeros(3, 1))
    assert backend.joint_pos[0, 0] > 0.0, "the other rows are still in the air"
    assert backend.fault == 1.0
    assert said in backend.describe_fault()
    assert re.search(r"; to run all the same, set physics\.allow=\[\w+_overflow\]$", backend.describe_fault())
    everywhere(backend, 2.0, 0.0)
    backend.step(torch.zeros(3, 1))
    assert backend.fault == 1.0
    assert "overflow" not in capfd.readouterr().out, "thirty steps would print hundreds of lines"


def test_a_solve_that_does_not_converge_names_the_settings_that_help():
    backend = build(replace(FALLING, max_contacts=8), iterations=1, ls_iterations=1)
    for _ in range(60):
        backend.step(torch.zeros(3, 1))
    said = backend.describe_fault()
    assert said.startswith("newton_mjwarp: no convergence (")
    assert said.endswith(
        "; raise physics.iterations or physics.ls_iterations; to run all the same, set physics.allow=[no_convergence]"
    )


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_the_diagnostics_name_the_cone_of_a_scene_with_contacts_and_none_of_one_without(cone):
    assert build(FALLING, cone=cone).diagnostics()["cone"] == cone
    assert build(CARTPOLE, cone=cone).diagnostics()["cone"] is None


def test_enough_room_is_no_fault_and_the_foot_stands():
    backend = build(FALLING)
    for _ in range(200):
        backend.step(torch.zeros(3, 1))
    assert backend.fault == 0.0
    assert backend.joint_pos.flatten().tolist() == pytest.approx([-0.9] * 3, abs=0.02)


def test_a_nonfinite_joint_state_is_a_fault_with_its_row():
    backend = build()
    effort = torch.zeros(N, 2)
    effort[3, 0] = torch.nan
    backend.step(effort)
    assert backend.fault == 1.0
    assert backend.describe_fault() == "newton_mjwarp: non-finite joint state in row 3"


def test_unknown_joints_and_engines_are_refused_by_name():
    with pytest.raises(ValueError, match=r"names joints \['slider', 'knee'\], the model has \['slider', 'hinge'\]"):
        build(replace(CARTPOLE, joints=("slider", "knee")))
    with pytest.raises(ValueError, match=r"physics=bullet: unknown engine; choose one of .*newton_mjwarp"):
        make_backend("bullet", CARTPOLE, "cpu")


def test_diagnostics_are_plain_json_and_closing_twice_is_harmless():
    backend = build(integrator="euler")
    facts = json.loads(json.dumps(backend.diagnostics()))
    assert facts["integrator"] == "euler"
    assert (facts["nq"], facts["nv"], facts["num_envs"]) == (2, 2, N)
    assert facts["njmax"] == 2
    assert facts["contacts"] is False
    backend.close()
    backend.close()


RAIL_END = (torch.tensor([3.9, 0.3]), torch.tensor([2.0, 0.0]))


def against_the_end_of_the_rail():
    """A state in which the constraint solver works in every row."""
    backend = build()
    pos, vel = (value.expand(N, 2).contiguous() for value in RAIL_END)
    backend.reset_rows(torch.ones(N, dtype=torch.bool), pos, vel)
    run(backend, pushes(20))
    assert (backend._solver.mjw_data.nefc.numpy() == 1).all()
    return backend


def pushes(steps):
    forces = torch.zeros(steps, N, 2)
    forces[..., 0] = torch.linspace(20.0, 400.0, N)
    return forces


@pytest.mark.parametrize("spec", [pytest.param(CARTPOLE, id="cartpole"), pytest.param(FALLING, id="in_contact")])
def test_an_imported_state_continues_bitwise_in_an_engine_with_another_past(spec):
    backend, other = build(spec), build(spec)
    assert backend.capabilities.exact_state
    run(backend, efforts(70, spec))
    run(other, efforts(13, spec, seed=3))
    other.import_state(backend.export_state())
    assert torch.equal(joints(other), joints(backend))
    sequence = efforts(100, spec, seed=1)
    assert torch.equal(run(other, sequence), run(backend, sequence))


def test_an_imported_state_continues_bitwise_while_a_constraint_is_active_and_not_without_its_warm_start():
    backend = against_the_end_of_the_rail()
    exported = backend.export_state()
    assert exported["qacc_warmstart"].any()
    warm, cold = build(), build()
    warm.import_state(exported)
    cold.import_state(exported | {"qacc_warmstart": torch.zeros_like(exported["qacc_warmstart"])})
    assert torch.equal(joints(cold), joints(warm))
    expected = run(backend, pushes(50))
    assert torch.equal(run(warm, pushes(50)), expected)
    assert not torch.equal(run(cold, pushes(50)), expected)


def test_joints_in_another_order_are_imported_too():
    turned = replace(CARTPOLE, joints=("hinge", "slider"))
    backend, other = build(turned), build(turned)
    run(backend, efforts(20, turned))
    other.import_state(backend.export_state())
    assert torch.equal(joints(other), joints(backend))


def test_the_exported_state_is_all_that_mujoco_integrates_from_and_has_a_row_for_every_environment():
    backend = build()
    exported = backend.export_state()
    assert all(len(tensor) == N for tensor in exported.values())
    own = {"joint_q", "joint_qd", "faults"}
    assert exported.keys() - own <= set(INTEGRATION_STATE)
    integrated = sum(tensor[0].numel() for name, tensor in exported.items() if name not in own)
    everything = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    assert integrated == mujoco.mj_stateSize(backend._solver.mj_model, everything)
    assert len(INTEGRATION_STATE) == everything.bit_count() - 1, "all but the state of plugins"


def test_a_cpu_engine_promises_no_receipt():
    backend = build()
    assert not backend.capabilities.completion_receipts
    assert backend.receipt() is None


def test_a_receipt_on_cuda_has_the_reading_stream_wait_for_its_event(monkeypatch):
    class Event:
        def record(self, stream):
            self.stream = stream

    class Stream:
        def __init__(self):
            self.waits = []

        def wait_event(self, event):
            self.waits.append(event)

    current, reading = Stream(), Stream()
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: current)
    backend, other = build(), build()
    for engine in (backend, other):
        engine.capabilities = replace(engine.capabilities, completion_receipts=True)
    first, second = backend.receipt(), backend.receipt()
    assert first.event.stream is current
    assert (first.sequence, second.sequence) == (0, 1)
    assert first.producer_id == second.producer_id != other.receipt().producer_id
    first.wait_before_read(reading)
    second.wait_before_read()
    assert reading.waits == [first.event]
    assert current.waits == [second.event]
    with pytest.raises(RuntimeError, match="version 9"):
        replace(first, version=9).wait_before_read(reading)
