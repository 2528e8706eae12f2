"""Both files of a robot say what the table says, and the suite's own mechanics are those of MuJoCo."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from .engine import UNIT_POSE
from .mechanics import centre_of_mass, energy, forward, link_inertia, mass_matrix, momentum, turn_between
from .mjcf import to_mjcf
from .robots import FILE_ROOT, ROBOTS, UPRIGHT
from .usda import ANCHOR, to_usda

JOINT = {"slide": mujoco.mjtJoint.mjJNT_SLIDE, "hinge": mujoco.mjtJoint.mjJNT_HINGE}
GEOM = {"sphere": mujoco.mjtGeom.mjGEOM_SPHERE, "box": mujoco.mjtGeom.mjGEOM_BOX}


def turn(wxyz):
    return Rotation.from_quat([*wxyz[1:], wxyz[0]])


def inertia_along(moments, principal):
    return principal.as_matrix() @ np.diag(moments) @ principal.as_matrix().T


@pytest.fixture(params=list(ROBOTS.values()), ids=list(ROBOTS))
def robot(request):
    return request.param


@pytest.fixture
def model(robot):
    return mujoco.MjModel.from_xml_string(to_mjcf(robot))


@pytest.fixture
def stage(robot):
    usd = pytest.importorskip("pxr.Usd", reason="reading USD needs the package usd-core")
    layer = pytest.importorskip("pxr.Sdf").Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(to_usda(robot))
    return usd.Stage.Open(layer)


def mujoco_state(robot, model, joint_pos, joint_vel, root_pose, root_vel):
    """MuJoCo's data in this state: its floating root has the quaternion's scalar first and spins in its own axes."""
    data = mujoco.MjData(model)
    if robot.floating:
        data.qpos[:7] = [*root_pose[:3], root_pose[6], *root_pose[3:6]]
        data.qvel[:3] = root_vel[:3]
        data.qvel[3:6] = Rotation.from_quat(root_pose[3:]).inv().apply(root_vel[3:])
    for index, joint in enumerate(robot.joints):
        data.qpos[model.joint(joint.name).qposadr[0]] = joint_pos[index]
        data.qvel[model.joint(joint.name).dofadr[0]] = joint_vel[index]
    mujoco.mj_forward(model, data)
    return data


@pytest.fixture
def state(robot):
    draw = np.random.default_rng(3)
    joint_pos, joint_vel = draw.uniform(-0.8, 0.8, (2, len(robot.joints)))
    pose = np.concatenate((draw.uniform(-1, 1, 3), Rotation.random(random_state=4).as_quat()))
    return (
        (joint_pos, joint_vel, pose, draw.uniform(-1, 1, 6))
        if robot.floating
        else (joint_pos, joint_vel, UNIT_POSE, np.zeros(6))
    )


def test_the_mjcf_file_says_what_the_table_says(robot, model):
    assert model.nbody == len(robot.links) + 1
    assert model.njnt == len(robot.joints) + robot.floating
    assert model.nu == 0
    assert model.ngeom == sum(len(link.shapes) for link in robot.links)
    for link in robot.links:
        body = model.body(link.name)
        assert body.mass[0] == link.mass
        np.testing.assert_allclose(body.ipos, link.com)
        np.testing.assert_allclose(inertia_along(body.inertia, turn(body.iquat)), link_inertia(link), atol=1e-12)
        for index, shape in enumerate(link.shapes):
            geom = body.geomadr[0] + index
            assert model.geom_type[geom] == GEOM[shape.kind]
            np.testing.assert_allclose(model.geom_size[geom][: len(shape.size)], shape.size)
            np.testing.assert_allclose(model.geom_pos[geom], shape.position)
    for joint in robot.joints:
        read, dof = model.joint(joint.name), model.joint(joint.name).dofadr[0]
        assert read.type[0] == JOINT[joint.kind]
        assert (model.dof_damping[dof], model.dof_armature[dof]) == (joint.damping, joint.armature)
        assert read.limited[0] == (joint.limits is not None)
        assert joint.limits is None or tuple(read.range) == joint.limits


def test_the_usd_file_says_what_the_table_says(robot, stage):
    from pxr import Gf, UsdGeom, UsdPhysics

    root = stage.GetDefaultPrim()
    assert root.GetName() == robot.name
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    holder = root.GetChild(robot.root) if robot.floating else root
    assert holder.HasAPI(UsdPhysics.ArticulationRootAPI)
    bodies = [prim.GetName() for prim in root.GetChildren() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert sorted(bodies) == sorted([link.name for link in robot.links] + [ANCHOR.name] * (not robot.floating))
    for link in robot.links:
        prim = root.GetChild(link.name)
        mass = UsdPhysics.MassAPI(prim)
        assert mass.GetMassAttr().Get() == pytest.approx(link.mass)
        np.testing.assert_allclose(mass.GetCenterOfMassAttr().Get(), link.com, rtol=1e-6)
        axes = mass.GetPrincipalAxesAttr().Get()
        principal = Rotation.from_quat([*axes.GetImaginary(), axes.GetReal()])
        np.testing.assert_allclose(
            inertia_along(mass.GetDiagonalInertiaAttr().Get(), principal), link_inertia(link), atol=1e-7
        )
        assert prim.GetAttribute("physxRigidBody:angularDamping").Get() == 0
        for index, shape in enumerate(link.shapes):
            geom = prim.GetChild(f"shape_{index}")
            assert geom.HasAPI(UsdPhysics.CollisionAPI)
            extent = UsdGeom.Boundable(geom).ComputeExtent(0) if shape.kind == "box" else None
            corner = UsdGeom.Xformable(geom).GetLocalTransformation().Transform(Gf.Vec3d(1, 1, 1))
            size = geom.GetAttribute("radius").Get() if extent is None else np.subtract(corner, shape.position)
            np.testing.assert_allclose(size, shape.size[0] if extent is None else shape.size, rtol=1e-6)
    for joint in robot.joints:
        prim = root.GetChild(joint.name)
        hinge = joint.kind == "hinge"
        assert prim.IsA(UsdPhysics.RevoluteJoint if hinge else UsdPhysics.PrismaticJoint)
        read, unit = UsdPhysics.Joint(prim), np.pi / 180 if hinge else 1.0  # USD's angles are degrees
        assert [path.name for path in read.GetBody0Rel().GetTargets()] == [joint.parent or ANCHOR.name]
        assert [path.name for path in read.GetBody1Rel().GetTargets()] == [joint.child]
        np.testing.assert_allclose(read.GetLocalPos0Attr().Get(), joint.position, atol=1e-7)
        np.testing.assert_allclose(read.GetLocalPos1Attr().Get(), (0, 0, 0))
        before, after = (
            Rotation.from_quat([*each.Get().GetImaginary(), each.Get().GetReal()])
            for each in (read.GetLocalRot0Attr(), read.GetLocalRot1Attr())
        )
        np.testing.assert_allclose(after.apply((1, 0, 0)), joint.axis, atol=1e-6)
        assert (before * after.inv() * Rotation.from_quat(joint.orientation).inv()).magnitude() < 1e-6
        limits = [prim.GetAttribute(f"physics:{side}Limit").Get() for side in ("lower", "upper")]
        if joint.limits is None:
            assert np.isinf(limits).all()
        else:
            np.testing.assert_allclose(np.multiply(limits, unit), joint.limits, rtol=1e-6)
        drive = UsdPhysics.DriveAPI(prim, "angular" if hinge else "linear")
        assert drive.GetStiffnessAttr().Get() == 0
        assert drive.GetDampingAttr().Get() / unit == pytest.approx(joint.damping)
        assert prim.GetAttribute("newton:armature").Get() == pytest.approx(joint.armature)


def test_the_usd_links_stand_where_the_joints_at_zero_put_them(robot, stage):
    from pxr import UsdGeom

    still = np.zeros(len(robot.joints))
    poses, _ = forward(robot, still, still, root_pose=(*FILE_ROOT, *UPRIGHT))
    for link, pose in zip(robot.links, poses, strict=True):
        world = UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetDefaultPrim().GetChild(link.name))
        np.testing.assert_allclose(world.ExtractTranslation(), pose[:3], atol=1e-6)
        found = world.ExtractRotationQuat()
        assert turn_between(pose[3:], np.array([*found.GetImaginary(), found.GetReal()])) < 1e-6


def test_our_kinematics_are_those_of_mujoco(robot, model, state):
    poses, velocities = forward(robot, *state)
    data = mujoco_state(robot, model, *state)
    for link, pose, velocity in zip(robot.links, poses, velocities, strict=True):
        body = data.body(link.name)
        np.testing.assert_allclose(body.xpos, pose[:3], atol=1e-9)
        assert turn_between(pose[3:], np.array([*body.xquat[1:], body.xquat[0]])) < 1e-7
        found = np.zeros(6)  # angular first, of the frame's origin, in world axes
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(link.name).id, found, 0)
        np.testing.assert_allclose(np.concatenate((found[3:], found[:3])), velocity, atol=1e-9)


def test_our_dynamics_are_those_of_mujoco(robot, model, state):
    data = mujoco_state(robot, model, *state)
    poses, velocities = forward(robot, *state)
    place, speed = centre_of_mass(robot, poses, velocities)
    mujoco.mj_subtreeVel(model, data)
    np.testing.assert_allclose(data.subtree_com[1], place, atol=1e-9)
    np.testing.assert_allclose(data.subtree_linvel[1], speed, atol=1e-9)
    linear, angular = momentum(robot, poses, velocities)
    np.testing.assert_allclose(data.subtree_angmom[1] + np.cross(place, linear), angular, atol=1e-9)
    if any(joint.armature for joint in robot.joints):
        return  # MuJoCo counts the energy of the armature, which is in no link
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    assert energy(robot, poses, velocities, 9.81) == pytest.approx(data.energy.sum())


@pytest.mark.parametrize("name", [name for name, robot in ROBOTS.items() if not robot.floating])
def test_our_mass_matrix_is_that_of_mujoco(name):
    robot = ROBOTS[name]
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    joint_pos = np.linspace(-0.7, 0.9, len(robot.joints))
    data = mujoco_state(robot, model, joint_pos, np.zeros(len(robot.joints)), UNIT_POSE, np.zeros(6))
    dense = np.zeros((model.nv, model.nv))
    for column, rate in zip(dense, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, rate)
    order = [model.joint(joint.name).dofadr[0] for joint in robot.joints]
    np.testing.assert_allclose(mass_matrix(robot, joint_pos), dense[np.ix_(order, order)], atol=1e-9)
