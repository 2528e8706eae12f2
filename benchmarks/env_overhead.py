"""What the environment costs on top of the engine: `TorchEnv.step` on cartpole against the bare solver graph.

Both step in one process, in short blocks that alternate, so that whatever else the machine does hits both. The bare
side is built here from Newton alone: the same model and solver, the substeps of one control step recorded as a graph,
replayed and nothing else (no action written, nothing read, no row ever reset). The environment does everything it
does in training: random actions, observations, rewards, checks, and resets of the rows that fall.

    python benchmarks/env_overhead.py [--num-envs 16 64 256 1024] [--rounds 200]

Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import newton
import numpy as np
import torch
import warp as wp
from benchmark_app.tasks.cartpole import Cfg, load_env
from newton.solvers import SolverMuJoCo

from benchmark_app.envs.make import make_env

BARS = {16: 0.4, 64: 0.7, 256: 0.9, 1024: 0.95}
"""The part of the bare rate that the environment must reach, by number of environments."""

BLOCK_S = 0.02


def bare_step(num_envs: int) -> Callable[[], None]:
    scene_spec = load_env().scene(Cfg(), num_envs)
    robot = newton.ModelBuilder()
    SolverMuJoCo.register_custom_attributes(robot)
    robot.add_mjcf(scene_spec.mjcf)
    scene = newton.ModelBuilder()
    scene.replicate(robot, num_envs)
    model = scene.finalize(device="cpu")
    solver = SolverMuJoCo(
        model, integrator="implicitfast", njmax=scene_spec.max_constraints, nconmax=1, disable_contacts=True
    )
    state, control = model.state(), model.control()
    with wp.ScopedCapture(device="cpu") as capture:
        for _ in range(scene_spec.decimation):
            solver.step(state, state, control, None, scene_spec.physics_dt)
    graph, alive = capture.graph, (model, solver, state, control)

    def step() -> None:
        wp.capture_launch(graph)

    step.alive = alive  # type: ignore[attr-defined]  # the graph holds bare pointers
    return step


def env_step(num_envs: int) -> Callable[[], None]:
    env = make_env(Cfg(), "newton_mjwarp", num_envs)
    env.init_state()
    actions = list(torch.rand(256, num_envs, 1, generator=torch.Generator().manual_seed(0)) * 2.0 - 1.0)
    turn = 0

    def step() -> None:
        nonlocal turn
        env.step(actions[turn])
        turn = (turn + 1) % len(actions)

    return step


def seconds(step: Callable[[], None], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - begin) / count


def measure(num_envs: int, rounds: int) -> tuple[float, float, np.ndarray]:
    """Median seconds of a bare step and of an environment step, and the ratio of each round."""
    bare, env = bare_step(num_envs), env_step(num_envs)
    seconds(env, 200)  # past the initial states
    gc.collect()
    gc.freeze()  # as the worker does once it is up
    count = max(1, int(BLOCK_S / seconds(bare, 20)))
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            pairs.append((seconds(bare, count), seconds(env, count)))
        else:
            pairs.append((seconds(env, count), seconds(bare, count))[::-1])
    times = np.array(pairs)
    return float(np.median(times[:, 0])), float(np.median(times[:, 1])), times[:, 0] / times[:, 1]


def interval(ratios: np.ndarray) -> tuple[float, float]:
    """95 % interval of the median, by bootstrap."""
    picks = np.random.default_rng(0).integers(len(ratios), size=(2000, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, nargs="+", default=list(BARS))
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    wp.config.log_level = wp.LOG_WARNING
    missed = 0
    print("  envs   bare steps/s    env steps/s   ratio   95 % interval     bar")
    for num_envs in options.num_envs:
        bare, env, ratios = measure(num_envs, options.rounds)
        ratio, (low, high) = float(np.median(ratios)), interval(ratios)
        bar = BARS.get(num_envs)
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
