"""What environments in processes gain and cost: `execution=process` against `local`, and against bare processes.

Three sides step the same task in turn, in short blocks, so that whatever else the machine does hits all of them:

- local: one `TorchEnv` of all rows in this process;
- process: the rows in W processes behind one environment, as a training has them;
- bare: W processes that each step a `TorchEnv` of their own share by themselves for the whole block, with random
  actions of their own and nobody to wait for between steps. What process needs beyond the slowest of them is its
  overhead: writing actions, waking, waiting for the slower process in every step, joining what they gave.

    python benchmarks/execution_overhead.py [--task cartpole ant] [--num-envs 1024] [--workers 2] [--rounds 60]

Exit status 1 if a bar is missed: process at least 1.7 times local, and at most 10 % over bare. The machine should be
idle, and have a core for every worker.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from importlib import import_module

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.execution.cfg import ExecutionCfg, free_cores
from benchmark_app.execution.description import split
from benchmark_app.execution.make import make_execution_env

GAIN, OVERHEAD = 1.7, 0.10
BLOCK_S = 0.25
BARE = """
import gc, os, socket, sys, time
from importlib import import_module
import torch
from benchmark_app.envs.make import make_env
task, rows, first, total, core, fd = sys.argv[1], *map(int, sys.argv[2:])
os.sched_setaffinity(0, [core])
torch.set_num_threads(1)
env = make_env(import_module(f"benchmark_app.tasks.{task}").Cfg(), "newton_mjwarp", rows)
env.number_rows(first, total)
env.init_state()
actions = 2 * torch.rand(256, total, env.num_actions, generator=torch.Generator().manual_seed(0)) - 1
actions = list(actions[:, first:first + rows].contiguous())
link, turn = socket.socket(fileno=fd), 0
gc.collect()
gc.freeze()
link.send(b"r")
while count := int.from_bytes(link.recv(4), "little"):
    begin = time.perf_counter()
    for _ in range(count):
        env.step(actions[turn % 256])
        turn += 1
    env.drain_episodes()
    link.send(int(1e9 * (time.perf_counter() - begin)).to_bytes(8, "little"))
"""


class Stepped:
    """An environment stepped in blocks with random actions."""

    def __init__(self, env: TorchEnv) -> None:
        self._env, self._turn = env, 0
        env.init_state()
        shape = (256, env.num_envs, env.num_actions)
        self._actions = list(2.0 * torch.rand(shape, generator=torch.Generator().manual_seed(0)) - 1.0)

    def seconds(self, count: int) -> float:
        """Seconds a block of steps takes."""
        begin = time.perf_counter()
        for _ in range(count):
            self._env.step(self._actions[self._turn % 256])
            self._turn += 1
        self._env.drain_episodes()
        return time.perf_counter() - begin


class BareProcesses:
    """Processes that step their shares by themselves."""

    def __init__(self, task: str, num_envs: int, workers: int) -> None:
        import socket
        import subprocess

        self._links = []
        self._processes = []
        for core, share in zip(free_cores(), split(num_envs, workers), strict=False):
            ours, theirs = socket.socketpair()
            numbers = [len(share), share.start, num_envs, core, theirs.fileno()]
            command = [sys.executable, "-c", BARE, task, *map(str, numbers)]
            with theirs:
                self._processes.append(subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL))
            self._links.append(ours)
        for link in self._links:
            if link.recv(1) != b"r":
                raise SystemExit("a bare process died")

    def seconds(self, count: int) -> float:
        """Seconds of the slowest for a block of steps, all at once."""
        for link in self._links:
            link.send(count.to_bytes(4, "little"))
        return max(int.from_bytes(link.recv(8), "little") for link in self._links) / 1e9

    def close(self) -> None:
        for link in self._links:
            link.send((0).to_bytes(4, "little"))
            link.close()
        for process in self._processes:
            process.wait()


def interval(ratios: np.ndarray) -> str:
    """Median, and its 95 % interval by bootstrap."""
    picks = np.random.default_rng(0).integers(len(ratios), size=(2000, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [0.025, 0.975])
    return f"{np.median(ratios):6.3f} ({low:.3f} to {high:.3f})"


def measure(task: str, num_envs: int, workers: int, rounds: int) -> np.ndarray:
    """Seconds per step of local, process and bare, by round."""
    cfg = import_module(f"benchmark_app.tasks.{task}").Cfg()
    local = make_execution_env(cfg, "newton_mjwarp", num_envs)
    process = make_execution_env(
        cfg, "newton_mjwarp", num_envs, execution=ExecutionCfg(name="process", num_workers=workers)
    )
    bare = BareProcesses(task, num_envs, workers)
    sides = [Stepped(local), Stepped(process), bare]
    for side in sides:
        side.seconds(20)  # past the initial states
    gc.collect()
    gc.freeze()
    count = max(3, int(BLOCK_S / (sides[0].seconds(3) / 3)))
    found = []
    for turn in range(rounds):
        order = [(turn + shift) % 3 for shift in range(3)]
        seconds = {side: sides[side].seconds(count) / count for side in order}
        found.append([seconds[side] for side in range(3)])
    bare.close()
    process.close()
    local.close()
    return np.array(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", nargs="+", default=["cartpole", "ant"])
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)
    missed = 0
    for task in options.task:
        times = measure(task, options.num_envs, options.workers, options.rounds)
        local, process, bare = np.median(times, axis=0)
        gain, over = times[:, 0] / times[:, 1], times[:, 1] / times[:, 2] - 1.0
        rates = [
            f"{name} {options.num_envs / seconds:,.0f}"
            for name, seconds in (("local", local), ("process", process), ("bare", bare))
        ]
        good = [np.median(gain) >= GAIN, np.median(over) <= OVERHEAD]
        missed += 2 - sum(good)
        print(f"{task}, {options.num_envs} environments, {options.workers} processes: {', '.join(rates)} steps/s")
        print(f"  process over local {interval(gain)}   bar {GAIN}   {'ok' if good[0] else 'MISSED'}")
        print(f"  overhead over bare {interval(over)}   bar {OVERHEAD}   {'ok' if good[1] else 'MISSED'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
