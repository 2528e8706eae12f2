"""From finished runs to reference results. Light."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from benchmark_app.bundle.aggregate import wilson_interval
from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.bundle.schema import PlayBundle, TrainingBundle
from benchmark_app.bundle.write import write_json_file
from benchmark_app.catalogue.reference import FORMAT, SeedResult, read_reference

from .claims import Claims
from .reference import BASIS, expected, over_seeds

# What says where a run lay, or which of several it was.
_LEFT_OUT = (
    *("seed=", "run.", "hydra.", "worker.", "kernel_cache=", "workflow"),
    *("task=", "framework=", "agent=", "physics=", "device="),
)
_MEASURED = ("newton", "warp", "mjwarp", "mujoco", "ovphysx", "isaacsim", "torch", "numpy")
_KEY = ("framework", "agent", "physics", "device")


class RunError(ValueError):
    """A run cannot serve as a reference; one line."""


@dataclass(frozen=True)
class FinishedRun:
    """A training and the play of its policy, in one folder."""

    folder: Path
    training: TrainingBundle
    play: PlayBundle
    config: dict[str, Any]
    overrides: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Library, agent, engine and kind of device."""
        names = (self.config[group]["name"] for group in ("framework", "physics"))
        framework, physics = names
        device = str((self.training.extra or {})["device"]).partition(":")[0]
        return framework, self.config["agent"]["algorithm"], physics, device


def find_runs(folders: Iterable[Path], task: str) -> list[FinishedRun]:
    """The runs in folders, or below them.

    Raises:
        RunError: A folder holds none, or one that cannot serve; the message says why.
    """
    found = []
    for folder in folders:
        runs = sorted(path.parent for path in folder.rglob("run.json") if (path.parent / ".hydra").is_dir())
        if not runs:
            raise RunError(f"{folder}: holds no run")
        found += [_read(run, task) for run in runs]
    return found


def seed_results(runs: Iterable[FinishedRun]) -> list[SeedResult]:
    """What each training gave, ordered by seed."""
    return sorted((_seed_result(run) for run in runs), key=lambda result: result.seed)


def write_reference(claims: Claims, runs: list[FinishedRun], chance: Callable[[str, str], dict[str, Any]]) -> list[str]:
    """Put results made of runs into the task's file; those of other libraries, agents, engines and devices stay.

    Args:
        claims: The task.
        runs: Trainings with their plays.
        chance: Measures random actions on an engine and a kind of device.

    Returns:
        What was written, a line for each result.

    Raises:
        RunError: Runs of one library and engine do not belong together.
    """
    groups: dict[tuple[str, ...], list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    kept = {
        tuple(asdict(result)[part] for part in _KEY): asdict(result)
        for result in read_reference(claims.entry.reference)
    }
    told = []
    for key, group in sorted(groups.items()):
        _require_alike(group)
        kept[key] = _result(claims, group, chance(key[2], key[3]))
        seeds = ", ".join(str(seed["seed"]) for seed in kept[key]["seeds"])
        means = ", ".join(f"{name} {entry['mean']:.4g}" for name, entry in kept[key]["over_seeds"].items())
        told.append(f"{key[0]} {key[1]} on {key[2]} ({key[3]}), seeds {seeds}: {means}")
    write_json_file({"format": FORMAT, "results": [kept[key] for key in sorted(kept)]}, claims.entry.reference)
    return told


def _read(folder: Path, task: str) -> FinishedRun:
    bundles: dict[str, Any] = {}
    for name, kind in (("training", TrainingBundle), ("play", PlayBundle)):
        path = folder / f"{name}.json"
        if not path.is_file():
            raise RunError(f"{folder}: has no {name}.json; run it with workflow.steps=[training,play]")
        bundle = read_bundle_file(path).bundle
        assert isinstance(bundle, kind)
        extra = bundle.extra or {}
        if bundle.run.status != "completed":
            raise RunError(f"{path}: is {bundle.run.status}; only completed runs serve as a reference")
        for mark in ("synthetic", "perturbed", "smoke"):
            if extra.get(mark):
                raise RunError(f"{path}: is marked {mark}; such a run is no reference")
        bundles[name] = bundle
    config = yaml.safe_load((folder / ".hydra" / "config.yaml").read_text(encoding="utf-8"))
    overrides = yaml.safe_load((folder / ".hydra" / "overrides.yaml").read_text(encoding="utf-8"))
    if config["task"]["name"] != task:
        raise RunError(f"{folder}: is a run of {config['task']['name']}, not of {task}")
    return FinishedRun(folder, bundles["training"], bundles["play"], config, tuple(map(str, overrides)))


def _require_alike(runs: list[FinishedRun]) -> None:
    """One command must give all of them."""
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("overrides", _own(first), _own(run)),
            ("training.iterations", first.training.run.max_iterations, run.training.run.max_iterations),
            ("num_envs", first.training.run.num_envs, run.training.run.num_envs),
            ("versions", _versions(first), _versions(run)),
            ("play.episodes", first.config["play"]["episodes"], run.config["play"]["episodes"]),
        ):
            if one != other:
                raise RunError(f"{first.folder} and {run.folder} differ in {what}: {one} and {other}")
    seeds = [run.training.run.seed for run in runs]
    if len(set(seeds)) < len(seeds):
        raise RunError(f"seeds {seeds}: each may be there once; name the folders of those you mean")


def _own(run: FinishedRun) -> list[str]:
    return sorted(text for text in run.overrides if not text.lstrip("+").startswith(_LEFT_OUT))


def _result(claims: Claims, runs: list[FinishedRun], chance: dict[str, Any]) -> dict[str, Any]:
    framework, agent, physics, device = runs[0].key
    seeds, training = seed_results(runs), runs[0].training
    hardware = training.hardware
    chosen = [f"task={claims.entry.name}", f"framework={framework}", f"agent={agent}", f"physics={physics}"]
    listed = ",".join(str(seed.seed) for seed in seeds)
    words = [*chosen, f"device={device}", "workflow.steps=[training,play]", *_own(runs[0]), f"seed={listed}"]
    several = ["-m"] if len(seeds) > 1 else []
    gpus = [str(gpu.name) for gpu in hardware.gpu_devices] if device == "cuda" else []
    return {
        "framework": framework,
        "agent": agent,
        "physics": physics,
        "device": device,
        "command": shlex.join(["python", "-m", "benchmark_app", *several, *words]),
        "measured_on": training.run.start_time_utc[:10],
        "revision": training.versions.git_commit or "",
        "dirty": training.versions.git_dirty,
        "num_envs": training.run.num_envs,
        "iterations": training.runtime.iterations_completed,
        "frames": training.runtime.iterations_completed * training.runtime.steps_per_iteration,
        "versions": _versions(runs[0]),
        "hardware": {
            "cpu_name": hardware.cpu_name,
            "cpu_count": hardware.cpu_count,
            "threads": (training.extra or {}).get("threads"),
            "ram_gb": hardware.ram_gb,
            "gpu": gpus,
        },
        "random": chance,
        "seeds": [asdict(seed) for seed in seeds],
        "over_seeds": over_seeds(seeds),
        "expected": expected(seeds),
        "basis": BASIS,
    }


def _versions(run: FinishedRun) -> dict[str, str]:
    known, extra = asdict(run.training.versions), run.training.extra or {}
    found = {"benchmark_app": str(extra["benchmark_app"])}
    found |= {name: known[name] for name in _MEASURED if known.get(name)}
    return found | {run.key[0]: str(extra.get("framework_version") or known.get(run.key[0]) or "")}


def _seed_result(run: FinishedRun) -> SeedResult:
    extra = run.play.extra or {}
    curve = run.training.learning.reward.series_per_iter
    metrics = {
        key.removeprefix("metrics."): float(value)
        for key, value in extra.items()
        if key.startswith("metrics.") and not key.endswith(".n_episodes") and extra.get(f"{key}.n_episodes")
    }
    assert run.play.reward is not None, "a completed play has episodes"
    episodes, rate = int(extra["n_episodes"]), run.play.success_rate
    succeeded = None if rate is None else round(rate * episodes)
    wilson = None if succeeded is None else wilson_interval(succeeded, episodes)
    return SeedResult(
        seed=run.training.run.seed,
        training_s=run.training.runtime.total_wall_time_s,
        last_tenth_reward=fmean(curve[-max(1, len(curve) // 10) :]) if curve else None,
        n_episodes=episodes,
        n_success=succeeded,
        pc_success=None if succeeded is None else 100 * succeeded / episodes,
        pc_success_ci95=None if wilson is None else [100 * bound for bound in wilson],
        avg_sum_reward=run.play.reward.mean,
        avg_max_reward=float(extra["avg_max_reward"]) if "avg_max_reward" in extra else None,
        metrics=metrics,
    )
