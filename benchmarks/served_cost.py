"""What a step costs more on a served environment than in the process itself, and whether it gives the same.

    python benchmarks/served_cost.py --python .venv-ovphysx/bin/python physics=ovphysx

Both sides step the same task with the same actions in the interpreter named: one there alone, one as a server of this
process. They take turns, so that a drift of the machine meets both. Ends with status 1 where their observations differ.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED = 5


def measured(env, steps: int) -> dict[str, object]:
    """Step an environment, and say how long each step took [s] and what all observations come to."""
    import torch

    from benchmark_app.envs.kernel_cache import KernelCache

    KernelCache()
    env.seed(SEED)
    env.reset()
    draw = torch.Generator().manual_seed(SEED)
    actions = [torch.rand((env.num_envs, env.num_actions), generator=draw) * 2 - 1 for _ in range(16)]
    times, digest = [], torch.zeros(1, dtype=torch.float64)
    for number in range(steps):
        begin = time.perf_counter()
        state = env.step(actions[number % len(actions)])
        times.append(time.perf_counter() - begin)
        digest += state.obs["policy"].double().sum()
    return {"times": times[steps // 10 :], "digest": digest.item()}


def one(spec: dict[str, object]) -> dict[str, object]:
    """Measure one side, in this process."""
    from benchmark_app.execution.cfg import ExecutionCfg
    from benchmark_app.execution.hosting import task_of
    from benchmark_app.execution.make import make_execution_env

    env = make_execution_env(
        task_of(spec["task"]),
        spec["physics"],
        spec["num_envs"],
        "cpu",
        spec["physics_settings"],
        ExecutionCfg(**spec["execution"]),
    )
    try:
        return measured(env, spec["steps"])
    finally:
        env.close()


def in_a_process(python: str, spec: dict[str, object]) -> dict[str, object]:
    command = [python, __file__, "--one", json.dumps(spec)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{python} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="task=…, physics=…")
    parser.add_argument("--python", default=sys.executable, help="the interpreter with the engine")
    parser.add_argument("--num-envs", default="64,1024", help="rows, several with commas")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_intermixed_args()
    if args.one is not None:
        print(json.dumps(one(json.loads(args.one))))
        return 0
    from benchmark_app.compose import settings_of

    settings = settings_of(["workflow=runtime", f"worker.python={args.python}", *args.settings])
    status = 0
    for num_envs in map(int, args.num_envs.split(",")):
        spec = {
            "task": asdict(settings.task),
            "physics": settings.physics.name,
            "physics_settings": settings.physics.keywords(),
            "num_envs": num_envs,
            "steps": args.steps,
        }
        local, served, digests = [], [], set()
        quickest: dict[str, list[float]] = {"local": [], "served": []}
        for _ in range(args.rounds):
            for times, python, execution in (
                (local, args.python, {"name": "local"}),
                (served, sys.executable, {"name": "served", "python": args.python}),
            ):
                found = in_a_process(python, spec | {"execution": execution})
                times.append(statistics.median(found["times"]))
                quickest[execution["name"]].append(statistics.quantiles(found["times"], n=10)[0])
                digests.add(found["digest"])
        here, there = (1e6 * statistics.median(times) for times in (local, served))
        spread = ", ".join(f"{1e6 * (b - a):.0f}" for a, b in zip(local, served, strict=True))
        print(
            f"{settings.task.name} on {settings.physics.name}, {num_envs} environments: local {here:.0f} us a step, "
            f"served {there:.0f} us, so {there - here:.0f} us more (by round: {spread})"
        )
        here, there = (1e6 * min(times) for times in quickest.values())
        print(
            f"  quickest tenth of the steps of the best round: {here:.0f} and {there:.0f} us, {there - here:.0f} more"
        )
        if len(digests) > 1:
            print(f"  their observations differ: {sorted(digests)}")
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
