"""What Newton gives to playback."""

from dataclasses import replace
from pathlib import Path

import newton
import numpy as np
import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg, load_env

from benchmark_app.physics import make_backend
from benchmark_app.physics.playback import DRAWN

pytestmark = pytest.mark.engine

N = 3
CARTPOLE = load_env().scene(Cfg(), N)
TIME = np.array([0.0, 1.0 / 3.0, 2.0**25 + 0.5])


@pytest.fixture(params=[False, True], ids=["declared_order", "other_order"])
def backend(request):
    joints = CARTPOLE.joints[::-1] if request.param else CARTPOLE.joints
    backend = make_backend("newton_mjwarp", replace(CARTPOLE, joints=joints), "cpu")
    position = torch.rand(N, 2, generator=torch.Generator().manual_seed(0))
    backend.reset_rows(torch.ones(N, dtype=torch.bool), position, -position)
    backend.step(torch.full((N, 2), 3.0))
    yield backend
    backend.close()


def test_it_declares_pictures_and_state_playback(backend):
    assert backend.play_capabilities == replace(DRAWN, supports_physics_state_playback=True)


def test_a_snapshot_is_time_and_joint_state_bitwise(backend):
    layout = backend.get_physics_state_layout()
    snapshot = backend.get_physics_state_snapshot(TIME)
    assert snapshot.dtype == np.float64
    assert snapshot.shape == (N, layout.state_width)
    state = layout.split_state(snapshot)
    assert (state.time == TIME).all()
    assert (state.qpos == backend.joint_pos.numpy()).all()
    assert (state.qvel == backend.joint_vel.numpy()).all()
    assert state.mocap_pos.shape == (N, 0, 3)
    assert state.mocap_quat.shape == (N, 0, 4)


def test_a_snapshot_is_detached(backend):
    snapshot = backend.get_physics_state_snapshot(TIME)
    kept = snapshot.copy()
    backend.step(torch.full((N, 2), 3.0))
    assert (snapshot == kept).all()
    assert not (backend.get_physics_state_snapshot(TIME) == kept).all()


def test_the_layout_names_the_joints_in_the_tasks_order(backend):
    assert backend.get_physics_state_layout().joint_names == backend.joint_names


def test_a_snapshot_replayed_on_the_model_poses_every_row_as_the_engine_does(backend):
    model = backend.get_playback_model(0)
    layout = backend.get_physics_state_layout()
    columns = [layout.joint_names.index(label.rsplit("/", 1)[-1]) for label in model.joint_label]
    qpos = layout.split_state(backend.get_physics_state_snapshot(TIME)).qpos
    newton.eval_fk(backend._model, backend._state.joint_q, backend._state.joint_qd, backend._state)
    engine = backend._state.body_q.numpy().reshape(N, -1, 7)
    for row in range(N):
        state = model.state()
        state.joint_q.assign(qpos[row, columns].astype(np.float32))
        newton.eval_fk(model, state.joint_q, state.joint_qd, state)
        np.testing.assert_allclose(state.body_q.numpy(), engine[row], atol=1e-6)


def test_the_model_is_one_environment_with_everything_visible(backend):
    model = backend.get_playback_model()
    assert model.joint_count == 2
    names = {label.rsplit("/", 1)[-1] for label in model.shape_label}
    assert {"rail", "cart", "pole"} <= names
    assert model is not backend.get_playback_model()


def test_there_are_no_mocap_bodies(backend):
    pos, quat = backend.get_playback_mocap_state(1)
    assert (pos.shape, quat.shape) == ((0, 3), (0, 4))


def test_the_visual_model_file_is_the_mjcf(backend):
    assert backend.get_scene_visual_model_file() == CARTPOLE.mjcf
    assert Path(CARTPOLE.mjcf).is_file()


def test_asking_changes_nothing_the_engine_computes():
    def final(ask):
        backend = make_backend("newton_mjwarp", CARTPOLE, "cpu")
        for _ in range(20):
            backend.step(torch.full((N, 2), 5.0))
            if ask:
                backend.get_physics_state_snapshot(TIME)
                backend.get_playback_model()
        return torch.cat((backend.joint_pos, backend.joint_vel), 1).clone()

    assert torch.equal(final(ask=True), final(ask=False))
