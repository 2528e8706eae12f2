"""What the NaN guard costs: `TorchEnv.step` on cartpole with the guard bound against the same without it.

Two environments step in one process, in short blocks whose order is drawn anew each round, so that whatever else the
machine does hits both. Everything but the guard is the same: seed, actions, resets of the rows that fall.

    python benchmarks/guard_overhead.py [--num-envs 64 1024] [--rounds 300] [--device cpu]

Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import warp as wp
from benchmark_app.tasks.cartpole import Cfg

from benchmark_app.envs.make import make_env
from benchmark_app.envs.nan_guard import NanGuard

BARS = {64: 1.10, 1024: 1.02}
"""The most that a step with the guard may take, as a multiple of one without, by number of environments."""

BLOCK_S = 0.02


class Stepper:
    def __init__(self, num_envs: int, device: str, guard: NanGuard | None) -> None:
        self._env = make_env(Cfg(), "newton_mjwarp", num_envs, device)
        self._env.set_nan_guard(guard)
        self._env.init_state()
        generator = torch.Generator().manual_seed(0)
        self._actions = list((torch.rand(256, num_envs, 1, generator=generator) * 2.0 - 1.0).to(self._env.device))
        self._turn = 0

    def seconds(self, count: int) -> float:
        """Of one step, over `count` of them. A step ends with a read of the device, so nothing is left running."""
        begin = time.perf_counter()
        for _ in range(count):
            self._env.step(self._actions[self._turn])
            self._turn = (self._turn + 1) % len(self._actions)
        return (time.perf_counter() - begin) / count


def measure(num_envs: int, rounds: int, device: str, folder: Path) -> np.ndarray:
    """Seconds of a step without and with the guard, `[rounds, 2]`."""
    sides = [Stepper(num_envs, device, None), Stepper(num_envs, device, NanGuard(folder))]
    for side in sides:
        side.seconds(200)  # past the initial states
    gc.collect()
    gc.freeze()  # as the worker does once it is up
    count = max(1, int(BLOCK_S / sides[0].seconds(20)))
    order = np.random.default_rng(0)
    times = np.empty((rounds, 2))
    for turn in range(rounds):
        for side in order.permutation(2):
            times[turn, side] = sides[side].seconds(count)
    return times


def interval(ratios: np.ndarray) -> tuple[float, float]:
    """95 % interval of the median, by bootstrap."""
    picks = np.random.default_rng(0).integers(len(ratios), size=(2000, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return float(low), float(high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, nargs="+", default=list(BARS))
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wp.config.log_level = wp.LOG_WARNING
    missed = 0
    print("  envs   ms without   ms with   ratio   95 % interval     bar")
    with tempfile.TemporaryDirectory() as folder:
        for num_envs in options.num_envs:
            times = measure(num_envs, options.rounds, options.device, Path(folder))
            ratios = times[:, 1] / times[:, 0]
            ratio, (low, high) = float(np.median(ratios)), interval(ratios)
            bar = BARS.get(num_envs)
            verdict = "" if bar is None else f"{bar:6.2f}  {'ok' if ratio <= bar else 'MISSED'}"
            missed += bar is not None and ratio > bar
            without, guarded = 1e3 * np.median(times, axis=0)
            print(
                f"{num_envs:6d} {without:12.3f} {guarded:9.3f} {ratio:7.3f}   {low:.3f} to {high:.3f} {verdict}",
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
