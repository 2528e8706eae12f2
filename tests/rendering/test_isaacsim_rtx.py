"""`rendering=isaacsim_rtx` up to the edge of Isaac Sim, which a double stands for: what is called, in which order."""

from dataclasses import replace

import pytest
import warp as wp

torch = pytest.importorskip("torch")

from benchmark_app.rendering import launch_renderer  # noqa: E402
from benchmark_app.rendering.base import BACKGROUND  # noqa: E402
from benchmark_app.rendering.rtx.isaacsim import IsaacSimRtxRenderer, overlay_text  # noqa: E402

from .known import FRONT, MOUNTED, scene  # noqa: E402
from .rtx_doubles import Kit, layers  # noqa: E402
from .test_ovrtx import Engine, N  # noqa: E402

CAMERAS = (FRONT, MOUNTED, replace(FRONT, name="far", data_types=("depth",)))


def made(monkeypatch):
    wp.init()  # as the engine did
    kit = Kit(monkeypatch)
    launch_renderer("isaacsim_rtx", "cuda")
    return kit, IsaacSimRtxRenderer(Engine(), scene(N), CAMERAS)


def test_what_takes_poses_to_the_renderer_is_enabled_before_there_is_a_scene(monkeypatch):
    kit = Kit(monkeypatch)
    launch_renderer("isaacsim_rtx", "cuda")
    assert kit.enabled == ["omni.physx.fabric", "omni.replicator.core"]
    assert kit.settings["/physics/fabricUseGPUInterop"] is True
    assert kit.settings["/app/player/playSimulations"] is False
    assert not kit.products


def test_an_extension_it_has_not_is_named(monkeypatch):
    Kit(monkeypatch, lacks=("omni.replicator.core",))
    with pytest.raises(RuntimeError, match=r"Isaac Sim lacks omni\.replicator\.core; install isaacsim"):
        launch_renderer("isaacsim_rtx", "cuda")


def test_cameras_are_laid_over_the_engines_stage_each_in_its_partition(monkeypatch):
    kit, _ = made(monkeypatch)
    (layer,) = kit.sublayers
    text = layers[layer].text
    assert "references" not in text, "the robots are the engine's"
    assert text.count("def Camera ") == len(CAMERAS) * N
    assert text.count('primvars:omni:scenePartition = "env3"') == 1
    assert kit.engines == ["rtx"]
    front, mounted, far = kit.products
    assert front.cameras == [f"/World/envs/env{index}/camera_front" for index in range(N)]
    assert mounted.cameras == [f"/World/envs/env{index}/robot/box/camera_mounted" for index in range(N)]
    assert (front.size, far.size) == ((48, 32), (48, 32))


def test_the_layer_is_usd_that_opens_over_a_stage():
    usd = pytest.importorskip("pxr.Usd")
    from pxr import Sdf, UsdGeom

    stage = usd.Stage.CreateInMemory()
    for path in ("/World/envs/env0", "/World/envs/env0/robot", "/World/envs/env0/robot/box"):
        UsdGeom.Xform.Define(stage, path)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(overlay_text(scene(1), CAMERAS))
    stage.GetRootLayer().subLayerPaths.append(layer.identifier)
    assert stage.GetPrimAtPath("/World/envs/env0/robot/box/camera_mounted").IsA(UsdGeom.Camera)
    assert stage.GetPrimAtPath("/World/envs/env0").GetAttribute("primvars:omni:scenePartition").Get() == "env0"


def test_every_row_gets_its_own_tile_after_poses_were_taken_over(monkeypatch):
    kit, renderer = made(monkeypatch)
    kit.loading = 9
    renderer.update()
    renderer.render()
    assert kit.log[0] == "fabric"
    assert kit.log.count("update") == 9, "as long as the stage is loading"
    color, depth = renderer.color["front"], renderer.depth["front"]
    assert color[:, :, :24, 0].flatten(1).unique(dim=1).flatten().tolist() == list(range(1, N + 1))
    assert (color[:, :, 24:] == torch.tensor(BACKGROUND, dtype=torch.uint8)).all()
    assert depth[:, 5, 5].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert (depth[:, :, 24:] == 0.0).all()
    assert set(renderer.color) == {"front", "mounted"}
    kit.log.clear()
    renderer.update()
    renderer.render()
    assert kit.log == ["fabric", "update"], "one frame, once the pipeline is warm"


def test_it_leaves_the_stage_as_it_found_it(monkeypatch):
    kit, renderer = made(monkeypatch)
    renderer.close()
    renderer.close()
    assert kit.log == ["destroy"] * len(CAMERAS)
    assert kit.sublayers == []


def test_what_one_application_cannot_have_at_once_is_refused(monkeypatch):
    Kit(monkeypatch)
    with pytest.raises(ValueError, match="has shadows for all cameras or for none"):
        IsaacSimRtxRenderer(Engine(), scene(N), (FRONT, replace(MOUNTED, shadows=True)))
    with pytest.raises(ValueError, match=r"camera front: there is no link 'elbow'"):
        IsaacSimRtxRenderer(Engine(), scene(N), (replace(FRONT, link="elbow"),))
    with pytest.raises(ValueError, match=r"camera mounted: rendering=isaacsim_rtx turns a camera that goes along"):
        IsaacSimRtxRenderer(Engine(), scene(N), (replace(MOUNTED, turns=False),))
