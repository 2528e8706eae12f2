"""What an engine declares, single frames, the physics state, cameras and debug shapes."""

import numpy as np
import pytest
import torch

from benchmark_app.envs.playback import CameraCfg, DebugPrimitive, EnvPlayCapabilities, PhysicsStateLayout
from benchmark_app.rendering.play_cfg import PlayRendererCfg

from .doubles import Glider
from .painter import ALL, CAMERA, STATE, VIDEO, WINDOW, N, mode, played, untouched

# Capabilities.


def test_an_engine_declares_nothing_by_default():
    assert Glider(N).play_capabilities == EnvPlayCapabilities()
    assert not any(vars(EnvPlayCapabilities()).values())


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("supports_interactive_camera", "supports_native_interactive_renderer"),
        ("supports_interactive_debug_overlay", "supports_native_interactive_renderer"),
        ("supports_debug_overlay", "supports_native_video_capture"),
        ("supports_mocap_playback", "supports_physics_state_playback"),
    ],
)
def test_a_capability_without_the_one_it_needs_is_refused(name, needed):
    with pytest.raises(ValueError, match=f"{name}=True needs {needed}=True"):
        EnvPlayCapabilities(**{name: True})
    assert getattr(EnvPlayCapabilities(**{name: True, needed: True}), name)


def test_a_capability_must_be_a_bool():
    with pytest.raises(TypeError, match="supports_native_video_capture='yes'"):
        EnvPlayCapabilities(supports_native_video_capture="yes")


def test_the_environment_shows_the_engines_declaration():
    env, backend, _ = played(**VIDEO)
    assert env.play_capabilities is backend.play_capabilities


@pytest.mark.parametrize(
    ("call", "capability"),
    [
        (lambda b: b.get_physics_state_snapshot(np.zeros(N)), "supports_physics_state_playback"),
        (lambda b: b.get_physics_state_layout(), "supports_physics_state_playback"),
        (lambda b: b.get_playback_model(), "supports_physics_state_playback"),
        (lambda b: b.get_playback_mocap_state(), "supports_mocap_playback"),
    ],
)
def test_an_engine_that_cannot_says_its_class_and_the_capability(call, capability):
    with pytest.raises(NotImplementedError, match=f"Glider cannot .* declare {capability}"):
        call(Glider(N))


def test_an_engine_without_a_visual_model_file_has_none():
    assert Glider(N).get_scene_visual_model_file() is None


# Single frames.


def test_render_makes_its_own_renderer_once():
    env, backend, _ = played(**VIDEO)
    frames = [env.render(), env.render("rgb_array")]
    assert backend.names() == ["init", "capture", "capture"]
    assert backend.made() == [PlayRendererCfg(headless=True, capture=True)]
    assert [frame.max() for frame in frames] == [0, 1]


def test_render_uses_the_renderer_there_is():
    env, backend, _ = played(**VIDEO)
    env.init_play_renderer(headless=True, capture=True, width=8, height=6)
    env.render()
    assert backend.made() == [PlayRendererCfg(headless=True, capture=True, width=8, height=6)]


def test_only_rgb_arrays_are_rendered():
    with pytest.raises(ValueError, match="mode='human'"):
        played(**VIDEO)[0].render("human")


def test_render_refuses_an_engine_without_capture():
    env, backend, _ = played(**WINDOW)
    with pytest.raises(NotImplementedError, match="supports_native_video_capture"):
        env.render()
    assert not backend.calls


def test_capture_needs_a_renderer_that_captures(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    env, _, _ = played(**VIDEO, **WINDOW)
    with pytest.raises(RuntimeError, match="before init_play_renderer"):
        env.capture_play_video_frame()
    env.init_play_renderer()  # a window alone
    with pytest.raises(RuntimeError, match="before init_play_renderer"):
        env.capture_play_video_frame()
    env.init_play_renderer(headless=True, capture=True)
    assert env.capture_play_video_frame().shape == (2, 4, 3)


def test_a_renderer_made_anew_and_one_of_a_closed_environment_is_closed():
    env, backend, _ = played(**VIDEO)
    env.init_play_renderer(headless=True, capture=True)
    env.init_play_renderer(headless=True, capture=True)
    assert backend.names() == ["init", "close", "init"]
    env.close()
    env.close()
    assert backend.names() == ["init", "close", "init", "close"]
    assert backend.closed == 1


def test_a_picture_has_at_least_one_pixel():
    with pytest.raises(ValueError, match="width=0"):
        played(**VIDEO)[0].init_play_renderer(headless=True, capture=True, width=0)


# Physics state.


def test_a_snapshot_is_detached_and_its_time_is_that_of_each_rows_episode():
    env, _, _ = played(**STATE)
    env.step(torch.ones(N, 1))
    env.step(torch.ones(N, 1))
    env.reset(torch.tensor([1]))
    snapshot = env.get_physics_state_snapshot()
    kept = snapshot.copy()
    env.step(torch.ones(N, 1))
    assert snapshot.dtype == np.float64
    assert (snapshot == kept).all()
    assert snapshot[:, 0].tolist() == [2.0, 0.0, 2.0]


def test_time_stays_exact_where_float32_would_have_lost_it():
    env, _, _ = played(**STATE)
    env._steps.fill_(2**25 + 1)
    time = env.get_physics_state_layout().split_state(env.get_physics_state_snapshot()).time
    assert time.tolist() == [(2**25 + 1) * env.cfg.control_dt] * N
    assert np.float32(time[0]) != time[0]


def test_the_layout_names_the_columns():
    layout = PhysicsStateLayout(joint_names=("a", "b"), nq=2, nv=2, nmocap=2)
    assert layout.state_width == 19
    state = layout.split_state(np.arange(38.0).reshape(2, 19))
    assert state.time.tolist() == [0, 19]
    assert state.qpos[0].tolist() == [1, 2]
    assert state.qvel[0].tolist() == [3, 4]
    assert state.mocap_pos[0].tolist() == [[5, 6, 7], [8, 9, 10]]
    assert state.mocap_quat[0].tolist() == [[11, 12, 13, 14], [15, 16, 17, 18]]
    assert layout.split_state(np.arange(19.0)).mocap_pos.shape == (2, 3)
    for wrong in (np.zeros((2, 18)), np.zeros(())):
        with pytest.raises(ValueError, match=r"expected shape \[\.\.\., 19\]"):
            layout.split_state(wrong)


def test_model_mocap_state_and_file_are_the_engines():
    env, _, _ = played(**STATE, supports_mocap_playback=True)
    assert env.get_playback_model() == ("model", None)
    assert env.get_playback_model(2) == ("model", 2)
    assert env.get_playback_mocap_state(1)[0].tolist() == [[1, 1, 1]]
    assert env.get_playback_mocap_state()[0].tolist() == [[0, 0, 0]]
    assert env.get_scene_visual_model_file() == "/glider.xml"
    for call in (env.get_playback_model, env.get_playback_mocap_state):
        for wrong in (-1, N):
            with pytest.raises(ValueError, match=f"env_index={wrong}: must be from 0 to 2"):
                call(wrong)


def test_a_closed_environment_says_so():
    env, backend, rollout = played(**ALL)
    env.init_play_renderer(headless=True, capture=True)
    env.close()
    backend.calls.clear()
    for call in (
        env.render,
        env.capture_play_video_frame,
        env.get_physics_state_snapshot,
        env.get_playback_model,
        env.get_playback_mocap_state,
        lambda: env.init_play_renderer(headless=True, capture=True),
        lambda: mode(env, rollout, "record"),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    assert untouched(backend, rollout)


# Cameras and debug shapes.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"position": (0, 0)}, "position"),
        ({"target": (0, 0, float("nan"))}, "target"),
        ({"target": CAMERA["position"]}, "must differ from position"),
        ({"fov": 180}, "fov=180"),
        ({"env_index": -1}, "env_index=-1"),
    ],
)
def test_a_camera_that_sees_nothing_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        CameraCfg(**{**CAMERA, **wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "cube"}, "kind='cube': choose one of sphere, line, arrow"),
        ({"end": None}, "a line or an arrow has an end"),
        ({"kind": "sphere"}, "a sphere has none"),
        ({"end": (0, 0, float("inf"))}, "end"),
        ({"start": (0, 0)}, "start"),
        ({"size": 0}, "size=0"),
        ({"color": (1, 0, 0)}, "color"),
        ({"color": (1, 0, 0, 2)}, "color"),
    ],
)
def test_a_debug_shape_that_cannot_be_drawn_is_refused(wrong, message):
    good = {"kind": "arrow", "start": (0, 0, 0), "end": (0, 0, 1)}
    DebugPrimitive(**good)
    with pytest.raises(ValueError, match=message):
        DebugPrimitive(**{**good, **wrong})
