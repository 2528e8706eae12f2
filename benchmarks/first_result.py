"""Seconds from the command to the first step and to the first bundle, and throughput over environments.

    python benchmarks/first_result.py [--rounds 5] [--cold] [--num-envs 16 64 256 1024]

Warm: the application and a bare script (`bare_cartpole.py`) are started in turn, and the ratio is taken pair by pair,
because the machine's speed drifts. Bar: to the first step, warm, at most 1.25 times the bare script. Cold (`--cold`):
once, with an empty kernel cache in a temporary folder.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BAR = 1.25


def environment(cache: str | None) -> dict[str, str]:
    extra = {"WARP_CACHE_PATH": cache} if cache else {}
    return {**os.environ, "OMP_NUM_THREADS": "1", **extra}


def bare(num_envs: int, cache: str | None = None) -> float:
    """Seconds from starting the bare script to its first step."""
    begin = time.monotonic()
    command = [sys.executable, str(HERE / "bare_cartpole.py"), str(num_envs)]
    done = subprocess.run(command, env=environment(cache), capture_output=True, text=True, check=True)
    return float(done.stdout.rpartition("FIRST_STEP")[2]) - begin


def application(num_envs: int, cache: str | None = None, steps: int = 1000) -> tuple[float, float, float]:
    """Seconds from the command to the first step and to the first bundle, and environment steps per second."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "benchmark_app", "workflow=runtime", f"num_envs={num_envs}"]
        command += [f"runtime.steps={steps}", f"hydra.run.dir={run}"]
        begin = time.monotonic()
        subprocess.run(command, cwd=folder, env=environment(cache), capture_output=True, check=True)
        ended = time.monotonic() - begin
        journal = (run / "journal" / "runtime.worker.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in journal]
        first_step = next(event["t"] for event in events if event.get("name") == "first_step") - begin
        bundle = json.loads((run / "runtime.json").read_text())
        return first_step, ended, bundle["runtime"]["collection_fps"]["mean"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of starts (default 5)")
    parser.add_argument("--cold", action="store_true", help="also measure once with an empty kernel cache (slow)")
    parser.add_argument("--num-envs", type=int, nargs="*", default=[16, 64, 256, 1024], help="sizes for throughput")
    arguments = parser.parse_args()

    application(64), bare(64)  # fill the kernel cache, and the disk's
    pairs = [(application(64), bare(64)) for _ in range(arguments.rounds)]
    ratios = [ours[0] / theirs for ours, theirs in pairs]
    print("warm, 64 environments          median      min      max")
    for label, values in (
        ("to the first step [s]", [ours[0] for ours, _ in pairs]),
        ("to the first bundle [s]", [ours[1] for ours, _ in pairs]),
        ("bare script, first step [s]", [theirs for _, theirs in pairs]),
        ("ratio to the bare script", ratios),
    ):
        print(f"{label:<30} {statistics.median(values):6.2f}   {min(values):6.2f}   {max(values):6.2f}")
    if arguments.cold:
        with tempfile.TemporaryDirectory() as cache:
            first_step, bundle, _ = application(64, cache)
        with tempfile.TemporaryDirectory() as cache:
            script = bare(64, cache)
        print(f"cold: first step {first_step:.1f} s, first bundle {bundle:.1f} s, bare script {script:.1f} s")
    for num_envs in arguments.num_envs:
        print(f"{num_envs:>5} environments: {application(num_envs)[2]:>9,.0f} steps/s")
    met = statistics.median(ratios) <= BAR
    print(f"bar: ratio at most {BAR}: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
