"""Folders of generated bundles for the tests of the report, made with the schema's own classes."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

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
from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Iteration, ResourceSample, RunPlanned

BEGIN = datetime(2026, 11, 2, 8, tzinfo=UTC)
SPEED = {"rsl_rl": 1.0, "skrl": 0.82, "sb3": 0.55, "rl_games": 0.93, None: 3.0}
ENGINE = {"newton_mjwarp": 1.0, "newton_kamino": 0.6, "ovphysx": 1.25, "physx": 1.4}
LEARNING = {"rsl_rl": 1.0, "skrl": 0.9, "sb3": 0.7, "rl_games": 0.97}


def stat(mean: float, spread: float = 0.02, *, peak: bool = True) -> MeanStd:
    return MeanStd(mean, spread * mean, mean * (1 + 2 * spread) if peak else None)


def identity(workflow: str, index: int, **given: Any) -> RunIdentity:
    """A run's identity; its start time follows from `index`, one run every seven minutes."""
    values: dict[str, Any] = {
        "framework": "rsl_rl" if workflow in ("training", "play") else None,
        "physics": "newton_mjwarp",
        "presets": ["ppo", "host_return"] if workflow in ("training", "play") else ["host_return"],
        "task": "Cartpole-Direct-v0",
        "seed": 1,
        "status": "completed",
        "num_envs": 64,
        "iterations": 150,
    } | given
    start = BEGIN + timedelta(minutes=7 * index)
    name = f"{workflow}_{values['framework'] or 'none'}_{values['physics']}_{index:05d}"
    return RunIdentity(
        run_id=values.get("run_id", name),
        framework=values["framework"],
        config=RunConfig(values["physics"], "none", values["presets"]),
        task=values["task"],
        seed=values["seed"],
        start_time_utc=start.isoformat(),
        end_time_utc=(start + timedelta(seconds=40)).isoformat(),
        duration_s=40.0,
        status=values["status"],
        num_envs=values["num_envs"] if workflow != "startup" else None,
        max_iterations=values["iterations"] if workflow == "training" else None,
    )


def common(run: RunIdentity, noise: random.Random, hardware: dict[str, Any] | None = None) -> dict[str, Any]:
    versions = {field.name: None for field in dataclasses.fields(Versions)}
    versions |= {"isaaclab": "", "torch": "2.9.1", "newton": "1.8.0", "rsl_rl": "5.5.1", "skrl": "2.1.1"}
    versions |= {"git_commit": "982d58dd4fb8c7dcd365e612e6774d4c4a9a429c", "git_branch": "main", "git_dirty": False}
    host = {"hostname": "box", "gpu_devices": [], "cpu_name": "Some CPU", "cpu_count": 8, "ram_gb": 31.3}
    return {"run": run, "versions": Versions(**versions), "hardware": Hardware(**(host | (hardware or {})))}


def timing(run: RunIdentity, noise: random.Random, *, frames: int, serialized: bool) -> dict[str, Any]:
    envs = run.num_envs or 1
    engine = ENGINE[run.config.physics_backend]
    factor = noise.gauss(1.0, 0.03)
    env_step = (0.3e-3 + envs * 1.1e-6) / engine / factor
    rollout = frames // envs
    collection = rollout * env_step * 1.15 / SPEED[run.framework] if run.framework else rollout * env_step
    update = 0.05 / SPEED[run.framework] if run.max_iterations else 0.0
    iteration = (collection + update) * 1.01
    steps = EnvironmentStepTiming(
        environment_step_time_s=stat(env_step),
        environment_step_fps=stat(envs / env_step),
        simulation_step_time_s=stat(env_step * 0.75) if serialized else None,
        outside_simulation_step_time_s=MeanStd(env_step - env_step * 0.75, 0.0) if serialized else None,
        outside_simulation_step_fraction=(env_step - env_step * 0.75) / env_step if serialized else None,
        environment_step_calls=rollout * 100,
        simulation_step_calls=rollout * 200 if serialized else None,
        measurement_mode="serialized_synchronized" if serialized else "host_return",
    )
    count = run.max_iterations or 1000
    return {
        "runtime": Runtime(
            startup_time_s=StartupTime(0.03, 1.1 * factor, 0.3 * factor, 3.1 * factor, 0.02),
            iterations_completed=count,
            total_wall_time_s=iteration * count,
            steps_per_iteration=frames,
            iteration_time_s=stat(iteration),
            collection_fps=stat(frames / collection),
            total_fps=stat(frames / iteration),
            iterations_per_s=stat(1 / iteration),
            environment_step_timing=steps,
        ),
        "resources": Resources(
            MeanStd(0.0, 0.0),
            MeanStd(0.0, 0.0, 0.0),
            stat(99.0, peak=False),
            stat(0.7 + envs / 4096 + noise.random() / 50),
        ),
        "extra": {
            "benchmark_app": "0.1.0",
            "device": "cpu",
            "threads": 1,
            "kernel_cache": "warm",
            "gpu_measured": False,
            "collection_time_s": collection * count,
            "learning_time_s": update * count,
            "measured_wall_time_s": iteration * count,
        },
    }


def training(
    index: int, *, serialized: bool = False, extra: dict[str, Any] | None = None, **given: Any
) -> TrainingBundle:
    run = identity("training", index, **given)
    noise = random.Random(index)
    parts = timing(run, noise, frames=(run.num_envs or 1) * 16, serialized=serialized)
    count = run.max_iterations or 1
    speed = LEARNING.get(run.framework or "", 0.8) * noise.gauss(1.0, 0.1)
    reward = [4.9 / (1 + math.exp(-8 * (i / count * speed - 0.45))) + noise.gauss(0, 0.06) for i in range(count)]
    success = [min(1.0, max(0.0, value / 4.9)) for value in reward]
    parts["extra"] |= {"episodes_finished": 900, "learning_first_iteration": 1} | (extra or {})
    return TrainingBundle(
        **common(run, noise),
        **parts,
        learning=Learning(
            0.1,
            LearningCurve(reward[-1], reward[-1], reward),
            LearningCurve(60.0, 60.0, [60.0] * count),
            LearningCurve(success[-1], success[-1], success),
        ),
        success_rate=success[-1],
    )


def runtime(
    index: int, *, serialized: bool = False, extra: dict[str, Any] | None = None, **given: Any
) -> RuntimeBundle:
    run = identity("runtime", index, **given)
    noise = random.Random(index)
    parts = timing(run, noise, frames=run.num_envs or 1, serialized=serialized)
    parts["extra"] |= extra or {}
    return RuntimeBundle(**common(run, noise), **parts)


def play(index: int, *, extra: dict[str, Any] | None = None, video: str | None = None, **given: Any) -> PlayBundle:
    run = identity("play", index, **given)
    noise = random.Random(index)
    parts = timing(run, noise, frames=run.num_envs or 1, serialized=False)
    n = 128
    wins = round(n * min(1.0, max(0.0, LEARNING.get(run.framework or "", 0.8) - 0.05 + noise.gauss(0, 0.03))))
    parts["extra"] |= {"n_episodes": n, "n_success": wins} | (extra or {})
    return PlayBundle(
        **common(run, noise),
        **parts,
        success_rate=wins / n,
        reward=stat(4.5 * wins / n),
        ep_length=stat(290.0),
        video_path=video,
    )


def startup(index: int, *, extra: dict[str, Any] | None = None, **given: Any) -> StartupBundle:
    run = identity("startup", index, **given)
    noise = random.Random(index)
    rows = [
        CProfileFunction(f"package.module:function_{i}", 0.2 / (i + 1), 0.5 / (i + 1), 10 * i + 1) for i in range(8)
    ]
    seconds = {"python_imports": 2.9, "task_config": 0.03, "app_launch": 0.03, "env_creation": 1.05, "first_step": 0.31}
    return StartupBundle(
        **common(run, noise),
        phases={name: StartupPhase(value * noise.gauss(1, 0.04), rows) for name, value in seconds.items()},
        config=StartupConfig(30, None),
        extra={"benchmark_app": "0.1.0", "device": "cpu", "threads": 1, "kernel_cache": "warm"} | (extra or {}),
    )


BUILDERS: dict[str, Any] = {"training": training, "runtime": runtime, "play": play, "startup": startup}


def write(folder: Path, workflow: str, index: int, *, journal: bool = False, **given: Any) -> Path:
    """Write one bundle into a run folder of its own, with a manifest, a log and, where asked, journals."""
    run = folder / f"run-{index:05d}"
    (run / "logs").mkdir(parents=True, exist_ok=True)
    path = run / f"{workflow}.json"
    bundle = BUILDERS[workflow](index, **given)
    write_bundle_file(bundle, path)
    (run / "logs" / f"{workflow}.log").write_text(
        f"worker started\n{given.get('log', 'all is well')}\n", encoding="utf-8"
    )
    manifest = {
        "command": f"python -m benchmark_app task=cartpole seed={bundle.run.seed}",
        "workflows": {workflow: {"log": f"logs/{workflow}.log"}},
    }
    (run / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    if journal:
        write_journals(run, bundle)
    return path


def write_journals(run: Path, bundle: TrainingBundle, samples: int = 90) -> None:
    """Journals of a training whose iterations all took the same time."""
    (run / "journal").mkdir(exist_ok=True)
    r = bundle.run
    supervisor = JournalWriter(run / "journal" / "training.supervisor.jsonl")
    supervisor.append(
        RunPlanned(
            t=50.0, run_id=r.run_id, workflow="training", framework=r.framework, physics=r.config.physics_backend,
            rendering="none", task=r.task, seed=r.seed, num_envs=r.num_envs or 1, max_iterations=r.max_iterations,
            presets=r.config.presets, start_time_utc=r.start_time_utc,
        )
    )  # fmt: skip
    for i in range(samples):
        spike = 1.5 if i == 40 else 0.0
        supervisor.append(ResourceSample(t=50.0 + 0.5 * i, cpu_pct=99.0, ram_gb=0.2 + min(i, 20) * 0.03 + spike))
    supervisor.close()
    worker = JournalWriter(run / "journal" / "training.worker.jsonl")
    seconds = bundle.runtime.iteration_time_s.mean
    for i in range(bundle.runtime.iterations_completed):
        worker.append(
            Iteration(
                t=60.0 + seconds * (i + 1), index=i, frames=1024, iteration_s=seconds, collection_s=seconds / 2,
                learning_s=seconds / 2, hook_s=0.0, env_step_s=[], episodes=3, reward=1.0, ep_length=60.0,
                success_rate=0.0,
            )
        )  # fmt: skip
    worker.close()


def write_sweep(folder: Path, count: int, *, iterations: int = 150, journals: bool = False) -> None:
    """A sweep as users run them: tasks × engines × environments × seeds × libraries, the first `count` of them."""
    cases: list[tuple[str, dict[str, Any]]] = []
    for task in ("Cartpole-Direct-v0", "Pendulum-v0", "Reach-Franka-v0"):
        for physics in ("newton_mjwarp", "newton_kamino"):
            for num_envs in (64, 512, 4096):
                for seed in (1, 2, 3, 4, 5):
                    where = {"task": task, "physics": physics, "num_envs": num_envs, "seed": seed}
                    cases += [("runtime", where)] if seed <= 3 else []
                    cases += [("startup", where)] if seed <= 2 and num_envs == 64 else []
                    for framework in ("rsl_rl", "skrl", "sb3", "rl_games"):
                        cases.append(("training", where | {"framework": framework, "iterations": iterations}))
                        cases += [("play", where | {"framework": framework})] if num_envs == 64 else []
    for index in range(count):
        workflow, given = cases[index % len(cases)]
        write(folder, workflow, index, journal=journals and workflow == "training", **given)
