"""An environment shown to people: frames in which each row has its picture, snapshots, overlays and videos."""

import importlib.util
import subprocess

import numpy as np
import pytest
import torch
from benchmark_app.tasks.ant import Cfg as AntCfg
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.envs.make import make_env
from benchmark_app.rendering.grid import arrange
from benchmark_app.rendering.mp4 import VideoError, find_encoder
from benchmark_app.rendering.play_cfg import DebugPrimitive

pytestmark = pytest.mark.engine

N = 4
WIDTH, HEIGHT = 128, 96


@pytest.fixture(scope="module")
def cartpoles():
    env = make_env(Cfg(), "newton_mjwarp", N)
    env.init_state()
    yield env
    env.close()


@pytest.fixture
def env(cartpoles):
    """Four cartpoles, apart from one another; row 2 pushed to the right for a while."""
    cartpoles.seed(0)
    cartpoles.reset()
    for _ in range(20):
        cartpoles.step(torch.tensor([[0.0], [0.0], [1.0], [0.0]]))
    return cartpoles


def show(env, **options):
    env.init_play_renderer(headless=True, capture=True, width=WIDTH, height=HEIGHT, **options)
    return env.capture_play_video_frame()


def tile_of(frame, row, count=N):
    grid = arrange(count, WIDTH, HEIGHT)
    (x, y), (across, down) = grid.corner(row), grid.tile
    return frame[y : y + down, x : x + across]


def cart_column(picture):
    """Where the blue cart is in a picture, as a share of its width."""
    blue = (picture[..., 2].astype(int) - picture[..., 0] > 60) & (picture[..., 0] < 120)
    assert blue.any()
    return np.argwhere(blue)[:, 1].mean() / picture.shape[1]


def test_each_row_has_its_own_picture_side_by_side(env):
    frame = show(env)
    assert frame.shape == (HEIGHT, WIDTH, 3)
    assert frame.dtype == np.uint8
    columns = [cart_column(tile_of(frame, row)) for row in range(N)]
    order = np.argsort(env.backend.joint_pos[:, 0].numpy())
    assert list(np.argsort(columns)) == list(order)


def test_a_camera_that_names_an_environment_shows_it_alone(env):
    camera = {"position": (0.0, -6.2, 1.5), "target": (0.0, 0.0, 0.1), "env_index": 2}
    alone = show(env, camera_kwargs=camera)
    assert cart_column(alone) == pytest.approx(cart_column(tile_of(show(env), 2)), abs=0.02)


def test_a_frame_is_the_callers(env):
    frame = show(env)
    kept = frame.copy()
    env.step(torch.ones(N, 1))
    env.capture_play_video_frame()
    assert (frame == kept).all()


def test_a_snapshot_is_drawn_as_the_moment_it_is_of(env):
    frames, snapshots = [], []
    env.init_play_renderer(headless=True, capture=True, width=WIDTH, height=HEIGHT)
    for _ in range(2):
        frames.append(env.capture_play_video_frame())
        snapshots.append(env.get_physics_state_snapshot())
        for _ in range(10):
            env.step(-torch.ones(N, 1))
    for frame, snapshot in zip(frames, snapshots, strict=True):
        again = env._play_renderer.capture(snapshot)
        assert np.mean((again != frame).any(-1)) < 0.002  # rounding at an edge
    assert np.mean((frames[0] != frames[1]).any(-1)) > 0.005


def test_a_snapshot_of_another_size_is_refused(env):
    env.init_play_renderer(headless=True, capture=True, width=WIDTH, height=HEIGHT)
    with pytest.raises(ValueError, match=r"physics state: expected shape \[4, 5\], got \[3, 5\]"):
        env._play_renderer.capture(env.get_physics_state_snapshot()[:3])


def test_shapes_are_drawn_into_the_picture_of_their_environment(env):
    dot = DebugPrimitive(kind="sphere", start=(0.0, 0.0, 0.8), size=0.3, color=(1.0, 0.0, 1.0, 1.0))
    plain = show(env)
    drawn = env._play_renderer.capture(None, [None, [dot], None, None])
    for row in range(N):
        changed = (tile_of(drawn, row) != tile_of(plain, row)).any()
        assert changed == (row == 1)


def test_more_pictures_than_fit_are_refused(env):
    with pytest.raises(ValueError, match="too small to show anything"):
        env.init_play_renderer(headless=True, capture=True, width=24, height=24)


def test_a_camera_that_goes_along_keeps_the_robot_in_the_middle_and_shapes_on_it():
    env = make_env(AntCfg(), "newton_mjwarp", 1)
    env.init_state()
    backend = env.backend
    far = [part.clone() for part in backend.robot_state.values()]
    far[list(backend.robot_state).index("root_pose")][:, :2] += torch.tensor([7.0, -3.0])
    frames, dots = [], []
    for start in ([part.clone() for part in backend.robot_state.values()], far):
        backend.reset_rows(torch.ones(1, dtype=torch.bool), *start)
        torso = tuple(backend.root_pose[0, :3].tolist())
        plain = show(env)
        dot = DebugPrimitive(kind="sphere", start=torso, size=0.1, color=(1.0, 0.0, 1.0, 1.0))
        drawn = env._play_renderer.capture(None, [[dot]])
        frames.append(plain)
        dots.append(np.argwhere((drawn == (255, 0, 255)).all(-1)).mean(0))
    env.close()
    blue = [np.argwhere(frame[..., 2].astype(int) - frame[..., 0] > 60).mean(0) for frame in frames]
    assert np.abs(blue[0] - blue[1]).max() < 3  # the torso, wherever it is
    assert np.abs(dots[0] - dots[1]).max() < 1
    assert np.abs(dots[1] - blue[1]).max() < 8


def test_recording_a_rollout_leaves_a_video_of_its_steps(env, tmp_path):
    def step(carry):
        env.step(torch.zeros(N, 1))

    hooks = {"initialize": lambda: None, "step": step}
    options = {"play_render_mode": "record", "play_steps": 3}
    path = str(tmp_path / "a.mp4")
    assert env.run_playback_mode(output_video=path, **options, **hooks) == path
    told = subprocess.run([find_encoder(), "-i", path], capture_output=True, text=True, check=False).stderr
    assert "1280x720" in told
    assert f"{1 / env.cfg.control_dt:.0f} fps" in told
    assert "Duration: 00:00:00.05" in told
    with pytest.raises(VideoError, match="cannot be written"):
        env.run_playback_mode(output_video="/proc/none/a.mp4", **options, **hooks)


def test_render_gives_a_picture_of_the_present_state(env):
    picture = env.render()
    assert picture.shape == (720, 1280, 3)
    assert picture.dtype == np.uint8


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")
def test_frames_on_cuda_are_those_on_a_cpu():
    frames = []
    for device in ("cpu", "cuda"):
        env = make_env(Cfg(), "newton_mjwarp", N, device)
        env.init_state()
        for _ in range(5):
            env.step(torch.ones(N, 1, device=device))
        frames.append(show(env))
        env.close()
    assert np.mean((np.abs(frames[0].astype(int) - frames[1]) > 8).any(-1)) < 0.01


@pytest.mark.skipif(importlib.util.find_spec("pyglet") is not None, reason="the viewer's packages are installed")
def test_a_window_names_the_packages_it_needs(env, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(
        RuntimeError, match=r"needs the packages pyglet and .*; type: pip install 'benchmark-app\[viewer"
    ):
        env.init_play_renderer()
