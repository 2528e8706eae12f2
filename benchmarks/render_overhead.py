"""What `rendering=newton` costs on top of Newton's camera sensor: a frame of every environment, both ways.

Both draw the same scene in one process, in short blocks that alternate, so that whatever else the machine does hits
both. The bare side is built here from Newton alone: the same model, and per frame a refit of its bounding volumes and
one update of a `SensorCamera`. Our side does everything it does for a task: it takes over the engine's state and draws
all rows by the contract. Before every block the bare side is given the engine's present bodies, which is not timed.

    python benchmarks/render_overhead.py [--task ant cartpole] [--num-envs 16 64] [--size 64] [--rounds 60]

Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import newton
import numpy as np
import torch
import warp as wp
from newton.sensors import SensorCamera
from newton.solvers import SolverMuJoCo

from benchmark_app.envs.make import make_env
from benchmark_app.rendering import CameraSpec, make_renderer

BAR = 0.9
"""The part of the bare sensor's rate that the renderer must reach."""
BLOCK_S = 0.1


def camera(size: int) -> CameraSpec:
    return CameraSpec(name="camera", width=size, height=size, position=(0.0, -4.0, 1.5), target=(0.0, 0.0, 0.3))


class Bare:
    """Newton's sensor on a model of a scene."""

    def __init__(self, spec: Any, view: CameraSpec) -> None:
        robot = newton.ModelBuilder()
        SolverMuJoCo.register_custom_attributes(robot)
        robot.add_mjcf(spec.mjcf, force_show_colliders=True)
        scene = newton.ModelBuilder()
        scene.replicate(robot, spec.num_envs)
        if spec.ground or spec.floor is not None:
            scene.add_ground_plane(height=spec.floor or 0.0)
        self._model = scene.finalize(device="cpu")
        self._state = self._model.state()
        self._sensor = SensorCamera(self._model)
        self._sensor.create_default_light()
        place = wp.transformf(wp.vec3f(*view.position), wp.quatf(*view.orientation))
        self._transforms = wp.array([place] * spec.num_envs, dtype=wp.transformf, device="cpu")
        self._rays = SensorCamera.compute_camera_rays_pinhole(
            view.width, view.height, camera_fov=math.radians(view.fov), device="cpu"
        )
        self._image = self._sensor.allocate_image_color(spec.num_envs, view.width, view.height)

    def follow(self, state: Any) -> None:
        self._state.body_q.assign(state.body_q)

    def draw(self) -> None:
        self._model.bvh_refit_shapes(self._state)
        self._sensor.update(self._state, self._transforms, self._rays, color_image=self._image)


def seconds(draw: Callable[[], None], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        draw()
    return (time.perf_counter() - begin) / count


def measure(task: str, num_envs: int, size: int, rounds: int) -> tuple[float, float, np.ndarray]:
    """Median seconds of a bare frame and of ours, and the ratio of each round."""
    env = make_env(import_module(f"benchmark_app.tasks.{task}").Cfg(), "newton_mjwarp", num_envs)
    env.init_state()
    spec = env.scene(env.cfg, num_envs)
    backend: Any = env.backend
    renderer = make_renderer("newton", backend, spec, [camera(size)])
    bare = Bare(spec, camera(size))

    def ours() -> None:
        renderer.update()
        renderer.render()

    bare.follow(backend.drawn[1])
    bare.draw()
    ours()
    count = max(1, round(BLOCK_S / seconds(bare.draw, 3)))
    generator = torch.Generator().manual_seed(0)
    times = []
    for turn in range(rounds):
        for _ in range(3):
            env.step(torch.rand(num_envs, env.num_actions, generator=generator) * 2.0 - 1.0)
        backend.refresh_bodies()
        bare.follow(backend.drawn[1])
        sides = [bare.draw, ours]
        taken = {side: seconds(side, count) for side in (sides if turn % 2 else sides[::-1])}
        times.append([taken[side] for side in sides])
    renderer.close()
    env.close()
    found = np.array(times)
    return float(np.median(found[:, 0])), float(np.median(found[:, 1])), found[:, 0] / found[:, 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", nargs="+", default=["ant", "cartpole"])
    parser.add_argument("--num-envs", nargs="+", type=int, default=[16, 64])
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=60)
    args = parser.parse_args()
    wp.config.quiet = True
    missed = False
    for task in args.task:
        for num_envs in args.num_envs:
            bare, ours, ratios = measure(task, num_envs, args.size, args.rounds)
            ratio = float(np.median(ratios))
            low, high = np.percentile(ratios, [5, 95])
            missed |= ratio < BAR
            print(
                f"{task:<10} {num_envs:>4} envs {args.size}x{args.size}: sensor {num_envs / bare:7.0f} frames/s, "
                f"renderer {num_envs / ours:7.0f} frames/s, ratio {ratio:.3f} ({low:.3f} to {high:.3f}), bar {BAR}"
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
