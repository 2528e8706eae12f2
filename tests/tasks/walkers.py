"""What is checked of the files and of the physics of every robot that walks; `test_ant` and `test_humanoid` call it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch

from benchmark_app.envs.make import make_env
from tests.conftest import ROOT

from .mjcf_to_usda import to_usda


def assets(name):
    return ROOT / "tasks" / name / "assets"


def the_files_are_the_same_robot_as_the_declaration(cfg):
    model = mujoco.MjModel.from_xml_path(str(assets(cfg.name) / f"{cfg.name}.xml"))
    rows = cfg.declaration.joints
    assert [model.joint(joint).name for joint in range(model.njnt)] == ["root", *(row.name for row in rows)]
    for row in rows:
        joint, dof = model.joint(row.name), int(model.jnt_dofadr[model.joint(row.name).id])
        assert joint.range == pytest.approx([row.lower, row.upper])
        assert (model.dof_damping[dof], model.dof_armature[dof]) == pytest.approx((row.damping, row.armature))
    written = (assets(cfg.name) / f"{cfg.name}.usda").read_text()
    assert written == to_usda(assets(cfg.name) / f"{cfg.name}.xml"), "write the USD file anew: see mjcf_to_usda"


def lowest_point(model, data):
    """Of all that touches the ground, in the pose of `data` [m]."""
    mujoco.mj_kinematics(model, data)
    touching = model.geom_conaffinity != 0
    size, along = model.geom_size[touching], np.abs(data.geom_xmat[touching].reshape(-1, 3, 3)[:, 2, 2])
    capsule = model.geom_type[touching] == int(mujoco.mjtGeom.mjGEOM_CAPSULE)
    return (data.geom_xpos[touching, 2] - size[:, 0] - np.where(capsule, along * size[:, 1], 0.0)).min()


def no_episode_begins_in_the_ground(robot):
    cfg, env = robot.Cfg(), robot.load_env()
    model = mujoco.MjModel.from_xml_path(str(assets(cfg.name) / f"{cfg.name}.xml"))
    data, draw = mujoco.MjData(model), np.random.default_rng(0)
    rows = cfg.declaration.joints
    gaps = []
    for _ in range(500):  # the lowest a foot can come is at a corner of what may be drawn
        offsets = draw.choice((-cfg.initial_joint_pos, cfg.initial_joint_pos), len(rows))
        data.qpos[:7] = (0.0, 0.0, cfg.initial_height, 1.0, 0.0, 0.0, 0.0)
        data.qpos[7:] = np.clip(
            np.array(env.default_pose) + offsets, [row.lower for row in rows], [row.upper for row in rows]
        )
        gaps.append(lowest_point(model, data))
    assert 0.0 < min(gaps) < 0.02


def the_same_rows_whatever_their_number(robot, num_steps=12):
    """Rows 0 of one and of three rows, bitwise."""
    seen = []
    actions = torch.rand(num_steps, 1, robot.load_env().num_actions, generator=torch.Generator().manual_seed(0)) * 2 - 1
    for num_envs in (1, 3):
        env = make_env(robot.Cfg(), "newton_mjwarp", num_envs)
        env.seed(7)
        first = env.init_state()
        steps = [env.step(action.repeat(num_envs, 1)) for action in actions]
        seen.append([first.obs["policy"][0], *(step.obs["policy"][0] for step in steps)])
        env.close()
    assert all(torch.equal(one, other) for one, other in zip(*seen, strict=True))


def no_joint_is_mirrored(env):
    """Alone in the air, every motor turns its joint the way its action points."""
    backend, n = env.backend, env.num_envs
    joints = env.num_actions
    assert n == joints
    env.init_state()
    state = {name: part.clone() for name, part in backend.robot_state.items()}
    state["joint_pos"][:] = torch.tensor([(row.lower + row.upper) / 2 for row in env.cfg.declaration.joints])
    state["joint_vel"].zero_()
    state["root_pose"][:, 2] = 5.0
    backend.reset_rows(torch.ones(n, dtype=torch.bool), *state.values())
    env.step(torch.eye(n))
    turned = backend.joint_vel
    assert (turned.diagonal() > 0.2).all()
    assert torch.equal(turned.argmax(1), torch.arange(n))
