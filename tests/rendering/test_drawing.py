"""Shapes stand where the camera sees them, and a line of text says what a picture shows."""

import numpy as np
import pytest

from benchmark_app.rendering.camera import CameraSpec
from benchmark_app.rendering.drawing import draw_over
from benchmark_app.rendering.grid import arrange
from benchmark_app.rendering.play_cfg import DebugPrimitive, seen_from

CAMERA = CameraSpec(name="c", width=80, height=60, position=(0.0, -4.0, 0.0), target=(0.0, 0.0, 0.0))
RED, GREEN = (255, 0, 0), (0, 255, 0)


def blank(camera=CAMERA):
    return np.full((camera.height, camera.width, 3), 90, np.uint8)


def drawn(*shapes, camera=CAMERA, **options):
    return draw_over(blank(camera), camera, shapes, **options)


def sphere(at, size=0.1, color=(1.0, 0.0, 0.0, 1.0)):
    return DebugPrimitive(kind="sphere", start=at, size=size, color=color)


def pixels(picture, color=RED):
    """Rows and columns that have a colour."""
    return np.argwhere((picture == color).all(-1))


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), (0.8, 1.0, 0.3), (-0.9, -1.0, -0.6)])
def test_a_sphere_is_where_its_middle_is_projected_and_as_large_as_its_distance_has_it(at):
    camera = CAMERA
    found = pixels(drawn(sphere(at)))
    column, row, depth = camera.project(at)
    assert np.abs(found.mean(0) + 0.5 - (row, column)).max() < 0.75
    assert np.ptp(found[:, 1]) == pytest.approx(2 * camera.focal_length * 0.1 / depth, abs=1.5)


def test_what_is_behind_the_camera_is_not_drawn():
    behind = (0.0, -5.0, 0.0)
    line = DebugPrimitive(kind="line", start=behind, end=(1.0, -6.0, 0.0))
    assert (drawn(sphere(behind), line) == blank()).all()


def test_a_line_that_goes_past_the_camera_is_cut_off_there():
    found = pixels(drawn(DebugPrimitive(kind="line", start=(0.0, 0.0, 0.0), end=(0.0, -9.0, -3.0), size=0.05)))
    assert len(found)
    assert found[:, 0].max() == CAMERA.height - 1  # it leaves the picture below
    assert np.abs(found[:, 1] + 0.5 - CAMERA.width / 2).max() <= 20


def test_an_arrow_has_its_head_at_its_end():
    found = pixels(drawn(DebugPrimitive(kind="arrow", start=(-1.0, 0.0, 0.0), end=(1.0, 0.0, 0.0), size=0.02)))
    heights = {column: np.ptp(found[found[:, 1] == column, 0]) for column in found[:, 1]}
    ends = [round(CAMERA.project((x, 0.0, 0.0))[0]) for x in (-1.0, 1.0)]
    assert min(heights) == pytest.approx(ends[0], abs=1)
    assert max(heights) == pytest.approx(ends[1], abs=1)
    assert max(heights, key=heights.get) > sum(ends) / 2


def test_the_nearer_shape_lies_over_the_farther():
    near, far = sphere((0.0, -1.0, 0.0), 0.1), sphere((0.0, 1.0, 0.0), 0.5, (0.0, 1.0, 0.0, 1.0))
    for shapes in ((near, far), (far, near)):
        picture = drawn(*shapes)
        assert tuple(picture[30, 40]) == RED
        assert len(pixels(picture, GREEN))


def test_a_shape_that_is_half_transparent_lets_the_picture_through():
    picture = drawn(sphere((0.0, 0.0, 0.0), color=(1.0, 0.0, 0.0, 0.5)))
    assert np.abs(picture[30, 40].astype(int) - (172, 45, 45)).max() <= 2


def test_a_camera_that_goes_along_sees_a_shape_relative_to_its_link():
    link = (np.array([3.0, 2.0, 1.0]), np.array([0.0, 0.0, np.sin(0.7), np.cos(0.7)]))
    beside = seen_from(CAMERA, (0.0, -4.0, 0.0), (0.0, 0.0, 0.0))
    beside = CameraSpec(**{**vars(beside), "link": "l", "turns": False})
    mounted = CameraSpec(**{**vars(beside), "turns": True})
    offset = np.array([0.5, 0.2, 0.3])
    turned = np.array([[np.cos(1.4), -np.sin(1.4), 0.0], [np.sin(1.4), np.cos(1.4), 0.0], [0.0, 0.0, 1.0]]) @ offset
    expected = pixels(drawn(sphere(tuple(offset))))
    for camera, at in ((beside, link[0] + offset), (mounted, link[0] + turned)):
        found = pixels(drawn(sphere(tuple(at)), camera=camera, place=link))
        assert np.abs(found.mean(0) - expected.mean(0)).max() < 0.5


def test_text_stands_in_the_corner_and_fits_into_the_picture():
    picture = drawn(caption="step 120")
    changed = np.argwhere((picture != blank()).any(-1))
    assert changed[:, 0].max() < 20
    assert changed[:, 0].min() > 0
    assert changed[:, 1].max() < CAMERA.width - 3
    for none in ("", "what is cut off says nothing " * 3):
        assert (drawn(caption=none) == blank()).all()


def test_the_picture_given_stays_as_it_is():
    picture = blank()
    draw_over(picture, CAMERA, [sphere((0.0, 0.0, 0.0))], "text")
    assert (picture == blank()).all()


# The frame.


@pytest.mark.parametrize(
    ("count", "columns", "rows"), [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 2), (5, 2, 3), (9, 3, 3), (64, 8, 8)]
)
def test_pictures_stand_in_a_grid_that_is_not_wider_than_it_is_high(count, columns, rows):
    grid = arrange(count, 640, 480)
    assert (grid.columns, grid.rows) == (columns, rows)
    across, down = grid.tile
    x, y = grid.corner(count - 1)
    assert x + across <= 640
    assert y + down <= 480


def test_a_single_picture_fills_the_frame():
    assert arrange(1, 640, 480).tile == (640, 480)


def test_pictures_too_small_to_show_anything_are_refused():
    with pytest.raises(ValueError, match="10000 pictures in a frame of 640 x 480 pixels would have 4 x 2 each"):
        arrange(10000, 640, 480)
