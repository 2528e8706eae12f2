"""How long it takes to load many bundles, and how much memory: 10,000 of them in under 5 s on one core and 500 MB.

    python benchmarks/analysis_scale.py [--bundles 10000] [--iterations 300] [--folder FOLDER]

The bundles are trainings, the largest kind, each in a folder of its own with the other files of a run directory. They
are read by fresh processes that are held to one core, so that neither their making nor a second core counts.
"""

import argparse
import dataclasses
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmark_app.bundle.schema import (
    EnvironmentStepTiming,
    Hardware,
    Learning,
    LearningCurve,
    MeanStd,
    Resources,
    RunConfig,
    RunIdentity,
    Runtime,
    StartupTime,
    TrainingBundle,
    Versions,
)

LIBRARIES = ("rsl_rl", "rl_games", "skrl", "sb3")


def stat(rng, mean):
    value = mean * rng.uniform(0.9, 1.1)
    return MeanStd(value, value * rng.uniform(0.01, 0.05), value * rng.uniform(1.05, 1.2))


def curve(rng, iterations):
    series = [rng.gauss(index, 3.0) for index in range(iterations)]
    return LearningCurve(series[-1], sum(series[-10:]) / 10, series)


def training(number, iterations):
    """One training bundle, as different from the others as real ones are."""
    rng = random.Random(number)
    library = LIBRARIES[number % len(LIBRARIES)]
    no_gpu = MeanStd(0.0, 0.0, 0.0)
    timing = EnvironmentStepTiming(stat(rng, 2e-4), stat(rng, 3e5), None, None, None, 5000, None, "host_return", 32)
    versions = dict.fromkeys(field.name for field in dataclasses.fields(Versions))
    versions |= {"isaaclab": "", "torch": "2.9.0", "git_commit": f"{number // 40:040x}", "git_dirty": False}
    return TrainingBundle(
        run=RunIdentity(
            run_id=f"training_{library}_newton_mjwarp_Cartpole_{number}",
            framework=library,
            config=RunConfig("newton_mjwarp", "none", ["agent=ppo"]),
            task="Benchmark-Cartpole-v0",
            seed=number % 10,
            start_time_utc="2026-11-30T09:36:19.047810+00:00",
            end_time_utc="2026-11-30T09:36:34.386203+00:00",
            duration_s=15.3,
            status="completed",
            num_envs=64,
            max_iterations=iterations,
        ),
        versions=Versions(**versions),
        hardware=Hardware("host", [], "AMD EPYC", 2, 23.54),
        runtime=Runtime(
            startup_time_s=StartupTime(0.001, rng.random(), rng.random(), rng.random(), rng.random()),
            iterations_completed=iterations,
            total_wall_time_s=12.0 * rng.random(),
            steps_per_iteration=1024,
            iteration_time_s=stat(rng, 0.04),
            collection_fps=stat(rng, 60000.0),
            total_fps=stat(rng, 30000.0),
            iterations_per_s=stat(rng, 25.0),
            environment_step_timing=timing,
        ),
        resources=Resources(MeanStd(0.0, 0.0), no_gpu, MeanStd(99.0, 1.0), stat(rng, 1.1)),
        learning=Learning(0.1, *(curve(rng, iterations) for _ in range(3))),
        success_rate=rng.random(),
        checkpoint_path=f"outputs/{number}/checkpoints/policy.pt",
        extra={
            "benchmark_app": "0.1.0",
            "device": "cpu",
            "device_reason": "torch is built without CUDA",
            "threads": 1,
            "gpu_measured": False,
            "kernel_cache": "warm",
            "matmul_precision": "highest",
            "agent_approximate": "value_clip",
            "collection_time_s": rng.random() * 10,
            "learning_time_s": rng.random() * 10,
            "warmup_iterations": 2,
            "measured_wall_time_s": rng.random() * 12,
            "episodes_finished": 4000,
        },
    )


def make(folder, bundles, iterations):
    for number in range(bundles):
        run = folder / f"{number // 100:03d}" / f"{number:05d}"
        (run / "journal").mkdir(parents=True)
        bundle = dataclasses.asdict(training(number, iterations))
        (run / "training.json").write_text(json.dumps(bundle, indent=2) + "\n")
        (run / "run.json").write_text(json.dumps({"format": 1, "command": "python -m benchmark_app", "number": number}))
        (run / "journal" / "training.spec.json").write_text("{}")


def measure(folder, series):
    """Run in a fresh process: load the folder; say what it took, and what the standard library's parser alone takes."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    begin = time.perf_counter()
    from benchmark_app.analysis import load

    imported, cpu = time.perf_counter(), time.process_time()
    results = load(folder, series=series)
    load_s, load_cpu_s = time.perf_counter() - imported, time.process_time() - cpu
    # ru_maxrss is in bytes on macOS and in KiB elsewhere
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    cpu = time.process_time()
    for path in results.runs["path"]:
        json.loads(Path(path).read_bytes())
    figures = {
        "series": series,
        "bundles": results.runs.height,
        "broken": len(results.broken),
        "import_s": imported - begin,
        "load_s": load_s,
        "load_cpu_s": load_cpu_s,
        "json_loads_cpu_s": time.process_time() - cpu,
        "peak_mb": peak_mb,
    }
    print(json.dumps({name: round(value, 2) if isinstance(value, float) else value for name, value in figures.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundles", type=int, default=10_000)
    parser.add_argument("--iterations", type=int, default=300, help="values of each of the three curves")
    parser.add_argument("--folder", help="keep the bundles here, and use those that are here already")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--series", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.series)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        if not any(folder.glob("*")):
            make(folder, arguments.bundles, arguments.iterations)
        for series in ([], ["--series"]):
            subprocess.run([sys.executable, __file__, "--measure", str(folder), *series], check=True)


if __name__ == "__main__":
    main()
