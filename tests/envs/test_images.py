"""Image observations: what is stacked, when it is drawn, and that a task without images has no part in it."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
import torch
from benchmark_app.tasks.cartpole import Cfg as CartpoleCfg
from benchmark_app.tasks.cartpole_camera import Cfg
from benchmark_app.tasks.reach_camera import Cfg as ReachCfg

from benchmark_app.catalogue.environments import env_fns, sim_settings
from benchmark_app.envs.canonical import canonical_observation
from benchmark_app.envs.gymnasium_envs import TorchVectorEnv
from benchmark_app.envs.image_spec import ImageSpec
from benchmark_app.envs.make import make_env
from benchmark_app.rendering.camera import CameraSpec

pytestmark = pytest.mark.engine
ROWS, CHANNELS = 4, 3
SMALL = {"image_height": 6, "image_width": 16, "image_type": "rgb"}


def camera_env(num_envs=ROWS, **settings):
    return make_env(Cfg(**{**SMALL, "episode_length_s": 0.5, **settings}), "newton_mjwarp", num_envs)


def pushes(rows, steps):
    """Rows pushed ever harder, so that some tip over before the time limit."""
    return [torch.linspace(0.0, 1.0, rows).unsqueeze(1) for _ in range(steps)]


def older(images):
    return images[..., :CHANNELS]


def newest(images):
    return images[..., CHANNELS:]


@pytest.fixture(scope="module")
def walked():
    """States of an environment stepped until rows have ended in both ways, and pictures drawn by each step."""
    with closing(camera_env()) as env:
        states, drawn = [env.init_state()], [env.renderer.frames]
        for action in pushes(ROWS, 20):
            states.append(env.step(action))
            drawn.append(env.renderer.frames)
    assert any(state.terminated.any() for state in states)
    assert any(state.truncated.any() for state in states)
    return states, np.diff(drawn)


def test_images_are_bytes_with_the_newest_picture_last(walked):
    states, _ = walked
    for state in states:
        assert state.obs.keys() == {"pixels"}
        assert state.obs["pixels"].dtype is torch.uint8
        assert state.obs["pixels"].shape == (ROWS, 6, 16, 2 * CHANNELS)
    for before, after in pairwise(states):
        going = ~(after.terminated | after.truncated)
        assert torch.equal(older(after.obs["pixels"])[going], newest(before.obs["pixels"])[going])
        assert not torch.equal(newest(after.obs["pixels"])[going], older(after.obs["pixels"])[going])


def test_an_episodes_first_observation_holds_its_first_picture_only(walked):
    states, _ = walked
    fresh = [torch.ones(ROWS, dtype=torch.bool), *(state.terminated | state.truncated for state in states[1:])]
    for state, rows in zip(states, fresh, strict=True):
        assert torch.equal(older(state.obs["pixels"])[rows], newest(state.obs["pixels"])[rows])


def test_terminal_images_stand_in_the_final_observation(walked):
    states, _ = walked
    for before, after in pairwise(states):
        if after.final_mask is not None:
            final = after.final_observation["pixels"][after.final_mask]
            assert torch.equal(older(final), newest(before.obs["pixels"])[after.final_mask])
            assert not torch.equal(newest(final), newest(after.obs["pixels"])[after.final_mask])


def test_a_second_pass_draws_only_the_rows_that_were_reset(walked):
    states, drawn = walked
    ended = [int((state.terminated | state.truncated).sum()) for state in states[1:]]
    assert drawn.tolist() == [ROWS + count for count in ended]


def test_frozen_rows_are_not_drawn_and_keep_their_last_image():
    with closing(camera_env()) as env:
        env.set_autoreset(False)
        env.init_state()
        before = env.renderer.frames
        for action in pushes(ROWS, 20):
            state = env.step(action)
            assert env.renderer.frames - before == ROWS - int(state.info["frozen"].sum())
            before = env.renderer.frames
        kept = state.obs["pixels"]
        assert torch.equal(env.step(pushes(ROWS, 1)[0]).obs["pixels"], kept)
        env.reset(torch.tensor([1]))
        assert env.renderer.frames - before == 1


def test_a_depth_that_is_not_finite_is_told_with_its_row():
    with closing(camera_env(image_type="depth")) as env:
        env.init_state()
        draw = env.renderer.render

        def spoil(rows=None, count=None):
            draw(rows, count)
            env.renderer.depth["front"][2, 0, 0] = torch.nan

        env.renderer.render = spoil
        with pytest.raises(ValueError, match="observation 'depth' not finite in row 2"):
            env.step(torch.zeros(ROWS, 1))


def test_depths_are_metres_and_nothing_is_0():
    with closing(camera_env(image_type="depth")) as env:
        depth = env.init_state().obs["depth"]
    assert depth.dtype is torch.float32
    seen = depth[depth > 0]
    assert (depth == 0).any()
    assert 5.0 < seen.min() <= seen.max() < 6.8, "the floor behind the track is farther than the camera measures"


def test_numbers_and_images_come_together():
    cfg = ReachCfg(image_height=6, image_width=8)
    with closing(make_env(cfg, "newton_mjwarp", 2)) as env:
        obs = env.init_state().obs
        assert {name: tuple(group.shape) for name, group in obs.items()} == {"policy": (2, 15), "pixels": (2, 6, 8, 3)}
        assert len(cfg.conventions()["observations"]["policy"]) == 15
        still = env.step(torch.zeros(2, 6)).obs["pixels"]
        for _ in range(10):
            moved = env.step(torch.ones(2, 6)).obs["pixels"]
    assert not torch.equal(still, moved), "the arm moves, and the picture does not"


def test_a_task_without_images_has_no_renderer_whatever_is_named():
    with closing(make_env(CartpoleCfg(), "newton_mjwarp", 1, rendering="newton")) as env:
        assert env.renderer is None
        assert env.image_groups == {}
        with pytest.raises(ValueError, match="no image groups"):
            env.set_renderer(None)


@pytest.mark.parametrize(
    ("rendering", "said"),
    [("none", "observes images .pixels.; set rendering=newton"), ("povray", "rendering=povray")],
)
def test_a_task_with_images_is_refused_without_a_renderer(rendering, said):
    with pytest.raises(ValueError, match=said):
        make_env(Cfg(**SMALL), "newton_mjwarp", 1, rendering=rendering)


def test_a_stack_must_be_of_what_the_camera_gives():
    camera = CameraSpec(name="front", width=4, height=4, position=(0, -1, 0), target=(0, 0, 0))
    with pytest.raises(ValueError, match="data_type=depth: the camera front gives rgb"):
        ImageSpec(camera=camera, data_type="depth")
    with pytest.raises(ValueError, match="frames=0: must be at least 1"):
        ImageSpec(camera=camera, frames=0)
    problems = Cfg(image_type="infrared", image_width=0).problems()
    assert problems == ["image_type=infrared: must be one of rgb, depth", "image_width=0: must be from 1 to 1024"]


def test_gymnasium_and_policies_of_other_simulators_see_height_width_channels():
    cfg = Cfg(**SMALL, episode_length_s=0.5)
    with closing(TorchVectorEnv(camera_env(2))) as envs:
        obs, _ = envs.reset(seed=3)
        assert obs in envs.observation_space
        for action in pushes(2, 20):
            obs, _, terminated, truncated, infos = envs.step(action.numpy())
            if (ended := terminated | truncated).any():
                break
        final = infos["final_obs"][np.flatnonzero(ended)[0]]
        assert final in envs.single_observation_space
    seen = canonical_observation(cfg, obs)
    assert seen.keys() == {"observation.image"}
    assert np.array_equal(seen["observation.image"], obs["pixels"][..., CHANNELS:])
    with pytest.raises(ValueError, match="expected height × width × channels"):
        canonical_observation(cfg, {"pixels": obs["pixels"][..., :4]})


def test_conventions_tell_the_images_and_their_channels():
    (image,) = Cfg(**SMALL).conventions()["images"].values()
    assert (image["height"], image["width"], image["channels"], image["frames"]) == (6, 16, 6, 2)


def test_plain_data_says_which_renderer_draws():
    assert sim_settings("cartpole_camera")["kwargs"]["gym_kwargs"]["rendering"] == "newton"
    assert sim_settings("cartpole")["kwargs"]["gym_kwargs"]["rendering"] == "none"
    with pytest.raises(ValueError, match="rendering=none: task=cartpole_camera observes images"):
        env_fns("cartpole_camera", 1, {"rendering": "none"})
