"""Bundles of every workflow, made of the schema's classes."""

import dataclasses
import random

from benchmark_app.bundle.schema import (
    CProfileFunction,
    EnvironmentStepTiming,
    Hardware,
    Learning,
    LearningCurve,
    MeanStd,
    PlayBundle,
    Resources,
    RunConfig,
    RunIdentity,
    Runtime,
    RuntimeBundle,
    StartupBundle,
    StartupConfig,
    StartupPhase,
    StartupTime,
    TrainingBundle,
    Versions,
)
from benchmark_app.bundle.write import write_bundle_file

WORKFLOWS = ("training", "play", "runtime", "startup")
PHASES = ("python_imports", "task_config", "app_launch", "env_creation", "first_step")
EXTRA = {
    "benchmark_app": "0.1.0",
    "device": "cpu",
    "threads": 1,
    "gpu_measured": False,
    "kernel_cache": "warm",
    "matmul_precision": "highest",
    "cudnn_tf32": False,
}


def made(workflow, number=0, *, fps=1000.0, minute=0, run=None, extra=None, iterations=6, commit="a" * 40, **changes):
    """A bundle. Equal arguments make equal bundles; `number` tells runs apart, `fps` scales every rate."""
    rng = random.Random(number)
    learns = workflow in ("training", "play")
    identity = {
        "run_id": f"{workflow}-{number}",
        "framework": "rsl_rl" if learns else None,
        "config": RunConfig("newton_mjwarp", "none", ["agent=ppo"]),
        "task": "Benchmark-Cartpole-v0",
        "seed": number,
        "start_time_utc": f"2026-11-{1 + number // 24 % 28:02d}T{number % 24:02d}:{minute:02d}:00+00:00",
        "end_time_utc": f"2026-11-{1 + number // 24 % 28:02d}T{number % 24:02d}:{minute:02d}:30+00:00",
        "duration_s": 30.0,
        "status": "completed",
        "num_envs": 64 if workflow != "startup" else None,
        "max_iterations": iterations if workflow == "training" else None,
    }
    versions = dict.fromkeys(field.name for field in dataclasses.fields(Versions))
    versions |= {"isaaclab": "", "torch": "2.9.0", "rsl_rl": "5.5.0", "git_commit": commit, "git_dirty": False}
    parts = {
        "run": RunIdentity(**(identity | (run or {}))),
        "versions": Versions(**versions),
        "hardware": Hardware("box", [], "AMD EPYC", 2, 24.0),
        "extra": {**EXTRA, **({"n_episodes": 20, "n_success": 15} if workflow == "play" else {}), **(extra or {})},
    }
    if workflow == "startup":
        rows = [CProfileFunction("module:function", 0.1, 0.2, 3)]
        parts |= {"phases": {name: StartupPhase(0.5, rows) for name in PHASES}, "config": StartupConfig(1, None)}
        return StartupBundle(**(parts | changes))
    rate, seconds = MeanStd(fps, fps / 100, fps * 1.1), MeanStd(64 / fps, 0.01 / fps, 80 / fps)
    parts |= {
        "runtime": Runtime(
            startup_time_s=StartupTime(0.1, 2.0, 0.5, 1.0, 0.2),
            iterations_completed=iterations,
            total_wall_time_s=iterations * 64 / fps,
            steps_per_iteration=64,
            iteration_time_s=seconds,
            collection_fps=rate,
            total_fps=rate,
            iterations_per_s=MeanStd(fps / 64, 0.0, fps / 64),
            environment_step_timing=EnvironmentStepTiming(seconds, rate, None, None, None, 6, None, "host_return", 2),
        ),
        "resources": Resources(MeanStd(0.0, 0.0), MeanStd(0.0, 0.0, 0.0), MeanStd(99.0, 1.0), MeanStd(1.0, 0.1, 1.2)),
    }
    if workflow == "runtime":
        return RuntimeBundle(**(parts | changes))
    if workflow == "play":
        parts |= {"success_rate": 0.75, "reward": MeanStd(200.0, 5.0, 210.0), "ep_length": MeanStd(250.0, 5.0, 300.0)}
        return PlayBundle(**(parts | changes))
    curves = [[rng.gauss(mean, 1.0) for _ in range(iterations)] for mean in (100.0, 200.0, 0.5)]
    learning = Learning(0.1, *(LearningCurve(series[-1], series[-1], series) for series in curves))
    return TrainingBundle(**(parts | {"learning": learning, "success_rate": 0.5} | changes))


def write(folder, workflow, number=0, name=None, **changes):
    """Write a bundle below a folder, in a run's folder of its own unless a file name is given; return its path."""
    path = folder / (name if name is not None else f"run-{number}/{workflow}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bundle_file(made(workflow, number, **changes), path)
    return path
