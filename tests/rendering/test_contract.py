"""What every renderer must do, on every engine whose state it draws."""

import pytest

torch = pytest.importorskip("torch")

from benchmark_app.physics import availability, load_engine, make_backend  # noqa: E402
from benchmark_app.rendering import availability as renderers  # noqa: E402
from benchmark_app.rendering import launch_renderer, make_renderer  # noqa: E402
from benchmark_app.rendering.base import BACKGROUND  # noqa: E402

from .known import BALL, BOX, FRONT, MOUNTED, green, middle, place, red, scene  # noqa: E402

pytestmark = pytest.mark.engine

N = 3
POSITIONS = ((0.0, 0.0), (0.8, -0.1), (-0.9, 0.15))
CUDA = (pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here"))
CASES = [
    ("newton", "newton_mjwarp", "cpu"),
    ("newton", "newton_kamino", "cpu"),
    pytest.param(("newton", "ovphysx", "cpu"), marks=pytest.mark.ovphysx),
    pytest.param(("newton", "newton_mjwarp", "cuda"), marks=CUDA),
    pytest.param(("newton", "newton_kamino", "cuda"), marks=CUDA),
    pytest.param(("ovrtx", "newton_mjwarp", "cuda"), marks=CUDA),
    pytest.param(("ovrtx", "ovphysx", "cuda"), marks=(*CUDA, pytest.mark.ovphysx)),
    pytest.param(("isaacsim_rtx", "physx", "cuda"), marks=CUDA),
]


class Drawn:
    """An engine with the known scene, and a renderer that draws it."""

    def __init__(self, rendering, physics, device, num_envs=N):
        self.exact = rendering == "newton"  # rays through the middle of each pixel, and no noise
        load_engine(physics).launch(device)
        launch_renderer(rendering, device)
        self.backend = make_backend(physics, scene(num_envs), device)
        self.renderer = make_renderer(rendering, self.backend, scene(num_envs), [FRONT, MOUNTED])

    def draw(self, positions, rows=None):
        """Place every row, take the state over and draw; colours and depths of both cameras, copied."""
        place(self.backend, positions)
        self.renderer.update()
        self.renderer.render(rows)
        return self.pictures()

    def pictures(self):
        parts = (self.renderer.color, self.renderer.depth)
        return {(name, i): part[name].cpu().clone() for i, part in enumerate(parts) for name in part}

    def close(self):
        self.renderer.close()
        self.renderer.close()
        self.backend.close()


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def drawn(request):
    rendering, physics, _ = request.param
    for problem in (availability.missing(physics), renderers.missing(rendering)):
        if problem:
            pytest.skip(problem)
    case = Drawn(*request.param)
    yield case
    case.close()


def test_shapes_types_and_devices_are_the_contracts(drawn):
    color, depth = drawn.renderer.color, drawn.renderer.depth
    assert {name: tuple(part.shape) for name, part in color.items()} == {
        "front": (N, 32, 48, 3),
        "mounted": (N, 32, 32, 3),
    }
    assert {name: tuple(part.shape) for name, part in depth.items()} == {"front": (N, 32, 48), "mounted": (N, 32, 32)}
    assert all(part.dtype is torch.uint8 and part.device == drawn.backend.device for part in color.values())
    assert all(part.dtype is torch.float32 and part.device == drawn.backend.device for part in depth.values())


def test_known_points_are_seen_where_the_camera_projects_them(drawn):
    color = drawn.draw(POSITIONS)["front", 0]
    for row, (x, z) in enumerate(POSITIONS):
        column, line, _ = FRONT.project((x, 0.0, 1.8 + z))
        assert middle(green(color[row])) == pytest.approx((column, line), abs=0.7)
        seen = red(color[row]).any(0).nonzero().flatten() + 0.5
        left, right = (FRONT.project((x + side, -BOX, 1.0))[0] for side in (-BOX, BOX))
        assert seen.min() == pytest.approx(left + 0.5, abs=1.0)
        assert seen.max() == pytest.approx(right - 0.5, abs=1.0 + 4 * abs(x))  # one of its sides is seen too


def test_depth_is_in_metres_along_the_optical_axis(drawn):
    tolerance = 1e-4 if drawn.exact else 1e-2
    found = drawn.draw(POSITIONS)
    for row, (x, z) in enumerate(POSITIONS):
        depth = found["front", 1][row]
        column, line, _ = FRONT.project((x, -BOX, 1.0))
        front = depth[int(line) - 1 : int(line) + 2, int(column) - 1 : int(column) + 2]
        assert front.flatten().tolist() == pytest.approx([4.0 - BOX] * front.numel(), abs=tolerance)
        column, line, _ = FRONT.project((x, 0.0, 1.8 + z))
        assert float(depth[int(line), int(column)]) == pytest.approx(4.0 - BALL, abs=0.05)


def test_the_floor_is_where_it_is_said_to_be(drawn):
    depth = drawn.draw(POSITIONS)["front", 1][0]
    for line in (25, 28, 31):
        down = (line + 0.5 - FRONT.height / 2) / FRONT.focal_length  # per metre forward
        assert float(depth[line, 0]) == pytest.approx(1.0 / down, rel=1e-3 if drawn.exact else 1e-2)


def test_a_ray_that_meets_nothing_gives_the_background_and_no_depth(drawn):
    found = drawn.draw(POSITIONS)
    above = slice(0, 4)  # over the horizon, and to the side of the ball
    assert (found["front", 0][:, above, :8] == torch.tensor(BACKGROUND, dtype=torch.uint8)).all()
    assert (found["front", 1][:, above, :8] == 0.0).all()
    assert (found["front", 1][:, 25:] > 0.0).all()


def test_a_mounted_camera_moves_with_its_link(drawn):
    found = drawn.draw(POSITIONS)
    for row in range(N):
        mask = red(found["mounted", 0][row])
        assert middle(mask) == pytest.approx((16.0, 16.0), abs=1.5)
        assert torch.equal(mask, red(found["mounted", 0][0]))
    away = torch.tensor([x for x, _ in POSITIONS])
    assert away.unique().numel() == N, "the box is elsewhere in every row"


def test_a_picture_does_not_depend_on_the_other_rows(drawn):
    together = drawn.draw(POSITIONS)
    others = drawn.draw([POSITIONS[0], (0.3, 0.3), (0.5, -0.5)])
    for key, picture in together.items():
        assert _alike(picture[0], others[key][0], drawn.exact)
        assert not _alike(picture[1], others[key][1], drawn.exact)


def test_only_the_rows_asked_for_are_drawn(drawn):
    before = drawn.draw(POSITIONS)
    frames = drawn.renderer.frames
    rows = torch.tensor([False, True, False], device=drawn.backend.device)
    after = drawn.draw([(-0.4, 0.2)] * N, rows)
    assert drawn.renderer.frames - frames == 2, "one row, two cameras"
    drawn.renderer.render()
    whole = drawn.pictures()
    for key in before:
        assert torch.equal(after[key][0], before[key][0])
        assert torch.equal(after[key][2], before[key][2])
        assert _alike(after[key][1], whole[key][1], drawn.exact)
        assert not torch.equal(after["front", 0][1], before["front", 0][1])
    drawn.renderer.render(torch.zeros_like(rows))
    assert all(torch.equal(drawn.pictures()[key], whole[key]) for key in whole)


@pytest.mark.parametrize("chosen", [(0,), (2,), (0, 2), (0, 1, 2)])
def test_whichever_rows_are_chosen_they_show_what_all_would(drawn, chosen):
    whole = drawn.draw(POSITIONS)
    before = drawn.draw([(0.4, 0.3)] * N)
    rows = torch.zeros(N, dtype=torch.bool, device=drawn.backend.device)
    rows[list(chosen)] = True
    after = drawn.draw(POSITIONS, rows)
    for key in whole:
        for row in range(N):
            expected = whole if row in chosen else before
            assert _alike(after[key][row], expected[key][row], drawn.exact)


def test_rows_of_another_kind_are_refused(drawn):
    for rows in (torch.ones(N), torch.ones(N + 1, dtype=torch.bool)):
        with pytest.raises(ValueError, match="rows: expected bool"):
            drawn.renderer.render(rows)


def test_pictures_follow_a_reset_and_a_step_once_the_state_is_taken_over(drawn):
    before = drawn.draw(POSITIONS)
    place(drawn.backend, [(0.5, 0.0)] * N)
    drawn.renderer.render()
    if drawn.exact:
        assert torch.equal(drawn.pictures()["front", 1], before["front", 1]), "nothing was taken over"
    drawn.renderer.update()
    drawn.renderer.render()
    reset = drawn.pictures()
    column, line, _ = FRONT.project((0.5, 0.0, 1.8))
    assert middle(green(reset["front", 0][2])) == pytest.approx((column, line), abs=0.7)
    for _ in range(20):
        drawn.backend.step(torch.tensor([[60.0, 0.0]], device=drawn.backend.device).repeat(N, 1))
    x = float(drawn.backend.joint_pos[2, 0])
    assert x > 0.7, "the force moved the box"
    drawn.renderer.update()
    drawn.renderer.render()
    column, line, _ = FRONT.project((x, 0.0, 1.8))
    assert middle(green(drawn.pictures()["front", 0][2])) == pytest.approx((column, line), abs=0.7)


def test_what_is_drawn_is_counted_and_timed(drawn):
    frames, seconds = drawn.renderer.frames, drawn.renderer.seconds
    drawn.draw(POSITIONS)
    assert drawn.renderer.frames - frames == 2 * N
    assert drawn.renderer.seconds > seconds


def _alike(one, other, exact):
    return torch.equal(one, other) if exact else bool(((one.float() - other.float()).abs() > 8).float().mean() < 0.02)
