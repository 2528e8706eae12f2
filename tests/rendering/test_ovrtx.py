"""`rendering=ovrtx` up to the edge of ovrtx, which a double stands for: what it is told, what becomes of its tiles."""

import types
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from benchmark_app.rendering.base import BACKGROUND  # noqa: E402
from benchmark_app.rendering.rtx import ovrtx_calls  # noqa: E402
from benchmark_app.rendering.rtx.ovrtx import OvrtxRenderer  # noqa: E402
from benchmark_app.rendering.rtx.poses import matrices  # noqa: E402
from benchmark_app.rendering.rtx.tiled import cut, grid  # noqa: E402

from .known import FRONT, MOUNTED, scene  # noqa: E402
from .rtx_doubles import Ovrtx, drawn  # noqa: E402

N = 5
DEPTH_ONLY = replace(FRONT, name="depth only", data_types=("depth",), width=8, height=8, shadows=True)


class Engine:
    """An engine whose bodies stand where a test puts them."""

    num_envs, device, body_names = N, torch.device("cpu"), ("box", "ball")

    def __init__(self):
        self.poses = torch.zeros(N, 2, 7)
        self.poses[..., 6] = 1.0

    def body_poses(self, names):
        return self.poses[:, [self.body_names.index(name) for name in names]]


@pytest.fixture
def made(monkeypatch):
    double = Ovrtx(monkeypatch)
    monkeypatch.setattr(ovrtx_calls.torch.cuda, "current_stream", lambda device: types.SimpleNamespace(cuda_stream=0))
    engine = Engine()
    renderer = OvrtxRenderer(engine, scene(N), (FRONT, MOUNTED, DEPTH_ONLY))
    return double, engine, renderer


def test_tiles_are_cut_apart_row_by_row():
    for count in range(1, 11):
        columns, rows = grid(count)
        assert columns * rows >= count > columns * (rows - 1)
        color, _ = drawn(3, count, 6, 4)
        assert cut(color, count, 6, 4)[..., 0].flatten(1).unique(dim=1).flatten().tolist() == list(range(1, count + 1))


def test_the_stage_holds_a_robot_and_cameras_for_each_environment_in_partitions_of_their_own(made):
    double, _, _ = made
    text = double.text
    assert text.count("references = @") == N
    assert text.count("def Camera ") == 3 * N
    for index in range(N):
        assert text.count(f'primvars:omni:scenePartition = "env{index}"') == 1
        assert text.count(f' omni:scenePartition = "env{index}"') == 3
    assert 'def Mesh "floor"' in text
    assert "resolution = (144, 64)" in text, "five tiles of 48 x 32, in three columns"
    assert text.count("castShadows = true") == 1
    assert text.count("castShadows = false") == 2
    assert double.config["active_cuda_gpus"] == "0"


def test_a_camera_has_the_field_of_view_and_the_place_it_was_given(made):
    usd = pytest.importorskip("pxr.Usd")
    from pxr import Sdf, UsdGeom

    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(made[0].text)
    stage = usd.Stage.Open(layer)
    camera = UsdGeom.Camera(stage.GetPrimAtPath("/World/envs/env3/camera_front"))
    seen = camera.GetCamera(0)
    assert seen.GetFieldOfView(seen.FOVVertical) == pytest.approx(FRONT.fov, abs=1e-4)
    assert seen.aspectRatio == pytest.approx(FRONT.width / FRONT.height)
    frustum = seen.frustum
    assert tuple(frustum.GetPosition()) == pytest.approx(FRONT.position)
    assert tuple(frustum.ComputeViewDirection()) == pytest.approx((0, 1, 0), abs=1e-9)
    assert tuple(frustum.ComputeUpVector()) == pytest.approx((0, 0, 1), abs=1e-9)
    product = stage.GetPrimAtPath("/Render/camera_front")
    assert [str(path) for path in product.GetRelationship("camera").GetTargets()] == [
        f"/World/envs/env{index}/camera_front" for index in range(N)
    ]


def test_links_and_mounted_cameras_are_told_where_they_are(made):
    double, engine, renderer = made
    turned = (0.0, 0.0, 2**-0.5, 2**-0.5)  # a quarter turn about z
    engine.poses[2, 0] = torch.tensor([1.0, 2.0, 3.0, *turned])
    renderer.update()
    box = double.written["/World/envs/env2/robot/box"]
    point = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    assert (point @ box)[:3].tolist() == pytest.approx([1.0, 3.0, 3.0], abs=1e-6)
    assert set(double.written) == {
        f"/World/envs/env{index}/{path}" for index in range(N) for path in ("robot/box", "robot/ball", "camera_mounted")
    }
    camera = double.written["/World/envs/env2/camera_mounted"]
    x, y, z = MOUNTED.position
    assert camera[3, :3].tolist() == pytest.approx([1.0 - y, 2.0 + x, 3.0 + z], abs=1e-6)
    right = torch.tensor([*MOUNTED.axes[0], 0.0], dtype=torch.float64) @ box
    assert camera[0].tolist() == pytest.approx(right.tolist(), abs=1e-6)


def test_a_camera_that_only_goes_along_keeps_its_directions(monkeypatch):
    double, engine = Ovrtx(monkeypatch), Engine()
    monkeypatch.setattr(ovrtx_calls.torch.cuda, "current_stream", lambda device: types.SimpleNamespace(cuda_stream=0))
    renderer = OvrtxRenderer(engine, scene(N), (replace(MOUNTED, turns=False),))
    engine.poses[2, 0] = torch.tensor([1.0, 2.0, 3.0, 0.0, 0.0, 2**-0.5, 2**-0.5])
    renderer.update()
    camera = double.written["/World/envs/env2/camera_mounted"]
    x, y, z = MOUNTED.position
    assert camera[3, :3].tolist() == pytest.approx([1.0 + x, 2.0 + y, 3.0 + z], abs=1e-6)
    assert camera[0, :3].tolist() == pytest.approx(MOUNTED.axes[0], abs=1e-6)


def test_poses_become_the_matrices_of_rows():
    pose = torch.tensor([[1.0, 2.0, 3.0, 0.5, 0.5, 0.5, 0.5]])  # x to y, y to z, z to x
    found = matrices(pose)[0]
    assert found.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [1, 2, 3, 1]]


def test_every_row_gets_its_own_tile_and_what_no_ray_meets_is_background(made):
    _, _, renderer = made
    renderer.update()
    renderer.render()
    color, depth = renderer.color["front"], renderer.depth["front"]
    assert color.shape == (N, 32, 48, 3)
    assert color[:, :, :24, 0].flatten(1).unique(dim=1).flatten().tolist() == list(range(1, N + 1))
    assert (color[:, :, 24:] == torch.tensor(BACKGROUND, dtype=torch.uint8)).all()
    assert depth[:, 5, 5].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert (depth[:, :, 24:] == 0.0).all()
    assert color[0, 0, 0, 1] == 1
    assert renderer.color["mounted"][0, 0, 0, 1] == 2
    assert "depth only" not in renderer.color
    assert renderer.depth["depth only"].shape == (N, 8, 8)
    assert renderer.frames == 3 * N


def test_only_the_rows_asked_for_are_replaced(made):
    _, _, renderer = made
    for picture in (*renderer.color.values(), *renderer.depth.values()):
        picture.fill_(99)
    renderer.render(torch.tensor([False, True, False, False, True]))
    for picture in (*renderer.color.values(), *renderer.depth.values()):
        assert [bool((picture[row] == 99).all()) for row in range(N)] == [True, False, True, True, False]


def test_it_is_taken_down_once_bindings_first(made):
    double, _, renderer = made
    renderer.close()
    renderer.close()
    assert double.log[-3:] == ["unbind", "unbind", "destroy"]


def test_a_camera_on_a_link_there_is_not_is_refused_before_anything_is_started(monkeypatch):
    double = Ovrtx(monkeypatch)
    with pytest.raises(ValueError, match=r"camera front: there is no link 'elbow'; the robot has \['box', 'ball'\]"):
        OvrtxRenderer(Engine(), scene(N), (replace(FRONT, link="elbow"),))
    assert not double.alive
