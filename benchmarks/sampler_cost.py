"""What watching a run costs the parent: CPU time of one sample, as a share of one core at the default period.

    python benchmarks/sampler_cost.py

CPU time is measured, so that a busy machine only makes the result a little worse. Trees of several shapes are sampled:
a worker is one process with a few dozen threads, data loaders and simulators start more. On a machine with NVIDIA GPUs
every device is read with each sample, as before a worker has said which it uses.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from omegaconf import OmegaConf

from benchmark_app.places import conf_dir
from benchmark_app.profiling.host import conditions, other_load
from benchmark_app.profiling.host.gpu import GpuSampler
from benchmark_app.profiling.host.resources import ResourceSampler

SHAPES = ((1, 1), (1, 64), (8, 8), (32, 4))
TREE = """
import subprocess, sys, threading
processes, threads = int(sys.argv[1]), int(sys.argv[2])
for _ in range(threads - 1):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
children = [subprocess.Popen([sys.executable, "-S", "-c", sys.argv[3], "1", str(threads), ""], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) for _ in range(processes - 1)]
for child in children:
    child.stdout.readline()
print("ready", flush=True)
sys.stdin.readline()
"""
LIMIT = 1.0  # % of one core


def cpu_s(call, times):
    """Median CPU time of a call [s]."""
    found = []
    for _ in range(times):
        before = time.process_time()
        call()
        found.append(time.process_time() - before)
    return statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200, help="samples per shape")
    times = parser.parse_args().times
    period = float(OmegaConf.load(f"{conf_dir()}/profiling/host_return.yaml").sample_period_s)
    print(f"one sample every {period} s")
    worst = 0.0
    for processes, threads in SHAPES:
        command = [sys.executable, "-S", "-c", TREE, str(processes), str(threads), TREE]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tree:
            tree.stdout.readline()
            sampler = ResourceSampler([tree.pid], GpuSampler())
            sampler.sample()
            seconds = cpu_s(sampler.sample, times)
            tree.stdin.write(b"\n")
        worst = max(worst, 100 * seconds / period)
        print(
            f"{processes:3d} processes of {threads:3d} threads: {1e3 * seconds:6.3f} ms a sample, "
            f"{100 * seconds / period:5.3f} % of one core"
        )
    print(f"conditions, read twice per workflow: {1e3 * cpu_s(conditions.read_host, 20):.2f} ms")
    print(f"mark of the cores' times, three per workflow: {1e3 * cpu_s(other_load.mark, 50):.3f} ms")
    print(f"{'within' if worst < LIMIT else 'MORE THAN'} {LIMIT:g} % of one core")
    return 0 if worst < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
