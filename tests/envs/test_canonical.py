"""Observations under the names that policies of any simulator know."""

import subprocess
import sys

import numpy as np
import pytest
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.envs.canonical import canonical_observation
from tests.conftest import ROOT

IMAGE = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


def test_every_group_has_its_canonical_name_and_its_numbers_unchanged():
    found = canonical_observation(
        Cfg(),
        {
            "policy": np.array([1.5, -2.0, 0.0, 0.25]),
            "critic": np.array([3.0], np.float32),
            "environment_state": np.array([4.0]),
            "pixels": IMAGE,
            "touch": np.array([1, 0]),
        },
    )
    assert {key: value.tolist() for key, value in found.items()} == {
        "observation.state": [1.5, -2.0, 0.0, 0.25],
        "observation.critic": [3.0],
        "observation.environment_state": [4.0],
        "observation.image": IMAGE.tolist(),
        "observation.touch": [1, 0],
    }
    kinds = {key.removeprefix("observation."): value.dtype for key, value in found.items()}
    assert kinds == {"state": "f4", "critic": "f4", "environment_state": "f4", "image": "u1", "touch": "i8"}


def test_a_lone_array_is_the_state_with_or_without_rows():
    for observation in (np.ones(4, np.float32), np.ones((3, 4), np.float32)):
        found = canonical_observation(Cfg(), observation)
        assert list(found) == ["observation.state"]
        assert np.array_equal(found["observation.state"], observation)


def test_several_cameras_keep_their_names():
    found = canonical_observation(Cfg(), {"pixels": {"front": IMAGE, "wrist": IMAGE[None]}})
    assert list(found) == ["observation.images.front", "observation.images.wrist"]
    assert found["observation.images.wrist"].shape == (1, 2, 3, 3)


def test_a_task_may_name_its_groups_otherwise():
    class Named(Cfg):
        def canonical_key(self, group):
            return "observation.environment_state" if group == "critic" else super().canonical_key(group)

    found = canonical_observation(Named(), {"policy": np.ones(4), "critic": np.ones(1)})
    assert list(found) == ["observation.state", "observation.environment_state"]


@pytest.mark.parametrize(
    ("observation", "error", "said"),
    [
        ({"pixels": IMAGE / 255.0}, ValueError, "observation 'pixels': expected an image of uint8, got float64"),
        ({"pixels": np.zeros((3, 48, 64), np.uint8)}, ValueError, r"height × width × channels .* shape \[3, 48, 64\]"),
        ({"pixels": {"front": IMAGE[0]}}, ValueError, "observation 'pixels.front': expected height"),
        ({"policy": np.array([0, 0, 0, np.nan])}, ValueError, "observation 'policy': is not finite"),
        ({"policy": [1.0]}, TypeError, "observation 'policy': expected a NumPy array, got list"),
        ({"policy": {"a": np.ones(1)}}, TypeError, "observation 'policy': expected an array, got a dictionary"),
        ({}, ValueError, "observation={}: expected an array, or at least one group"),
        ({"pixels": {}}, ValueError, "observation 'pixels': expected at least one camera's image, got none"),
        (np.ones(5), ValueError, r"'policy': expected the shape \[4\] or \[rows, 4\], got \[5\]"),
        ({"agent_pos": np.ones((2, 3))}, ValueError, r"'agent_pos': expected the shape \[4\] .* got \[2, 3\]"),
        (np.ones((2, 2, 4)), ValueError, r"'policy': expected the shape \[4\]"),
        (
            {"policy": np.ones(4), "agent_pos": np.ones(4)},
            ValueError,
            "'agent_pos': another group is observation.state",
        ),
    ],
)
def test_what_has_no_clear_meaning_is_refused(observation, error, said):
    with pytest.raises(error, match=said):
        canonical_observation(Cfg(), observation)


def test_it_needs_neither_torch_nor_gymnasium():
    code = (
        "import sys, benchmark_app.envs.canonical; "
        "print([m for m in ('torch', 'warp', 'newton', 'gymnasium') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
