"""Does `compare` find a slower environment step in real runs, and nothing where nothing changed?

    python benchmarks/detect_slowdown.py [--repeats 8] [--slowdown 0.10] [--rounds 3] [--steps 2000] [--num-envs 64]

Runs real cartpole `runtime` workflows in turn, A B B A A B …, each a process of its own. B's task sleeps in every step
of the environment, for `--slowdown` of the step time of a run that is measured first. Then the same without the sleep,
`--rounds` times. Expected: regressed, or underpowered with the number of repeats that are needed, and never unchanged;
without the sleep never regressed. Exit status 1 if not.

The result stands and falls with the machine: other work on it makes the first part underpowered, not wrong.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
METRIC = "environment_step_time_s"


def run(folder, sleep_s, arguments):
    """One real run; returns its mean time of an environment step [s]."""
    command = [sys.executable, "-m", "benchmark_app", "workflow=runtime", "device=cpu", f"hydra.run.dir={folder}"]
    command += [f"num_envs={arguments.num_envs}", f"runtime.steps={arguments.steps}", "task.module=sleepy_cartpole"]
    search = os.pathsep.join([str(HERE), str(ROOT), os.environ.get("PYTHONPATH", "")])
    variables = {**os.environ, "PYTHONPATH": search, "SLEEPY_CARTPOLE_S": repr(sleep_s), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=variables, cwd=folder.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"a run failed:\n{done.stdout}{done.stderr}")
    bundle = json.loads((folder / "runtime.json").read_text())
    return bundle["runtime"]["environment_step_timing"]["environment_step_time_s"]["mean"]


def in_turn(folder, sleep_s, arguments):
    """A and B in turn, the one that begins changing from pair to pair; returns both folders."""
    sides = {"A": (folder / "A", 0.0), "B": (folder / "B", sleep_s)}
    for side, _ in sides.values():
        side.mkdir(parents=True)
    for pair in range(arguments.repeats):
        for name in "AB" if pair % 2 == 0 else "BA":
            side, sleep = sides[name]
            run(side / f"{pair}", sleep, arguments)
    return sides["A"][0], sides["B"][0]


def judged(base, new):
    """What compare says: its exit status, and verdicts by metric."""
    command = [sys.executable, "-m", "benchmark_app", "compare", str(base), str(new), "--format", "json"]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=variables, cwd=base, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"compare failed:\n{done.stderr}")
    (group,) = json.loads(done.stdout)["groups"]
    return done.returncode, {one["metric"]: one for one in group["metrics"]}


def tell(name, status, metrics):
    step = metrics[METRIC]
    needed = f", needs {step['repeats_needed']} repeats" if step["repeats_needed"] else ""
    reason = f" ({step['reason']})" if step["reason"] else ""
    print(f"{name}: exit status {status}; {METRIC} {step['verdict']}{reason}{needed}; ", end="")
    print(f"{100 * step['change']:+.1f} % ({100 * step['low']:+.1f} to {100 * step['high']:+.1f}), ", end="")
    print(f"p {step['p_adjusted']:.2g}, {step['test']}, {step['n_base']} against {step['n_new']}")
    regressed = [metric for metric, one in metrics.items() if one["verdict"] == "regressed"]
    print(f"  regressed: {', '.join(regressed) or 'nothing'}", flush=True)
    return regressed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=8, help="runs per side (default 8)")
    parser.add_argument("--slowdown", type=float, default=0.10, help="share of the step that is slept (default 0.10)")
    parser.add_argument("--rounds", type=int, default=3, help="comparisons without the sleep (default 3)")
    parser.add_argument("--steps", type=int, default=2000, help="environment steps of a run (default 2000)")
    parser.add_argument("--num-envs", type=int, default=64, help="parallel environments (default 64)")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        step_s = min(run(folder / f"first{index}", 0.0, arguments) for index in range(2))
        sleep_s = arguments.slowdown * step_s
        print(f"a step takes {1e3 * step_s:.3f} ms; B sleeps {1e3 * sleep_s:.3f} ms in each", flush=True)
        status, metrics = judged(*in_turn(folder / "slower", sleep_s, arguments))
        tell("with the sleep", status, metrics)
        step = metrics[METRIC]
        underpowered = step["verdict"] == "underpowered" and step["repeats_needed"] is not None
        missed = not (step["verdict"] == "regressed" or underpowered)
        for index in range(arguments.rounds):
            status, metrics = judged(*in_turn(folder / f"equal{index}", 0.0, arguments))
            missed = bool(tell(f"without, round {index + 1}", status, metrics)) or missed
    print("missed" if missed else "as expected")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
