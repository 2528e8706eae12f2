"""What the environment costs on top of the engine: `TorchEnv.step` on a task against the bare solver graph.

Both step in one process, in short blocks that alternate, so that whatever else the machine does hits both. The bare
side is built here from Newton alone: the same model and solver, the substeps of one control step recorded as a graph,
replayed and nothing else (no action written, nothing read, no row ever reset). The environment does everything it
does in training: random actions, observations, rewards, checks, and resets of the rows that fall.

What a solver costs depends on what it solves: an ant at rest is cheaper than one that kicks. Before every block the
bare side is therefore given the environment's present states, efforts and warm start, which is not timed.

    python benchmarks/env_overhead.py [--task cartpole|ant|humanoid] [--num-envs 64 1024] [--rounds 200] [--cpu-time]

Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
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
from newton.solvers import SolverMuJoCo

from benchmark_app.envs.make import make_env
from benchmark_app.envs.torch_env import TorchEnv

BARS = {"cartpole": {16: 0.4, 64: 0.7, 256: 0.9, 1024: 0.95}, "ant": {64: 0.9, 1024: 0.95}}
"""The part of the bare rate that the environment must reach, by task and number of environments."""

BLOCK_S = 0.02


class Bare:
    """The bare solver graph of a task's scene.

    Args:
        env: The environment whose scene it is, and whose states it is given.
    """

    def __init__(self, env: TorchEnv) -> None:
        self._env = env
        spec = env.scene(env.cfg, env.num_envs)
        robot = newton.ModelBuilder()
        SolverMuJoCo.register_custom_attributes(robot)
        robot.add_mjcf(spec.mjcf)
        robot.shape_material_mu = [spec.friction] * robot.shape_count
        scene = newton.ModelBuilder()
        scene.replicate(robot, spec.num_envs)
        if spec.ground:
            scene.add_ground_plane(cfg=newton.ModelBuilder.ShapeConfig(mu=spec.friction))
        self._model = scene.finalize(device="cpu")
        self._solver = SolverMuJoCo(
            self._model,
            integrator="implicitfast",
            njmax=spec.max_constraints,
            nconmax=max(spec.max_contacts, 1),
            disable_contacts=spec.max_contacts == 0,
            **({"cone": "elliptic"} if spec.max_contacts else {}),
        )
        self._solver.mjw_model.opt.warn_overflow = 0
        self._state, self._control = self._model.state(), self._model.control()
        with wp.ScopedCapture(device="cpu") as capture:
            for _ in range(spec.decimation):
                self._solver.step(self._state, self._state, self._control, None, spec.physics_dt)
        self._graph = capture.graph

    def follow(self) -> None:
        """Take over the states, efforts and warm start of the environment."""
        engine: Any = self._env.backend
        for name in ("joint_q", "joint_qd"):
            getattr(self._state, name).assign(getattr(engine._state, name))
        self._control.joint_f.assign(engine._control.joint_f)
        for name in ("qpos", "qvel", "qacc_warmstart"):
            getattr(self._solver.mjw_data, name).assign(getattr(engine._solver.mjw_data, name))

    def step(self) -> None:
        """Take one control step."""
        wp.capture_launch(self._graph)


def env_step(env: TorchEnv) -> Callable[[], None]:
    """What takes one step with random actions."""
    env.init_state()
    shape = (256, env.num_envs, env.num_actions)
    actions = list(torch.rand(shape, generator=torch.Generator().manual_seed(0)) * 2.0 - 1.0)
    turn = 0

    def step() -> None:
        nonlocal turn
        env.step(actions[turn])
        turn = (turn + 1) % len(actions)

    return step


def seconds(step: Callable[[], None], count: int, clock: Callable[[], float] = time.perf_counter) -> float:
    begin = clock()
    for _ in range(count):
        step()
    return (clock() - begin) / count


def measure(task: str, num_envs: int, rounds: int, clock: Callable[[], float]) -> tuple[float, float, np.ndarray]:
    """Median seconds of a bare step and of an environment step, and the ratio of each round."""
    env = make_env(import_module(f"benchmark_app.tasks.{task}").Cfg(), "newton_mjwarp", num_envs)
    bare, step = Bare(env), env_step(env)
    seconds(step, 100)  # past the initial states
    gc.collect()
    gc.freeze()  # as the worker does once it is up
    bare.follow()
    count = max(1, int(BLOCK_S / seconds(bare.step, 5)))
    pairs = []
    for turn in range(rounds):
        bare.follow()
        if turn % 2:
            pairs.append((seconds(bare.step, count, clock), seconds(step, count, clock)))
        else:
            pairs.append((seconds(step, count, clock), seconds(bare.step, count, clock))[::-1])
    times = np.array(pairs)
    return float(np.median(times[:, 0])), float(np.median(times[:, 1])), times[:, 0] / times[:, 1]


def interval(ratios: np.ndarray) -> tuple[float, float]:
    """95 % interval of the median, by bootstrap."""
    picks = np.random.default_rng(0).integers(len(ratios), size=(2000, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=("cartpole", "ant", "humanoid"), default="cartpole")
    parser.add_argument("--num-envs", type=int, nargs="+", help="default: those with a bar")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--cpu-time", action="store_true", help="for a machine that is busy with other things")
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    torch.set_num_threads(1)
    wp.config.log_level = wp.LOG_WARNING
    bars, missed = BARS.get(options.task, {}), 0
    print("  envs   bare steps/s    env steps/s   ratio   95 % interval     bar")
    for num_envs in options.num_envs or bars or (64,):
        bare, env, ratios = measure(options.task, num_envs, options.rounds, clock)
        ratio, (low, high) = float(np.median(ratios)), interval(ratios)
        bar = bars.get(num_envs)
        verdict = "" if bar is None else f"{bar:6.2f}  {'ok' if ratio >= bar else 'MISSED'}"
        missed += bar is not None and ratio < bar
        print(
            f"{num_envs:6d} {num_envs / bare:14,.0f} {num_envs / env:14,.0f} {ratio:7.3f}   "
            f"{low:.3f} to {high:.3f} {verdict}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
