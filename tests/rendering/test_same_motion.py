"""Videos from two engines show the same motion, where both are driven with the equivalence probe's actions."""

import subprocess
from importlib import import_module

import numpy as np
import pytest
import torch

from benchmark_app.envs.make import make_env
from benchmark_app.physics.availability import missing
from benchmark_app.rendering.mp4 import find_encoder, open_video
from benchmark_app.workflows.equivalence.actions import open_loop_actions

pytestmark = [
    pytest.mark.ovphysx,
    pytest.mark.skipif(bool(missing("ovphysx")), reason=f"physics=ovphysx {missing('ovphysx')}"),
]

WIDTH, HEIGHT = 320, 540
N = 3  # a row for each set of actions


def video(task, physics, steps, folder):
    """Record the task's first episodes under the probe's actions; return the frames, read from the file."""
    module = import_module(f"benchmark_app.tasks.{task}")
    cfg = module.Cfg()
    env = make_env(cfg, physics, N)
    try:
        actions = open_loop_actions(
            1, steps=steps, num_envs=N, num_actions=env.num_actions, control_dt=cfg.control_dt, amplitude=0.1
        )

        env.seed(1)
        env.reset()
        env.init_play_renderer(headless=True, capture=True, width=WIDTH, height=HEIGHT)
        path = folder / f"{task}-{physics}.mp4"
        with open_video(path, 1 / cfg.control_dt) as write:
            for action in actions:
                state = env.step(torch.from_numpy(action))
                assert not (state.terminated | state.truncated).any()
                write(env.capture_play_video_frame())
    finally:
        env.close()
    command = [find_encoder(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(steps, HEIGHT, WIDTH, 3).astype(int)


def differing(a, b):
    """Share of the pixels that differ by more than what an encoder adds, frame by frame."""
    return (np.abs(a - b).max(-1) > 40).mean((1, 2))


@pytest.mark.parametrize(("task", "steps"), [("cartpole", 25), ("reach", 40), ("ant", 20)])
def test_newton_and_ovphysx_show_the_same_motion(task, steps, tmp_path):
    newton, physx = (video(task, physics, steps, tmp_path) for physics in ("newton_mjwarp", "ovphysx"))
    moved = differing(newton[-1:], newton[:1])[0]
    apart = differing(newton, physx).max()
    print(f"{task}: {100 * moved:.2f} % of the pixels moved, {100 * apart:.3f} % differ between the engines")
    assert moved > 0.001  # something is seen to move
    assert apart < moved / 5
