"""What cannot be drawn is refused in a line, before anything is imported or built."""

import dataclasses
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch")

from benchmark_app.profiling.host import gpu  # noqa: E402
from benchmark_app.profiling.host.interpreter import Interpreter  # noqa: E402
from benchmark_app.rendering import availability, make_renderer  # noqa: E402
from benchmark_app.rendering.catalogue import RENDERERS, undrawable  # noqa: E402

from .known import FRONT, scene  # noqa: E402

WRONG_ENGINE = "rendering=isaacsim_rtx: draws physics=physx only; choose that, or another"
ENGINE = types.SimpleNamespace(num_envs=2, device=torch.device("cpu"))


def test_none_and_unknown_names_draw_nothing():
    for name in ("none", "openusd"):
        with pytest.raises(ValueError, match=f"rendering={name}: draws nothing; choose one of isaacsim_rtx, newton"):
            make_renderer(name, ENGINE, scene(2), [FRONT])


def test_no_camera_and_two_of_one_name_are_refused():
    with pytest.raises(ValueError, match="needs at least one camera"):
        make_renderer("newton", ENGINE, scene(2), [])
    with pytest.raises(ValueError, match="two are called 'front'"):
        make_renderer("newton", ENGINE, scene(2), [FRONT, FRONT])


def test_a_renderer_of_usd_files_needs_one():
    with pytest.raises(ValueError, match=r"rendering=ovrtx builds from USD files and the task names none"):
        make_renderer("ovrtx", ENGINE, dataclasses.replace(scene(2), usd=None), [FRONT])


def test_a_device_the_renderer_has_not_is_refused():
    with pytest.raises(ValueError, match="rendering=ovrtx: draws on cuda only, the engine is on cpu"):
        make_renderer("ovrtx", ENGINE, scene(2), [FRONT])


@pytest.mark.parametrize(
    ("name", "physics", "device", "problem"),
    [
        ("none", "physx", "cpu", ""),
        ("newton", "ovphysx", "cpu", ""),
        ("newton", "newton_mjwarp", "cuda:1", ""),
        ("ovrtx", "newton_mjwarp", "auto", ""),
        ("ovrtx", "ovphysx", "cpu", "device=cpu: rendering=ovrtx draws on cuda only; set device=cuda"),
        ("isaacsim_rtx", "physx", "cuda", ""),
        (
            "isaacsim_rtx",
            "ovphysx",
            "cuda",
            "rendering=isaacsim_rtx: draws physics=physx only; choose that, or another",
        ),
    ],
)
def test_an_engine_or_a_device_a_renderer_cannot_draw_is_refused_by_name(name, physics, device, problem):
    assert undrawable(name, physics, device) == problem


def test_all_that_a_renderer_lacks_stands_in_one_line(monkeypatch):
    monkeypatch.setattr(gpu, "devices", list)
    monkeypatch.delenv("OMNI_KIT_ACCEPT_EULA", raising=False)
    bare = Interpreter((3, 11), dict.fromkeys(availability.distributions("isaacsim_rtx")))
    assert availability.missing("isaacsim_rtx", bare) == (
        "needs Python 3.12 instead of 3.11 (name one by worker.python=PATH), the packages isaacsim>=6.2,<6.3, "
        "isaacsim-kernel, isaacsim-extscache-kit and warp-lang (type: pip install 'isaacsim[all,extscache]==6.2.*' "
        "--extra-index-url https://pypi.nvidia.com), an NVIDIA GPU with its driver (none is seen) and your acceptance "
        "of the NVIDIA Omniverse License Agreement (if you accept, type: export OMNI_KIT_ACCEPT_EULA=YES)"
    )
    bare = Interpreter((3, 11), {"ovrtx": None})
    assert availability.missing("ovrtx", bare) == (
        "needs the package ovrtx>=0.5,<0.7 (type: pip install 'ovrtx>=0.5,<0.7' --extra-index-url "
        "https://pypi.nvidia.com) and an NVIDIA GPU with its driver (none is seen)"
    )
    assert availability.missing("none") == ""


@pytest.mark.parametrize("name", sorted(name for name in RENDERERS if availability.missing(name)))
def test_a_renderer_that_is_not_here_is_refused_in_one_line_and_nothing_is_left_behind(name, tmp_path):
    physics = RENDERERS[name].engines or ("newton_mjwarp",)
    done = subprocess.run(
        [sys.executable, "-m", "benchmark_app", f"rendering={name}", f"physics={physics[0]}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"rendering={name}: {availability.missing(name)}" in line or line.startswith(
        f"benchmark_app: error: physics={physics[0]}: needs"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_renderer_is_started_after_the_engine_and_before_its_scene_and_only_where_images_are_observed(monkeypatch):
    from benchmark_app.tasks import cartpole, cartpole_camera

    from benchmark_app.envs import make

    class Built(Exception):
        pass

    def build(*args, **settings):
        calls.append("scene")
        raise Built

    engine = types.SimpleNamespace(launch=lambda device: calls.append("engine"))
    monkeypatch.setattr(make, "load_engine", lambda name: engine)
    monkeypatch.setattr(make, "launch_renderer", lambda name, device: calls.append(name))
    monkeypatch.setattr(make, "make_backend", build)
    for task, expected in ((cartpole_camera, ["engine", "newton", "scene"]), (cartpole, ["engine", "scene"])):
        calls = []
        with pytest.raises(Built):
            make.make_env(task.Cfg(), "newton_mjwarp", 2)
        assert calls == expected
