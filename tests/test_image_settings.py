"""Tasks, renderers, cameras and encoders that do not go together are refused in one line, before anything starts."""

from __future__ import annotations

import re

import pytest

from benchmark_app.cli import main
from benchmark_app.compose import settings_of

CAMERA = ("task=cartpole_camera", "rendering=newton", "device=cpu")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["task=cartpole_camera"],
            r"=none: task=cartpole_camera observes images \(depth\); set rendering=newton",
        ),
        (["task=cartpole_camera", "workflow=runtime"], r"rendering=none: .*set rendering=newton"),
        (["camera=rgb64"], r"camera=rgb64: task=cartpole sees through no camera; choose a task that does"),
        (["encoder=cnn"], r"agent\.encoder=cnn: task=cartpole observes no images; leave it out"),
        (
            [*CAMERA, "agent.encoder=null"],
            r"encoder=null: task=cartpole_camera observes images; set encoder=cnn",
        ),
        ([*CAMERA, "agent.encoder=vit"], r"agent\.encoder=vit: must be cnn or null"),
        ([*CAMERA, "agent.encoder_strides=[2]"], r"encoder_strides=\[2\]: must have 2 entries, one for each of"),
        ([*CAMERA, "agent.encoder_channels=[]"], r"encoder_channels=\[\]: must be a list of positive numbers"),
        ([*CAMERA, "encoder=nature"], r"agent\.encoder_kernels=\[8, 4, 3\]: leave nothing of depth, 24x64 pixels"),
        ([*CAMERA, "agent.normalize_observations=true"], r"normalize_observations=true: the task observes images only"),
        ([*CAMERA, "task.image_type=x"], r"task\.image_type=x: must be one of rgb, depth"),
        ([*CAMERA, "agent=sac", "framework=skrl", "encoder=cnn"], r"agent\.encoder=cnn: skrl cannot do it: only this"),
        (
            ["task=reach_camera", "rendering=newton", "framework=skrl", "agent.normalize_observations=true"],
            r"normalize_observations=True: skrl cannot do it: skrl would normalise the images",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status = main(arguments)
    out, err = capsys.readouterr()
    assert (status, out, len(err.splitlines())) == (2, "", 1), err
    assert re.search(message, err), err
    assert list(tmp_path.iterdir()) == []


def test_presets_of_camera_and_encoder_reach_the_settings_and_are_recorded():
    settings = settings_of([*CAMERA, "camera=rgb64", "encoder=nature"])
    assert settings.presets == ["ppo", "rgb64", "nature", "host_return"]
    (image,) = settings.task.image_groups().values()
    assert (image.shape, image.dtype) == ((64, 64, 6), "uint8")
    assert settings.agent.encoder_kernels == [8, 4, 3]
    assert settings_of([*CAMERA, "workflow=runtime"]).presets == ["ppo", "host_return"]


def test_a_task_without_images_may_be_given_a_renderer():
    assert settings_of(["rendering=newton", "device=cpu"]).rendering.name == "newton"
