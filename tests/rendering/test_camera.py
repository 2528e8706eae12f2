"""A camera is plain data that says exactly where a point is seen."""

import math
import subprocess
import sys
from dataclasses import replace

import pytest

from benchmark_app.rendering import CameraSpec

from .known import FRONT


def rotated(quaternion, vector):
    """A vector turned by a quaternion xyzw."""
    x, y, z, w = quaternion
    a, b, c = vector
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx


def test_a_camera_looks_along_minus_z_with_y_up_and_x_to_the_right():
    right, up, back = FRONT.axes
    assert right == pytest.approx((1, 0, 0))
    assert up == pytest.approx((0, 0, 1))
    assert back == pytest.approx((0, -1, 0))


@pytest.mark.parametrize(
    ("position", "target", "up"),
    [
        ((0, -4, 1), (0, 0, 1), (0, 0, 1)),
        ((3, 2, 5), (0, 1, 0), (0, 0, 1)),
        ((-3, 2, -5), (1, 1, 0), (0, 0, 1)),
        ((0, 0, 4), (0, 0, 0), (0, 1, 0)),
        ((0, 0, 4), (0, 0, 0), (1, 0, 0)),
        ((0, 0, -4), (0, 0, 0), (-1, 0.1, 0)),
    ],
)
def test_the_quaternion_turns_the_axes_of_a_camera_into_those_it_says(position, target, up):
    camera = CameraSpec(name="c", width=8, height=8, position=position, target=target, up=up)
    assert math.hypot(*camera.orientation) == pytest.approx(1)
    for unit, axis in zip(((1, 0, 0), (0, 1, 0), (0, 0, 1)), camera.axes, strict=True):
        assert rotated(camera.orientation, unit) == pytest.approx(axis, abs=1e-9)


def test_a_point_is_projected_by_a_pinhole_with_square_pixels_and_the_axis_in_the_middle():
    assert FRONT.project((0.0, 0.0, 1.0)) == pytest.approx((24, 16, 4))
    edge = 4 * math.tan(math.radians(30))  # fov is vertical: this far up is the upper edge
    assert FRONT.project((0.0, 0.0, 1.0 + edge)) == pytest.approx((24, 0, 4))
    assert FRONT.project((edge, 0.0, 1.0)) == pytest.approx((24 + 16, 16, 4))
    assert FRONT.project((1.0, 4.0, 1.0))[2] == pytest.approx(8)


def test_what_is_behind_a_camera_is_seen_nowhere():
    column, row, depth = FRONT.project((0.0, -5.0, 1.0))
    assert math.isnan(column)
    assert math.isnan(row)
    assert depth == -1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "name=: "),
        ({"width": 0}, "width=0: must be from 1"),
        ({"height": 10**5}, "height=100000: must be from 1 to 8192 pixels"),
        ({"position": (0, math.inf, 0)}, "position=.*three finite numbers"),
        ({"target": FRONT.position}, "target=.*must differ from position"),
        ({"up": (0, 1, 0)}, "up=.*must differ from the direction"),
        ({"up": (0, 0, 0)}, "up=.*must differ from the direction"),
        ({"fov": 180}, "fov=180: must be between 0 and 180"),
        ({"data_types": ()}, "data_types=.*must be some of rgb, depth"),
        ({"data_types": ("rgb", "normals")}, "normals is none of rgb, depth"),
        ({"data_types": ("rgb", "rgb")}, "each once"),
        ({"samples": 0}, "samples=0: must be from 1 to 64"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        replace(FRONT, **change)


def test_cameras_and_the_catalogue_import_nothing_heavy():
    code = (
        "import sys; from benchmark_app.rendering import CameraSpec, availability, catalogue; "
        "[availability.missing(name) for name in ('none', *catalogue.RENDERERS)]; "
        "print([name for name in ('torch', 'numpy', 'warp', 'newton', 'ovrtx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
