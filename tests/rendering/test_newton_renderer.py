"""What is Newton's renderer's own: quality, streams of launches, and that what is only seen is only seen."""

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
wp = pytest.importorskip("warp")

from benchmark_app.physics import make_backend  # noqa: E402
from benchmark_app.rendering import make_renderer  # noqa: E402
from benchmark_app.rendering.newton import kernels  # noqa: E402
from tests.conftest import ROOT  # noqa: E402

from .known import FRONT, MOUNTED, place, scene  # noqa: E402

pytestmark = pytest.mark.engine


def drawn(cameras, positions, spec=None):
    spec = spec or scene(len(positions))
    backend = make_backend("newton_mjwarp", spec, "cpu")
    place(backend, positions)
    renderer = make_renderer("newton", backend, spec, cameras)
    renderer.update()
    renderer.render()
    color = {name: picture.clone() for name, picture in renderer.color.items()}
    renderer.close()
    backend.close()
    return color


def test_a_floor_that_is_only_seen_changes_no_motion():
    moved = []
    for floor in (None, 0.9):  # in the middle of the box
        spec = dataclasses.replace(scene(2), floor=floor)
        backend = make_backend("newton_mjwarp", spec, "cpu")
        place(backend, [(0.1, 0.0), (0.2, -0.3)])
        for _ in range(20):
            backend.step(torch.tensor([[5.0, -3.0], [1.0, 1.0]]))
        moved.append(torch.cat([backend.joint_pos, backend.joint_vel], 1).clone())
        backend.close()
    assert torch.equal(*moved)


def test_what_touches_is_seen_beside_what_does_not(tmp_path):
    both = tmp_path / "both.xml"
    text = (
        Path(scene(1).mjcf)
        .read_text()
        .replace(
            '<geom type="box"',
            '<geom type="sphere" size="0.3" pos="0 0 -0.5" contype="1" conaffinity="1"/><geom type="box"',
        )
    )
    both.write_text(text)
    spec = dataclasses.replace(scene(1), mjcf=str(both), max_contacts=0, floor=None)
    (picture,) = drawn([FRONT], [(0.0, 0.0)], spec).values()
    (without,) = drawn([FRONT], [(0.0, 0.0)], dataclasses.replace(scene(1), floor=None)).values()
    changed = (picture != without).any(-1)[0]
    column, line, _ = FRONT.project((0.0, 0.0, 0.5))
    assert changed[int(line), int(column)]


@pytest.mark.slow
def test_shadows_squares_and_smooth_edges_are_what_a_camera_asks_for():
    plain = dataclasses.replace(FRONT, name="plain", position=(0.0, -3.0, 3.0), data_types=("rgb",))
    cameras = [
        plain,
        dataclasses.replace(plain, name="shadows", shadows=True),
        dataclasses.replace(plain, name="checkered", checkered=True),
        dataclasses.replace(plain, name="smooth", samples=4),
    ]
    color = {name: picture[0].int() for name, picture in drawn(cameras, [(0.0, 0.0)]).items()}
    darker = (color["shadows"] < color["plain"]).any(-1)
    assert 0.003 < darker.float().mean() < 0.5
    assert (color["shadows"] <= color["plain"]).all()
    corner = color["plain"][20:, :12].reshape(-1, 3)
    assert len(corner.unique(dim=0)) == 1, "a plain floor has one colour"
    assert len(color["checkered"][20:, :12].reshape(-1, 3).unique(dim=0)) == 2
    assert len(color["smooth"].reshape(-1, 3).unique(dim=0)) > len(color["plain"].reshape(-1, 3).unique(dim=0))


def test_a_camera_on_a_link_there_is_not_is_refused_by_name():
    backend = make_backend("newton_mjwarp", scene(1), "cpu")
    with pytest.raises(ValueError, match=r"camera front: there is no link 'elbow'; the robot has \['box', 'ball'\]"):
        make_renderer("newton", backend, scene(1), [dataclasses.replace(FRONT, link="elbow")])
    backend.close()


def test_drawing_may_be_recorded_with_the_engine_and_gives_the_same():
    import warp as wp

    spec = scene(2)
    backend = make_backend("newton_mjwarp", spec, "cpu")
    renderer = make_renderer("newton", backend, spec, [FRONT])
    rows = torch.tensor([True, False])
    place(backend, [(0.0, 0.0), (0.0, 0.0)])
    renderer.update()
    renderer.render()
    with wp.ScopedCapture(device="cpu") as capture:
        renderer.update()
        renderer.render(rows, count=2)
    before = renderer.color["front"].clone()
    place(backend, [(0.7, 0.1), (0.7, 0.1)])
    wp.capture_launch(capture.graph)
    recorded = renderer.color["front"].clone()
    assert torch.equal(recorded[1], before[1])
    assert not torch.equal(recorded[0], before[0])
    renderer.update()
    renderer.render()
    assert torch.equal(recorded[0], renderer.color["front"][0])
    renderer.close()
    backend.close()


def test_nothing_is_left_to_be_compiled_or_loaded_once_it_is_made():
    from benchmark_app.envs.kernel_cache import KernelCache

    spec = scene(4)
    backend = make_backend("newton_mjwarp", spec, "cpu")
    place(backend, [(0.0, 0.0)] * 4)
    renderer = make_renderer("newton", backend, spec, [FRONT, MOUNTED])
    cache = KernelCache()
    for rows, count in ((None, None), (torch.tensor([True, False, False, False]), 1), (torch.tensor([True] * 4), 4)):
        renderer.update()
        renderer.render(rows, count)
    assert cache.loads == 0
    renderer.close()
    backend.close()


@pytest.mark.slow
def test_the_program_in_the_documentation_runs_word_for_word(capsys):
    page = (ROOT / "docs" / "rendering.md").read_text()
    exec(page.split("```python\n")[1].split("```")[0], {})
    assert "torch.Size([16, 64, 64, 3])" in capsys.readouterr().out


@pytest.mark.parametrize(("turns", "expected"), [(True, (3.0, 2.0, 3.0)), (False, (1.0, 0.0, 3.0))])
def test_a_mounted_camera_turns_with_its_link_or_only_goes_along(turns, expected):
    quarter = wp.quatf(0.0, 0.0, 2**-0.5, 2**-0.5)  # about z
    bodies = wp.array([[wp.transformf(wp.vec3f(1.0, 2.0, 3.0), quarter)]], dtype=wp.transformf, device="cpu")
    beside = wp.transformf(wp.vec3f(0.0, -2.0, 0.0), wp.quat_identity())
    places = wp.zeros(1, dtype=wp.transformf, device="cpu")
    kernels.launch(kernels.follow, 1, [bodies, 0, beside, turns], places)
    found = places.numpy()[0]
    assert found[:3] == pytest.approx(expected, abs=1e-6)
    assert found[3:] == pytest.approx(list(quarter) if turns else [0.0, 0.0, 0.0, 1.0], abs=1e-6)
