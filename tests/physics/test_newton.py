"""What Newton's engines have in common: scenes, root and links, efforts, facts, warnings, playback."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg, load_env

from benchmark_app.physics import make_backend
from benchmark_app.physics.scene import PDActuator, SceneSpec

pytestmark = pytest.mark.engine

HERE = Path(__file__).parent
N = 2
FLOATING = SceneSpec(
    mjcf=str(HERE / "floating.xml"),
    joints=("ankle", "yaw", "pitch-1", "roll"),
    links=("trunk", "foot", "toe-cap"),
    floating=True,
    num_envs=N,
    physics_dt=0.001,
    decimation=3,
    max_contacts=0,
    max_constraints=16,
)
CARTPOLE = load_env().scene(Cfg(), N)
FALLING = SceneSpec(
    mjcf=str(HERE / "falling.xml"),
    joints=("lift",),
    num_envs=N,
    physics_dt=0.005,
    decimation=4,
    ground=True,
    max_contacts=8,
    max_constraints=24,
)
START = {
    "joint_pos": torch.tensor([[0.1, 0.2, -0.3, 0.5]] * N),
    "joint_vel": torch.tensor([[0.3, -1.0, 0.7, 0.2]] * N),
    "root_pose": torch.cat(
        (torch.tensor([[1.0, 2.0, 3.0]] * N), torch.nn.functional.normalize(torch.tensor([[0.1, 0.2, 0.3, 0.9]] * N))),
        1,
    ),
    "root_vel": torch.tensor([[0.5, -0.2, 0.1, 1.0, 2.0, -0.5]] * N),
}


@pytest.fixture(params=["newton_mjwarp", "newton_kamino"])
def engine(request):
    return request.param


def started(engine, spec=FLOATING, start=START, **settings):
    backend = make_backend(engine, spec, "cpu", **settings)
    backend.reset_rows(torch.ones(spec.num_envs, dtype=torch.bool), *start.values())
    return backend


def at_rest(spec, position=0.0):
    shape = (spec.num_envs, len(spec.joints))
    return {"joint_pos": torch.full(shape, position), "joint_vel": torch.zeros(shape)}


def muscles(*values):
    return torch.tensor([list(values)] * N)


class Truth:
    """MuJoCo's own model of the floating robot, in the contract's terms."""

    def __init__(self, start=START):
        self.model = mujoco.MjModel.from_xml_path(FLOATING.mjcf)
        self.model.opt.timestep = FLOATING.physics_dt
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.data = mujoco.MjData(self.model)
        pose, vel = start["root_pose"][0].double().numpy(), start["root_vel"][0].double().numpy()
        self.data.qpos[:7] = pose[[0, 1, 2, 6, 3, 4, 5]]
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, self.data.qpos[3:7])
        self.data.qvel[:6] = np.r_[vel[:3], turn.reshape(3, 3).T @ vel[3:]]
        for name, pos, speed in zip(FLOATING.joints, start["joint_pos"][0], start["joint_vel"][0], strict=True):
            self.data.joint(name).qpos[0], self.data.joint(name).qvel[0] = pos, speed
        mujoco.mj_forward(self.model, self.data)

    def step(self, efforts):
        for _ in range(FLOATING.decimation):
            for name, effort in zip(FLOATING.joints, efforts, strict=True):
                self.data.joint(name).qfrc_applied[0] = effort
            mujoco.mj_step(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)

    def joints(self):
        return [self.data.joint(name).qpos[0] for name in FLOATING.joints]

    def link(self, name):
        """Pose and velocity of a link, as the contract has them."""
        body, velocity = self.data.body(name), np.zeros(6)
        mujoco.mj_objectVelocity(self.model, self.data, mujoco.mjtObj.mjOBJ_XBODY, body.id, velocity, 0)
        return np.r_[body.xpos, body.xquat[[1, 2, 3, 0]]], np.r_[velocity[3:], velocity[:3]]


def require_truth(backend, truth, pose_tolerance, speed_tolerance):
    links = zip(FLOATING.links, backend.link_pose[0], backend.link_vel[0], strict=True)
    for name, pose, vel in [("trunk", backend.root_pose[0], backend.root_vel[0]), *links]:
        true_pose, true_vel = truth.link(name)
        sign = np.sign(true_pose[3:] @ pose[3:].numpy())
        np.testing.assert_allclose(pose[:3], true_pose[:3], atol=pose_tolerance, err_msg=name)
        np.testing.assert_allclose(sign * pose[3:].numpy(), true_pose[3:], atol=pose_tolerance, err_msg=name)
        np.testing.assert_allclose(vel, true_vel, atol=speed_tolerance, err_msg=name)
    np.testing.assert_allclose(backend.joint_pos[0], truth.joints(), atol=pose_tolerance)


def test_root_and_links_are_mujocos_own_after_a_reset_and_move_as_they_do(engine):
    backend, truth = started(engine), Truth()
    for name, tensor in backend.robot_state.items():
        torch.testing.assert_close(tensor, START[name], atol=1e-6, rtol=0.0)
    require_truth(backend, truth, 1e-5, 1e-5)
    for _ in range(10):
        backend.step(muscles(0.1, -0.2, 0.3, 0.05))
        truth.step((0.1, -0.2, 0.3, 0.05))
    assert backend.fault == 0.0, backend.describe_fault()
    require_truth(backend, truth, 2e-3, 0.05)
    backend.close()


def test_hinges_that_share_a_body_are_told_apart_by_name(engine):
    for place, name in enumerate(FLOATING.joints):
        backend = started(
            engine,
            start={key: torch.zeros_like(part) for key, part in START.items()}
            | {"root_pose": torch.tensor([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]] * N)},
        )
        push = torch.zeros(N, 4)
        push[:, place] = 0.5
        backend.step(push)
        assert int(backend.joint_vel[0].abs().argmax()) == place, name
        assert backend.joint_vel[0, place] > 0.0, name
        backend.close()


def test_facts_are_what_mujoco_compiles_the_file_to(engine):
    backend, model = started(engine), Truth().model
    facts = backend.robot_facts()
    assert [joint.name for joint in facts.joints] == list(FLOATING.joints)
    for joint in facts.joints:
        at = model.joint(joint.name)
        limits = tuple(at.range) if model.jnt_limited[at.id] else (None, None)
        assert (joint.lower, joint.upper) == limits
        found = (joint.damping, joint.armature, joint.friction)
        true = [values[at.dofadr[0]] for values in (model.dof_damping, model.dof_armature, model.dof_frictionloss)]
        assert found == pytest.approx(true, abs=1e-6)
    assert [link.name for link in facts.links] == ["foot", "thigh", "toe-cap", "trunk"]
    for link in facts.links:
        body, axes = model.body(link.name), np.zeros(9)
        mujoco.mju_quat2Mat(axes, body.iquat)
        tensor = axes.reshape(3, 3) @ np.diag(body.inertia) @ axes.reshape(3, 3).T
        assert link.mass == pytest.approx(body.mass[0])
        assert link.com == pytest.approx(body.ipos, abs=1e-6)
        xx, yy, zz, xy, xz, yz = link.inertia
        found = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        np.testing.assert_allclose(found, tensor, rtol=1e-4, atol=1e-7)
    assert facts.gravity == pytest.approx((0.0, 0.0, -9.81))
    backend.close()


def test_a_limited_effort_is_bitwise_the_limit_itself(engine):
    limited = started(engine, replace(CARTPOLE, effort_limit=(2.0, 0.5)), at_rest(CARTPOLE))
    plain = started(engine, CARTPOLE, at_rest(CARTPOLE))
    for told, effort in [((9.0, -0.75), (2.0, -0.5)), ((-2.5, 0.25), (-2.0, 0.25))]:
        limited.step(torch.tensor([told] * N))
        plain.step(torch.tensor([effort] * N))
        assert torch.equal(limited.joint_vel, plain.joint_vel)
    assert [joint.effort_limit for joint in limited.robot_facts().joints] == [2.0, 0.5]


def test_the_pd_law_acts_at_every_physics_step_and_is_limited(engine):
    law = PDActuator(stiffness=(50.0, 8.0), damping=(3.0, 0.5))
    driven = started(engine, replace(CARTPOLE, actuator=law, effort_limit=(4.0, 100.0)), at_rest(CARTPOLE, 0.1))
    told = started(engine, replace(CARTPOLE, decimation=1), at_rest(CARTPOLE, 0.1))
    target = torch.tensor([[0.5, -0.2]] * N)
    for _ in range(20):
        driven.step(target)
        for _ in range(CARTPOLE.decimation):
            effort = (
                torch.tensor(law.stiffness) * (target - told.joint_pos) - torch.tensor(law.damping) * told.joint_vel
            )
            told.step(torch.clamp(effort, torch.tensor([-4.0, -100.0]), torch.tensor([4.0, 100.0])))
    torch.testing.assert_close(driven.joint_pos, told.joint_pos, atol=1e-5, rtol=0.0)


def test_gravity_is_the_scenes(engine):
    spec = replace(FALLING, gravity=(0.0, 0.0, 2.0))
    backend = started(engine, spec, at_rest(spec))
    for _ in range(10):
        backend.step(torch.zeros(N, 1))
    assert backend.joint_vel.flatten().tolist() == pytest.approx([2.0 * 0.2] * N, rel=1e-3)


def test_the_ground_is_the_scenes(engine):
    stands, falls = (started(engine, spec, at_rest(spec)) for spec in (FALLING, replace(FALLING, ground=False)))
    for backend in (stands, falls):
        for _ in range(60):
            backend.step(torch.zeros(N, 1))
    assert stands.joint_pos.flatten().tolist() == pytest.approx([-0.9] * N, abs=0.02)
    assert (falls.joint_pos < -2.0).all()


def test_an_overflow_allowed_by_name_is_counted_and_is_no_fault(engine):
    spec = replace(FALLING, max_contacts=1)
    strict, lenient = (started(engine, spec, at_rest(spec), allow=allow) for allow in ([], ["contact_overflow"]))
    for backend in (strict, lenient):
        for _ in range(40):
            backend.step(torch.zeros(N, 1))
        assert backend.warning_counts()["contact_overflow"] >= 1, "the engines pool the rows' room"
    assert strict.fault == 1.0
    assert "overflow in row" in strict.describe_fault()
    assert lenient.fault == 0.0
    assert lenient.describe_fault() == f"{engine} is sound"
    strict.clear_fault()
    assert strict.fault == 0.0
    assert strict.warning_counts() == lenient.warning_counts(), "what was counted stays counted"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"floating": False}, "floating=False needs no free joint; the bodies with one are \\['trunk'\\]"),
        (
            {"links": ("knee",)},
            "the task names links \\['knee'\\], the model has \\['trunk', 'thigh', 'foot', 'toe-cap'\\]",
        ),
        ({"joints": ("ankle", "yaw", "roll")}, "the task names joints"),
    ],
)
def test_a_file_that_is_not_the_scenes_is_refused_by_name(engine, changed, said):
    with pytest.raises(ValueError, match=said):
        make_backend(engine, replace(FLOATING, **changed), "cpu")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('<freejoint name="root"/>', "", "floating=True needs one free joint, of the first body"),
        (
            "</mujoco>",
            "<actuator><motor name='m' joint='yaw'/></actuator></mujoco>",
            "take out the actuators \\['m'\\]",
        ),
        ('name="ankle" type="hinge"', 'name="ankle" type="ball"', "\\['ankle'\\] have more"),
        ('name="roll" type="hinge"', 'name="roll" type="hinge" pos="0 0 0.1"', "body thigh must have the same pos"),
    ],
)
def test_a_file_with_what_is_not_simulated_is_refused_by_name(tmp_path, old, new, said):
    file = tmp_path / "robot.xml"
    text = Path(FLOATING.mjcf).read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=said):
        make_backend("newton_mjwarp", replace(FLOATING, mjcf=str(file)), "cpu")


def test_a_floating_robot_is_not_reset_without_its_root(engine):
    backend = make_backend(engine, FLOATING, "cpu")
    said = "expected joint_pos, joint_vel, root_pose, root_vel of this robot, got 2 tensors"
    with pytest.raises(ValueError, match=said):
        backend.reset_rows(torch.ones(N, dtype=torch.bool), START["joint_pos"], START["joint_vel"])


def test_a_snapshot_of_a_floating_robot_has_its_root_before_its_joints(engine):
    backend = started(engine)
    layout = backend.get_physics_state_layout()
    state = layout.split_state(backend.get_physics_state_snapshot(np.zeros(N)))
    assert (layout.floating, layout.nq, layout.nv) == (True, 11, 10)
    assert (state.qpos == torch.cat((backend.root_pose, backend.joint_pos), 1).numpy()).all()
    assert (state.qvel == torch.cat((backend.root_vel, backend.joint_vel), 1).numpy()).all()
