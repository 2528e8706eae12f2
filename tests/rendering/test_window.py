"""A window shows every environment in one scene, whatever the engine; its viewer is a double here, once the real."""

import importlib.util
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
newton_viewer = pytest.importorskip("newton.viewer")

from benchmark_app.tasks.cartpole import Cfg  # noqa: E402

from benchmark_app.envs.make import make_env  # noqa: E402
from benchmark_app.rendering.newton import window  # noqa: E402
from benchmark_app.rendering.play_cfg import DebugPrimitive  # noqa: E402

pytestmark = pytest.mark.engine

N = 3


class Viewer:
    """What is asked of Newton's viewer; its user closes the window after so many frames, and may stop the clock."""

    made = None

    def __init__(self, width, height):
        type(self).made = self
        self.size, self.frames, self.closed, self.shown = (width, height), [], False, 10**6
        self.paused = 0
        self.device = "cpu"
        self.camera = type("Camera", (), {"fov": None})()

    def set_model(self, model):
        self.model = model

    def set_world_offsets(self, spacing):
        self.spacing = spacing
        self.world_offsets = window.wp.array([[10.0 * row, 0.0, 0.0] for row in range(N)], dtype=window.wp.vec3)

    def set_camera(self, pos, pitch, yaw):
        self.looks = (np.array(pos), pitch, yaw)

    def is_running(self):
        return len(self.frames) < self.shown

    def should_step(self):
        self.paused -= 1
        return self.paused < 0

    def begin_frame(self, at):
        self.frames.append({"time": at})

    def log_state(self, state):
        self.frames[-1]["bodies"] = state.body_q.numpy().reshape(N, -1, 7).copy()

    def log_points(self, name, points, radii=None, colors=None):
        self.frames[-1][name] = None if points is None else (points.numpy(), radii.numpy(), colors.numpy())

    def log_lines(self, name, starts, ends, colors):
        self.frames[-1][name] = None if starts is None else (starts.numpy(), ends.numpy(), colors.numpy())

    log_arrows = log_lines

    def end_frame(self):
        pass

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def cartpoles():
    env = make_env(Cfg(), "newton_mjwarp", N)
    env.init_state()
    yield env
    env.close()


@pytest.fixture
def env(cartpoles, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(window, "NEEDS", {})
    monkeypatch.setattr(newton_viewer, "ViewerGL", Viewer)
    yield cartpoles
    cartpoles._drop_play_renderer()


def play(env, steps=3, **options):
    hooks = {"initialize": lambda: None, "step": lambda carry: env.step(torch.ones(N, 1)) and None}
    env.run_playback_mode(play_render_mode="interactive", play_steps=steps, output_video=None, **hooks, **options)
    return Viewer.made


def test_a_frame_is_shown_after_each_step_at_the_pace_of_the_clock(env):
    began = time.monotonic()
    viewer = play(env, steps=4)
    assert [frame["time"] for frame in viewer.frames] == pytest.approx([k * env.cfg.control_dt for k in range(4)])
    assert time.monotonic() - began >= 3 * env.cfg.control_dt
    poses = env.backend.body_poses(env.backend.body_names).numpy()
    np.testing.assert_allclose(viewer.frames[-1]["bodies"], poses, atol=1e-6)
    assert not np.allclose(viewer.frames[0]["bodies"], poses, atol=1e-6)


def test_environments_stand_as_far_apart_as_asked_or_as_their_extent(env):
    assert play(env, render_spacing=3.0).spacing == (3.0, 3.0, 0.0)
    across, along = env.scene(env.cfg, N).extent
    assert play(env).spacing == (2 * across, 2 * along, 0.0)


def test_the_camera_begins_as_the_task_is_looked_at_or_as_asked(env):
    position, pitch, yaw = play(env).looks
    view = env.cfg.view
    assert position == pytest.approx(view.position)
    assert yaw == pytest.approx(90.0)  # along +y
    assert -20 < pitch < 0
    position, pitch, yaw = play(env, camera_kwargs={"position": (2, 0, 2), "target": (0, 0, 0), "fov": 30}).looks
    assert (tuple(position), pitch, yaw % 360) == (pytest.approx((2, 0, 2)), pytest.approx(-45), pytest.approx(180))
    assert Viewer.made.camera.fov == 30


def test_shapes_stand_in_their_environment_and_go_when_they_are_no_longer_asked_for(env):
    shapes = [
        DebugPrimitive(kind="sphere", start=(1, 2, 3), size=0.5, color=(1, 0, 0, 1)),
        DebugPrimitive(kind="arrow", start=(0, 0, 0), end=(0, 0, 1), color=(0, 1, 0, 1)),
    ]
    overlays = iter([[None, shapes, None], None])
    viewer = play(env, steps=2, debug_overlay_getter=lambda: next(overlays))
    points, radii, colors = viewer.frames[0]["debug/spheres"]
    assert (points.tolist(), radii.tolist(), colors.tolist()) == ([[11, 2, 3]], [0.5], [[1, 0, 0]])
    starts, ends, _ = viewer.frames[0]["debug/arrows"]
    assert (starts.tolist(), ends.tolist()) == ([[10, 0, 0]], [[10, 0, 1]])
    assert viewer.frames[0]["debug/lines"] is None
    assert viewer.frames[1]["debug/spheres"] is None


def test_a_snapshot_is_shown_instead_of_the_present(env):
    past = env.get_physics_state_snapshot()
    poses = env.backend.body_poses(env.backend.body_names).numpy().copy()
    viewer = play(env, steps=5, frame_state_getter=lambda: past)
    np.testing.assert_allclose(viewer.frames[-1]["bodies"], poses, atol=1e-5)


def test_closing_the_window_ends_the_playing_and_stopping_the_clock_only_waits(env, monkeypatch):
    init = Viewer.__init__

    def impatient(self, width, height):
        init(self, width, height)
        self.shown, self.paused = 4, 2  # two frames more while the clock stands still

    monkeypatch.setattr(Viewer, "__init__", impatient)
    taken = []
    hooks = {"initialize": lambda: None, "step": lambda carry: taken.append(env.step(torch.ones(N, 1)))}
    env.run_playback_mode(play_render_mode="interactive", play_steps=None, output_video=None, **hooks)
    assert len(Viewer.made.frames) == 4
    assert len(taken) == 2
    env.init_play_renderer()
    previous = Viewer.made
    env.init_play_renderer(headless=True, capture=True, width=64, height=64)
    assert previous.closed


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb, a display without a screen")
@pytest.mark.skipif(importlib.util.find_spec("pyglet") is None, reason="needs benchmark-app[viewer]")
def test_newtons_own_viewer_opens_and_shows(cartpoles, monkeypatch):
    number = f":{os.getpid() % 1000 + 100}"
    screen = subprocess.Popen(["Xvfb", number, "-screen", "0", "800x600x24"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        monkeypatch.setenv("DISPLAY", number)
        dot = [DebugPrimitive(kind="sphere", start=(0, 0, 1))]
        cartpoles.init_play_renderer(width=320, height=240)
        for overlay in ([dot, None, None], None):
            assert cartpoles._show(None, overlay)
            assert cartpoles._show(cartpoles.get_physics_state_snapshot(), overlay)
    finally:
        cartpoles._drop_play_renderer()
        screen.kill()
        screen.wait()
