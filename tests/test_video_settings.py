"""What is asked of a video is refused in a line where it cannot be, and decides the rate, the size and the camera."""

import importlib.metadata
from functools import cache

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from benchmark_app import config
from benchmark_app.installation import installation_problems
from benchmark_app.launch.workload import settings_of
from benchmark_app.places import conf_dir
from benchmark_app.settings import SettingError
from benchmark_app.video_settings import frame_stride, video_renderer, video_rows, video_view

GROUPS = ("workflow", "task", "execution", "rendering")


@cache
def composed(*choices):
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return compose("config", overrides=list(choices))


def settings(*overrides):
    """Checked settings; what Hydra composes for the same choices is composed once."""
    choices = [each for each in overrides if each.partition("=")[0] in GROUPS]
    values = [each.removeprefix("+") for each in overrides if each not in choices]
    node = composed(*choices).copy()
    OmegaConf.set_struct(node, False)
    return config.check(OmegaConf.merge(node, OmegaConf.from_dotlist(values)), [])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["play.video=true", "workflow=training"], r"play.video=true: workflow=training does no play"),
        (["training.video_interval=5", "workflow=runtime"], r"training.video_interval=5: workflow=runtime does no tr"),
        (["training.video_interval=-1"], r"training.video_interval=-1: must be at least 0"),
        (["play.video=true", "play.episodes=0"], r"play.episodes=0: must be at least 1"),
        (["video.envs=0"], r"video.envs=0: must be greater than 0 and at most 1024"),
        (["video.seconds=0"], r"video.seconds=0.0: must be greater than 0"),
        (["video.fps=1000"], r"video.fps=1000.0: must be greater than 0 and at most 240"),
        (["video.width=641"], r"video.width=641: must be an even number from 16 to 8192"),
        (["video.height=0"], r"video.height=0: must be an even number"),
        (
            ["play.video=true", "video.envs=900", "play.episodes=900"],
            r"video.envs=900: 900 pictures in a frame of 640 x",
        ),
        (["video.camera_position=[1,2,3]"], r"video.camera_target=null: a camera needs both"),
        (
            ["video.camera_position=[1,2]", "video.camera_target=[0,0,0]"],
            r"video.camera_position=\[1.0, 2.0\]: must be th",
        ),
        (
            ["video.camera_position=x", "video.camera_target=[0,0,0]"],
            r"video.camera_position=x: must be a list of numbers",
        ),
        (
            ["video.camera_position=[1,2,3]", "video.camera_target=[1,2,3]"],
            r"video.camera_target=\(1.0, 2.0, 3.0\): must",
        ),
        (["video.camera_fov=180"], r"video.camera_fov=180.0: must be between 0 and 180 degrees"),
        (["play.video=true", "execution=served", "execution.python=python3"], r"has the engine elsewhere"),
        (["+video.zoom=2"], r"video.zoom=2: no such setting"),
    ],
)
def test_a_video_that_cannot_be_is_refused_in_one_line(overrides, message):
    with pytest.raises(SettingError, match=message) as error:
        settings(*overrides)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("fps", "stride"), [(60, 1), (240, 1), (59.9, 2), (30, 2), (25, 3), (20, 3), (1, 60)]
)  # cartpole is controlled at 60 Hz
def test_a_frame_stands_for_whole_control_steps_at_the_nearest_rate_below(fps, stride):
    s = settings(f"video.fps={fps}")
    assert frame_stride(s) == stride
    assert 1 / (stride * s.task.control_dt) <= fps + 1e-9 or stride == 1


def test_no_more_episodes_are_shown_than_played():
    assert video_rows(settings("video.envs=9", "play.episodes=3")) == 3
    assert video_rows(settings("video.envs=2", "play.episodes=3")) == 2


def test_newton_draws_where_the_run_has_no_renderer():
    assert video_renderer(settings()) == "newton"
    assert video_renderer(settings("rendering=newton")) == "newton"


def test_the_camera_is_the_tasks_unless_another_is_asked_for():
    task = settings("task=ant")
    assert video_view(task) == task.task.view
    assert video_view(task).link == "torso"
    still = video_view(settings("task=ant", "video.camera_position=[0,0,9]", "video.camera_target=[0,0,0]"))
    assert (still.position, still.target, still.link) == ((0, 0, 9), (0, 0, 0), None)
    assert video_view(settings("task=ant", "video.camera_fov=60")).fov == 60


def test_what_is_recorded_is_no_part_of_what_was_measured():
    recorded = settings("play.video=true", "training.video_interval=7", "video.envs=1", "checkpoint=null")
    for workflow in ("training", "play"):
        assert settings_of(recorded, workflow) == settings_of(settings(), workflow)


def test_a_missing_encoder_is_named_with_the_way_to_get_it_before_anything_starts(monkeypatch):
    checked, plain = settings("play.video=true"), settings()
    real = importlib.metadata.version

    def version(name):
        if name == "imageio-ffmpeg":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert installation_problems(checked) == [
        "play.video=true: needs the package imageio-ffmpeg; type: pip install 'benchmark-app[video]'"
    ]
    assert installation_problems(plain) == []
