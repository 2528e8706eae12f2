"""Event lists as a supervisor and a worker write them, for the tests of the bundle builders."""

from __future__ import annotations

from typing import Any

from benchmark_app.bundle.pick import in_order
from benchmark_app.journal.events import (
    CheckpointSaved,
    Episode,
    Event,
    Extra,
    Finished,
    HostFacts,
    Iteration,
    LoopStarted,
    Phase,
    ResourceSample,
    RunClosed,
    RunPlanned,
    Steps,
    WorkerExited,
    WorkerFacts,
    WorkerSpawned,
)

GPU_A = {"uuid": "GPU-aaaa", "name": "Card A", "mem_gb": 80.0, "compute_cap": "9.0"}
GPU_B = {"uuid": "GPU-bbbb", "name": "Card B", "mem_gb": 24.0, "compute_cap": "8.6"}
HARDWARE = {"hostname": "box", "gpu_devices": [], "cpu_name": "CPU", "cpu_count": 2, "ram_gb": 16.0}
VERSIONS = {"torch": "2.9.1", "newton": "1.8.0", "git_commit": "abc", "git_branch": "main", "git_dirty": True}
PHASES = {"python_imports": 0.5, "task_config": 0.1, "app_launch": 0.2, "env_creation": 2.0, "first_step": 0.7}
SUPERVISOR_KINDS = ("run_planned", "host_facts", "worker_spawned", "resource_sample", "worker_exited", "run_closed")


def plan(workflow: str = "training", **changes: Any) -> RunPlanned:
    values: dict[str, Any] = {
        "t": 100.0,
        "run_id": "run-1",
        "workflow": workflow,
        "framework": "rsl_rl" if workflow in ("training", "play") else None,
        "physics": "newton_mjwarp",
        "rendering": "none",
        "task": "Cartpole",
        "seed": 7,
        "num_envs": 4,
        "max_iterations": 5 if workflow == "training" else None,
        "presets": ["agent=small"],
        "start_time_utc": "2026-11-30T10:00:00+00:00",
        "extra": {"threads": 1},
    }
    return RunPlanned(**(values | changes))


def phases(t: float, *, profiled: bool = False, slower: float = 1.0) -> list[Event]:
    rows = [{"name": "f", "own_time_s": 0.1, "cum_time_s": 0.2, "calls": 3}] if profiled else None
    return [
        Phase(t=t + 0.1 * i, name=name, duration_s=duration * slower, top_functions=rows)
        for i, (name, duration) in enumerate(PHASES.items())
    ]


def iteration(index: int, t: float, **changes: Any) -> Iteration:
    values: dict[str, Any] = {
        "frames": 8,
        "iteration_s": 1.0,
        "collection_s": 0.6,
        "learning_s": 0.3,
        "hook_s": 0.01,
        "env_step_s": [0.2, 0.3],
        "episodes": 2,
        "reward": float(index),
        "ep_length": 10.0 + index,
        "success_rate": 0.5,
    }
    return Iteration(t=t, index=index, **(values | changes))


def samples(begin: float = 101.0, count: int = 12, **changes: Any) -> list[Event]:
    return [ResourceSample(t=begin + i, cpu_pct=90.0 + i, ram_gb=1.0 + 0.1 * i, **changes) for i in range(count)]


def run(work: list[Event], *, workflow: str = "training", code: int = 0, **changes: Any) -> list[Event]:
    """A whole run around what its worker wrote, closed in good order right after the worker's last event."""
    end = max((event.t for event in work), default=101.0)
    supervisor: list[Event] = [
        plan(workflow, **changes),
        HostFacts(t=100.1, versions=VERSIONS, hardware=HARDWARE),
        WorkerSpawned(t=100.2, pid=1, command=["python"], log="log"),
        *[sample for sample in samples() if sample.t <= end],
        WorkerExited(t=end + 0.1, exit_code=code),
        RunClosed(t=end + 0.2, end_time_utc="2026-11-30T10:01:00+00:00"),
    ]
    return in_order(supervisor + work)


def facts(**changes: Any) -> WorkerFacts:
    values: dict[str, Any] = {"t": 100.9, "device": "cpu", "extra": {"torch_threads": 1}}
    return WorkerFacts(**(values | changes))


def training_work(warmup: int = 1, done: bool = True) -> list[Event]:
    """Five iterations; the first takes 4 s for 8 frames, the others 1 s."""
    work: list[Event] = [
        *phases(100.3),
        facts(),
        LoopStarted(t=101.0, steps_per_iteration=8, warmup_iterations=warmup),
        iteration(
            0,
            105.0,
            iteration_s=4.0,
            collection_s=3.0,
            env_step_s=[2.0, 1.0],
            reward=None,
            ep_length=None,
            success_rate=None,
            episodes=0,
        ),
        *[iteration(i, 105.0 + i) for i in range(1, 5)],
        CheckpointSaved(t=109.1, path="checkpoints/model_4.pt", iteration=4),
        Extra(t=109.2, values={"parameters": 1234}),
    ]
    return work + ([Finished(t=109.3, outcome="budget")] if done else [])


def steps_work(warmup: int = 1) -> list[Event]:
    return [
        *phases(100.3),
        facts(),
        LoopStarted(t=101.0, steps_per_iteration=4, warmup_iterations=warmup),
        Steps(t=103.0, first_index=0, step_s=[1.0, 0.5, 0.25], env_step_s=[0.9, 0.4, 0.2], frames=[4, 4, 3]),
        Steps(t=104.0, first_index=3, step_s=[0.5, 0.5], env_step_s=[0.4, 0.4], frames=[2, 1]),
    ]


def play_work() -> list[Event]:
    return [
        *steps_work(),
        *[Episode(t=104.1 + i / 100, index=i, reward=4.0 + i, length=100 + i, success=i > 0) for i in range(3)],
        CheckpointSaved(t=101.0, path="checkpoints/model_4.pt"),
        Finished(t=104.5, outcome="budget"),
    ]


def runtime_work() -> list[Event]:
    return [*steps_work(), Finished(t=104.5, outcome="budget")]


def startup_run() -> list[Event]:
    """Two passes: the second, profiled one takes ten times as long."""
    return in_order(
        [
            *run([*phases(100.3), facts(), Finished(t=101.5, outcome="budget")], workflow="startup")[:-1],
            WorkerSpawned(t=102.0, pid=2, command=["python"], log="log", profiled=True),
            *phases(102.1, profiled=True, slower=10.0),
            Finished(t=103.0, outcome="budget"),
            WorkerExited(t=103.1, exit_code=0),
            RunClosed(t=103.2, end_time_utc="2026-11-30T10:01:00+00:00"),
        ]
    )


RUNS: dict[str, list[Event]] = {
    "training": run(training_work()),
    "play": run(play_work(), workflow="play"),
    "runtime": run(runtime_work(), workflow="runtime"),
    "startup": startup_run(),
}
