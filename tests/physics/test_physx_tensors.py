"""What PhysX's engines share, on articulations made of plain tensors: no PhysX is needed."""

import math

import pytest
import torch
import warp as wp

from benchmark_app.physics.physx.cfg import OvphysxCfg
from benchmark_app.physics.physx.stage import environment_origins, robot_path, stage_text
from benchmark_app.physics.physx.tensors import PhysxBackend
from benchmark_app.physics.physx.view import Field
from benchmark_app.physics.scene import PDActuator, SceneSpec

from .articulations import COMS, FakeView

N = 3
ENGINE_ORDER = ("knee", "rail", "hip")
JOINTS = ("rail", "hip", "knee")
HALF_TURN = (0.0, 0.0, 1.0, 0.0)  # about z


def scene(**changes):
    fields = {
        "mjcf": "robot.xml",
        "usd": "robot.usda",
        "joints": JOINTS,
        "num_envs": N,
        "physics_dt": 0.5,
        "decimation": 2,
        "max_contacts": 0,
        "max_constraints": 0,
    }
    return SceneSpec(**(fields | changes))


def build(spec=None, view=None, origins=None):
    spec = spec or scene()
    view = view or FakeView(N, ENGINE_ORDER, fixed_base=not spec.floating)
    origins = torch.zeros(N, 3) if origins is None else origins
    return PhysxBackend(spec, torch.device("cpu"), "ovphysx", view, origins), view


def everywhere(backend, **state):
    mask = torch.ones(N, dtype=torch.bool)
    backend.reset_rows(mask, *(state.get(name, tensor.clone()) for name, tensor in backend.robot_state.items()))


def test_a_control_reaches_the_joint_of_its_name_and_state_comes_back_by_name():
    backend, view = build()
    control = torch.tensor([[1.0, 2.0, 3.0]]).expand(N, 3).contiguous()
    backend.step(control)
    assert view.tensors[Field.DOF_EFFORT][0].tolist() == [3.0, 1.0, 2.0]
    assert backend.joint_vel[0].tolist() == [1.0, 2.0, 3.0], "two steps of half a second on unit masses"
    assert backend.joint_pos[0].tolist() == [0.75, 1.5, 2.25]


def test_a_control_step_writes_efforts_once_takes_its_physics_steps_and_reads_once():
    backend, view = build()
    backend.step(torch.zeros(N, 3))
    view.calls.clear()
    backend.step(torch.zeros(N, 3))
    assert view.calls == [
        ("write", Field.DOF_EFFORT),
        ("step", 0.5),
        ("step", 0.5),
        ("read", Field.DOF_POSITION),
        ("read", Field.DOF_VELOCITY),
    ]


def test_efforts_saturate_at_their_joints_limits():
    backend, view = build(scene(effort_limit=(0.5, 10.0, 1.0)))
    backend.step(torch.tensor([[2.0, 2.0, 2.0], [-2.0, -2.0, -2.0], [0.25, 0.25, 0.25]]))
    assert view.tensors[Field.DOF_EFFORT].tolist() == [[1.0, 0.5, 2.0], [-1.0, -0.5, -2.0], [0.25, 0.25, 0.25]]


def test_the_pd_law_acts_at_every_physics_step_on_that_steps_state():
    backend, view = build(scene(actuator=PDActuator(stiffness=(1.0, 0.0, 2.0), damping=(0.5, 0.0, 0.0))))
    backend.step(torch.tensor([[1.0, 5.0, -1.0]]).expand(N, 3).contiguous())
    q = v = 0.0
    for _ in range(2):
        v += 0.5 * (1.0 * (1.0 - q) - 0.5 * v)
        q += 0.5 * v
    assert backend.joint_pos[0, 0].item() == pytest.approx(q)
    assert backend.joint_vel[0, 1].item() == 0.0
    assert backend.joint_vel[0, 2].item() == pytest.approx(-1.0 - 0.5, abs=1e-6)
    assert [call for call in view.calls if call == ("write", Field.DOF_EFFORT)] * 2 == [("write", Field.DOF_EFFORT)] * 4


def test_a_pd_law_saturates_too():
    backend, view = build(scene(actuator=PDActuator(stiffness=(9.0,) * 3, damping=(0.0,) * 3), effort_limit=(1.0,) * 3))
    backend.step(torch.full((N, 3), 5.0))
    assert view.tensors[Field.DOF_EFFORT].unique().tolist() == [1.0]


def test_rows_reset_take_the_state_given_and_the_others_are_not_written():
    backend, view = build()
    before = view.tensors[Field.DOF_POSITION].clone()
    pos, vel = torch.arange(18.0).view(2, N, 3)
    backend.reset_rows(torch.tensor([False, True, False]), pos, vel)
    assert backend.joint_pos[1].tolist() == pos[1].tolist()
    assert backend.joint_vel[1].tolist() == vel[1].tolist()
    assert view.tensors[Field.DOF_POSITION][1].tolist() == [5.0, 3.0, 4.0]
    assert torch.equal(view.tensors[Field.DOF_POSITION][::2], before[::2])
    assert backend.joint_pos[::2].unique().tolist() == [0.0]


def test_every_robot_stands_in_its_default_pose_before_the_first_step():
    view = FakeView(N, ENGINE_ORDER, fixed_base=True, limits={"hip": (0.5, 1.0), "knee": (-2.0, -1.5)})
    backend, view = build(view=view)
    assert ("step", 0.5) not in view.calls
    assert backend.joint_pos[0].tolist() == [0.0, 0.5, -1.5], "a limit that forbids 0 takes its nearest end"
    assert view.tensors[Field.DOF_POSITION][0].tolist() == [-1.5, 0.0, 0.5]
    assert view.tensors[Field.DOF_VELOCITY].unique().tolist() == [0.0]


def test_the_friction_of_the_scene_is_given_to_every_shape():
    view = FakeView(N, ENGINE_ORDER, fixed_base=True, shapes=2)
    build(scene(friction=0.7), view)
    assert view.tensors[Field.SHAPE_MATERIAL].view(-1, 3).unique(dim=0)[0].tolist() == pytest.approx([0.7, 0.7, 0.0])


def test_a_floating_robot_moves_in_its_environment_and_its_frames_origin_has_the_velocity():
    origins = torch.tensor([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [0.0, -4.0, 0.0]])
    backend, view = build(scene(floating=True), origins=origins)
    pose = torch.tensor([[1.0, 2.0, 3.0, *HALF_TURN]]).expand(N, 7).contiguous()
    vel = torch.tensor([[0.5, 0.0, 0.0, 0.0, 0.0, 2.0]]).expand(N, 6).contiguous()
    everywhere(backend, root_pose=pose, root_vel=vel)
    assert view.tensors[Field.ROOT_POSE][1].tolist() == [11.0, 2.0, 3.0, *HALF_TURN]
    # The centre of mass lies at -0.1 along x, turned half round: the turn of 2 rad/s about z moves it along -y.
    assert view.tensors[Field.ROOT_VELOCITY][1].tolist() == pytest.approx([0.5, -0.2, 0.0, 0.0, 0.0, 2.0])
    assert torch.allclose(backend.root_pose, pose)
    assert torch.allclose(backend.root_vel, vel, atol=1e-6)


def test_links_are_named_local_and_have_the_velocity_of_their_frames_origin():
    origins = torch.tensor([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0], [0.0, -4.0, 0.0]])
    view = FakeView(N, ENGINE_ORDER, fixed_base=True)
    view.tensors[Field.LINK_POSE][:, 2, :3] = torch.tensor([1.0, 2.0, 3.0]) + origins
    view.tensors[Field.LINK_VELOCITY][:, 2] = torch.tensor([0.0, 0.0, 0.0, 3.0, 0.0, 0.0])
    backend, _ = build(scene(links=("lower", "base")), view, origins)
    assert backend.link_pose[:, 0, :3].unique(dim=0).tolist() == [[1.0, 2.0, 3.0]]
    # Turning about x at 3 rad/s with the centre of mass 0.3 up and at rest: the origin below moves along +y.
    assert COMS[2][2] == 0.3
    assert backend.link_vel[0, 0].tolist() == pytest.approx([0.0, 0.9, 0.0, 3.0, 0.0, 0.0])
    assert backend.link_vel[0, 1].tolist() == [0.0] * 6


@pytest.mark.parametrize(
    ("field", "said"), [(Field.DOF_VELOCITY, "joint state"), (Field.LINK_POSE, "link state")], ids=["joints", "links"]
)
def test_a_state_that_is_not_finite_is_a_fault_with_its_rows_until_it_is_cleared(field, said):
    backend, view = build(scene(links=("upper",)))
    assert backend.describe_fault() == "ovphysx is sound"
    kept = view.tensors[field].clone()
    view.tensors[field][2, 1] = torch.nan
    backend.step(torch.zeros(N, 3))
    view.tensors[field].copy_(kept)
    everywhere(backend)
    backend.step(torch.zeros(N, 3))
    assert backend.fault == 1.0
    assert backend.describe_fault() == f"ovphysx: non-finite {said} in row 2"
    backend.clear_fault()
    assert backend.fault == 0.0
    assert backend.describe_fault() == "ovphysx is sound"


@wp.kernel(enable_backward=False)
def add_one(values: wp.array2d[wp.float32]):
    row = wp.tid()
    values[row, 0] = values[row, 0] + 1.0


def test_a_recorded_body_repeats_launches_and_native_calls_in_their_order_and_runs_neither_while_it_is_recorded():
    backend, view = build()
    control, pos, vel = torch.zeros(3, N, 3)
    mask = torch.tensor([True, False, False])

    def body():
        wp.launch(add_one, dim=N, inputs=[wp.from_torch(control)], device="cpu")
        backend.step(control)
        wp.launch(add_one, dim=N, inputs=[wp.from_torch(control)], device="cpu")
        backend.reset_rows(mask, pos, vel)

    view.calls.clear()
    replay = backend.record(body)
    assert view.calls == []
    assert control.unique().tolist() == [0.0]
    for _ in range(3):
        replay()
    assert control[0, 0] == 6.0
    velocities = [0.0, 0.0]
    for effort in (1.0, 3.0, 5.0):
        velocities = [effort, velocities[1] + effort]
    assert backend.joint_vel[:, 0].tolist() == [0.0, 9.0, 9.0], "the row reset last, and the sum of all efforts"
    assert [call[0] for call in view.calls].count("step") == 6


def test_a_rehearsal_before_recording_leaves_the_engines_state_as_it_was():
    backend, view = build()
    backend._rehearse = True  # as on CUDA, where kernels must be loaded before they are captured
    everywhere(backend, joint_pos=torch.rand(N, 3), joint_vel=torch.rand(N, 3))
    before = [part.clone() for part in backend.robot_state.values()]
    control = torch.ones(N, 3)
    replay = backend.record(lambda: backend.step(control))
    assert ("step", 0.5) in view.calls
    assert all(torch.equal(now, then) for now, then in zip(backend.robot_state.values(), before, strict=True))
    replay()
    assert torch.allclose(backend.joint_vel, before[1] + 1.0)


def test_an_error_while_recording_leaves_the_engine_usable():
    backend, _ = build()

    control = torch.zeros(N, 3)

    def body():
        backend.step(control)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        backend.record(body)
    backend.step(torch.ones(N, 3))
    assert backend.joint_vel[0, 0] == 1.0


def test_what_the_robot_is_not_is_said():
    with pytest.raises(
        ValueError, match=r"robot.usda: the task names joints \['rail'\], the robot has \['knee', 'rail', "
    ):
        build(scene(joints=("rail",)))
    with pytest.raises(ValueError, match=r"floating=True, but the root of the robot is fixed to the world"):
        build(scene(floating=True), FakeView(N, ENGINE_ORDER, fixed_base=True))
    with pytest.raises(
        ValueError, match=r"the task names links \['foot'\], the robot has \['base', 'upper', 'lower'\]"
    ):
        build(scene(links=("foot",)))
    backend, _ = build()
    with pytest.raises(ValueError, match="expected joint_pos, joint_vel of this robot, got 4 tensors"):
        backend.reset_rows(torch.ones(N, dtype=torch.bool), *torch.zeros(2, N, 3), torch.zeros(N, 7), torch.zeros(N, 6))


def test_less_is_claimed_where_environments_stand_apart():
    alike, apart = build()[0].capabilities, build(scene(max_contacts=4))[0].capabilities
    assert alike.row_independent
    assert alike.exact_state
    assert not apart.row_independent
    assert not apart.exact_state
    assert apart.deterministic


def test_facts_are_read_back_by_name():
    view = FakeView(N, ENGINE_ORDER, fixed_base=True, limits={"hip": (-0.5, 1.0)})
    view.tensors[Field.DOF_DAMPING][:, 2] = 0.25
    view.tensors[Field.DOF_FRICTION][:, 2] = torch.tensor([0.5, 0.5, 0.125])
    view.tensors[Field.DOF_ARMATURE][:, 2] = 0.75
    view.tensors[Field.LINK_INERTIA][:, 2] = torch.tensor([1.0, 4.0, 5.0, 4.0, 2.0, 6.0, 5.0, 6.0, 3.0])
    facts = build(scene(effort_limit=(1.0, 2.0, 3.0)), view)[0].robot_facts()
    rail, hip, knee = facts.joints
    assert (rail.name, hip.name, knee.name) == JOINTS
    assert (hip.lower, hip.upper, rail.lower, rail.upper) == (-0.5, 1.0, None, None)
    assert (hip.damping, hip.armature, hip.friction, hip.effort_limit) == (0.375, 0.75, 0.5, 2.0)
    assert [link.name for link in facts.links] == ["lower", "upper"], "the root is part of the world"
    assert facts.links[0].inertia == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert facts.links[0].com == pytest.approx((0.0, 0.0, 0.3))
    assert (facts.gravity, facts.physics_dt) == ((0.0, 0.0, -9.81), 0.5)


def test_closing_twice_releases_the_engine_once():
    backend, view = build()
    backend.close()
    backend.close()
    assert view.calls.count(("close",)) == 1


# The stage.


def test_environments_share_the_origin_without_contacts_and_have_a_cell_each_with_them():
    assert environment_origins(scene(num_envs=50)) == [(0.0, 0.0, 0.0)] * 50
    origins = environment_origins(scene(num_envs=50, max_contacts=1, extent=(3.0, 1.0)))
    assert len(set(origins)) == 50
    for here in origins:
        for there in origins:
            assert here == there or abs(here[0] - there[0]) >= 6.0 or abs(here[1] - there[1]) >= 2.0
    farthest = max(math.hypot(x, y) for x, y, _ in origins)
    assert farthest < math.sqrt(50 * 6.0 * 2.0), "a compact grid, not a line"


def test_a_scene_without_contacts_mutes_every_shape_and_one_with_them_none():
    paths = {"links": ("torso",), "shapes": ("torso/hull", "foot")}
    cfg = OvphysxCfg(name="ovphysx")
    quiet = stage_text(scene(), cfg, [(0.0, 0.0, 0.0)], gpu=False, **paths)
    loud = stage_text(scene(max_contacts=2), cfg, [(0.0, 0.0, 0.0)], gpu=False, **paths)
    assert quiet.count("physics:collisionEnabled = 0") == 2
    assert "collisionEnabled" not in loud
    assert quiet.count("angularDamping = 0") == loud.count("angularDamping = 0") == 1


def test_paths_in_the_robot_are_told_from_its_environments():
    assert robot_path("/World/envs/env0/robot/torso/leg") == "torso/leg"
    assert robot_path("/World/envs/env0/robot") == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"solver_type": "xpbd"}, "solver_type=xpbd: must be one of pgs, tgs"),
        ({"position_iterations": 0}, "position_iterations=0: must be from 1 to 255"),
        ({"velocity_iterations": 256}, "velocity_iterations=256: must be from 0 to 255"),
        ({"num_threads": -1}, "num_threads=-1: must be at least 0"),
    ],
)
def test_a_setting_that_cannot_work_is_a_problem_by_name(settings, said):
    assert OvphysxCfg(name="ovphysx", **settings).problems() == [said]
