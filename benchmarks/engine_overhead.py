"""What this program costs on top of each engine: `TorchEnv.step` on cartpole against a bare loop of the same engine.

The bare loop is written from the engine's own package alone, with the same model, solver and settings. Each turn
writes a control, takes the physics steps of one control step and reads the joint state. The environment does all it
does in a step of training: random actions, observations, rewards, checks. No row ends: an iterative solver (Kamino's)
works longer on rows that were just reset, and the two sides are to ask the same of it; what resets cost is part of
`env_overhead.py`. Both step in one process, in short blocks that alternate, so that whatever else the machine does hits
both.

    python benchmarks/engine_overhead.py [--engines newton_mjwarp newton_kamino ovphysx] [--rounds 200]

Exit status 1 if a bar is missed. An engine whose packages are absent is skipped by name.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import count

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import warp as wp
from benchmark_app.tasks.cartpole import Cfg, load_env

from benchmark_app.envs.make import make_env
from benchmark_app.physics.availability import missing

MOST_MS = {64: 0.4}
"""Milliseconds that the environment may add to a step, by number of environments."""

MOST_TIMES = {1024: 1.05}
"""The bare loop's time per step that it may take at most."""

BLOCK_S = 0.02
TURNS = 256
WARM_UP = 600
"""Steps of both sides before anything is measured."""
ENDLESS = Cfg(max_pole_angle=None, max_cart_position=4.0, max_effort=10.0, episode_length_s=1e6)
"""Cartpole in which no row ends: a pole may turn over, and pushes are too weak to reach the end of the rail."""

Step = Callable[[], object]


def random_actions(num_envs: int) -> torch.Tensor:
    """Actions `[TURNS, N, 1]` in [-1, 1), always the same."""
    return torch.rand(TURNS, num_envs, 1, generator=torch.Generator().manual_seed(0)) * 2.0 - 1.0


def random_efforts(num_envs: int) -> torch.Tensor:
    """What the task makes of them, as Newton takes it: `[TURNS, N * 2]`."""
    push = ENDLESS.max_effort * random_actions(num_envs)
    return torch.cat((push, torch.zeros_like(push)), 2).flatten(1)


def newton_loop(start: torch.Tensor, register: Callable, prepare: Callable) -> Step:
    """A recorded graph of the substeps, between a control copied in and a copy of the joint state.

    It starts in the joint state `start` `[2, N, 2]`, the environment's, because Kamino iterates more in some states
    than in others.
    """
    import newton

    num_envs = start.shape[1]
    spec = load_env().scene(ENDLESS, num_envs)
    robot = newton.ModelBuilder()
    register(robot)
    robot.add_mjcf(spec.mjcf)
    scene = newton.ModelBuilder()
    scene.replicate(robot, num_envs)
    model = scene.finalize(device="cpu")
    state, control = model.state(), model.control()
    for array, values in zip((state.joint_q, state.joint_qd), start, strict=True):
        wp.to_torch(array).copy_(values.flatten())
    newton.eval_fk(model, state.joint_q, state.joint_qd, state)
    substep = prepare(model, state, control, spec)
    with wp.ScopedCapture(device="cpu") as capture:
        for _ in range(spec.decimation):
            substep()
    efforts, given, turn = wp.to_torch(control.joint_f), random_efforts(num_envs), count()
    views = wp.to_torch(state.joint_q), wp.to_torch(state.joint_qd)
    graph = capture.graph

    def step() -> None:
        efforts.copy_(given[next(turn) % TURNS])
        wp.capture_launch(graph)
        for view in views:
            view.clone()

    step.alive = (model, state, control, substep)  # type: ignore[attr-defined]  # the graph holds bare pointers
    return step


def newton_mjwarp(start: torch.Tensor) -> Step:
    from newton.solvers import SolverMuJoCo

    def prepare(model, state, control, spec):
        options = {"njmax": spec.max_constraints, "nconmax": 1, "disable_contacts": True}
        solver = SolverMuJoCo(model, integrator="implicitfast", **options)
        return lambda: solver.step(state, state, control, None, spec.physics_dt)

    return newton_loop(start, SolverMuJoCo.register_custom_attributes, prepare)


def newton_kamino(start: torch.Tensor) -> Step:
    from newton.solvers import SolverKamino

    def prepare(model, state, control, spec):
        config = SolverKamino.Config.from_model(model, dynamics_solver="lox", use_collision_detector=True)
        config.rotation_correction = "continuous"
        config.lox.joint_max_correction, config.lox.velocity_tolerance = 0.1, 1e-4
        config.lox.max_iterations, config.lox.min_joint_penalty_ratio = 500, 1e3
        config.collision_detector.max_contacts_per_world = 1
        solver = SolverKamino(model, config=config)
        solver.reset(state, config=SolverKamino.ResetConfig.preserve())
        return lambda: solver.step(state, state, control, None, spec.physics_dt)

    return newton_loop(start, SolverKamino.register_custom_attributes, prepare)


def ovphysx(start: torch.Tensor) -> Step:
    step: Step = import_module("bare_ovphysx").bare_step(start.shape[1])
    return step


BARE: dict[str, Callable[[torch.Tensor], Step]] = {
    "newton_mjwarp": newton_mjwarp,
    "newton_kamino": newton_kamino,
    "ovphysx": ovphysx,
}


def env_loop(engine: str, num_envs: int) -> tuple[Step, torch.Tensor]:
    """A step of the environment, and the joint state it starts in."""
    env = make_env(ENDLESS, engine, num_envs)
    env.init_state()
    actions, turn = random_actions(num_envs), count()
    start = torch.stack((env.backend.joint_pos, env.backend.joint_vel))
    return lambda: env.step(actions[next(turn) % TURNS]), start


def seconds(step: Step, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - begin) / times


def measure(engine: str, num_envs: int, rounds: int) -> np.ndarray:
    """Seconds of a bare step and of an environment step, `[rounds, 2]`."""
    env, start = env_loop(engine, num_envs)
    bare = BARE[engine](start)
    seconds(env, WARM_UP)
    gc.collect()
    gc.freeze()  # as the worker does once it is up
    steps = max(1, int(BLOCK_S / seconds(bare, WARM_UP)))
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            pairs.append((seconds(bare, steps), seconds(env, steps)))
        else:
            pairs.append((seconds(env, steps), seconds(bare, steps))[::-1])
    return np.array(pairs)


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Median, and its 95 % interval by bootstrap."""
    picks = np.random.default_rng(0).integers(len(values), size=(2000, len(values)))
    low, high = np.quantile(np.median(values[picks], axis=1), [0.025, 0.975])
    return float(np.median(values)), float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="+", choices=list(BARE), default=list(BARE))
    parser.add_argument("--num-envs", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    torch.set_num_threads(1)
    wp.config.log_level = wp.LOG_WARNING
    missed = 0
    print("engine           envs   bare ms    env ms   added ms (95 %)            times (95 %)              bar")
    for engine in options.engines:
        if reason := missing(engine):
            print(f"{engine:14} skipped: {reason}")
            continue
        for num_envs in options.num_envs:
            bare, env = measure(engine, num_envs, options.rounds).T
            added, times = interval(1e3 * (env - bare)), interval(env / bare)
            verdict = ""
            for name, most, found in (("ms", MOST_MS, added[0]), ("times", MOST_TIMES, times[0])):
                if num_envs in most:
                    missed += found > most[num_envs]
                    verdict = f"{most[num_envs]} {name}: {'MISSED' if found > most[num_envs] else 'ok'}"
            print(
                f"{engine:14} {num_envs:6d} {1e3 * np.median(bare):9.3f} {1e3 * np.median(env):9.3f}"
                f"   {added[0]:6.3f} ({added[1]:.3f} to {added[2]:.3f})"
                f"   {times[0]:6.3f} ({times[1]:.3f} to {times[2]:.3f})   {verdict}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
