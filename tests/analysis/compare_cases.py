"""Generated bundles for the tests of compare, made with the schema's own classes."""

from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta

from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.table import frame, row_of
from benchmark_app.analysis.thresholds import load_thresholds
from benchmark_app.bundle.schema import (
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
    StartupTime,
    TrainingBundle,
    Versions,
)
from benchmark_app.bundle.write import write_bundle_file

BEGIN = datetime(2026, 11, 2, 8, tzinfo=UTC)
SLOW, FAST = "a" * 40, "b" * 40


def thresholds(path=None):
    return load_thresholds({name: metric.min_effect for name, metric in METRICS.items()}, path)


def runtime(rate=1000.0, minute=0, **given):
    """A runtime run that made `rate` frames a second, started `minute` minutes into the day."""
    run, parts = _parts("runtime", rate, minute, given)
    return RuntimeBundle(run=run, **parts)


def training(rate=1000.0, minute=0, *, reward=10.0, success=None, series=None, **given):
    run, parts = _parts("training", rate, minute, {"framework": "rsl_rl", "iterations": 10} | given)
    curve = None if success is None else LearningCurve(success, success, None)
    learning = Learning(0.1, LearningCurve(reward, reward, series), LearningCurve(50.0, 50.0, None), curve)
    return TrainingBundle(run=run, **parts, learning=learning, success_rate=success)


def play(successes, episodes, minute=0, **given):
    extra = {"n_success": successes, "n_episodes": episodes}
    run, parts = _parts("play", 1000.0, minute, {"framework": "rsl_rl", "extra": extra} | given)
    mean = MeanStd(10.0, 1.0, 12.0)
    return PlayBundle(run=run, **parts, success_rate=successes / episodes, reward=mean, ep_length=mean)


def _parts(workflow, rate, minute, given):
    start = BEGIN + timedelta(minutes=minute)
    run = RunIdentity(
        run_id=given.get("run_id", f"{workflow}_{given.get('framework')}_{minute}_{rate}"),
        framework=given.get("framework"),
        config=RunConfig(given.get("physics", "newton_mjwarp"), "none", given.get("presets", ["host_return"])),
        task=given.get("task", "Cartpole-Direct-v0"),
        seed=given.get("seed", 1),
        start_time_utc=start.isoformat(),
        end_time_utc=(start + timedelta(seconds=30)).isoformat(),
        duration_s=30.0,
        status=given.get("status", "completed"),
        num_envs=given.get("num_envs", 64),
        max_iterations=given.get("iterations"),
    )
    versions = {field.name: None for field in fields(Versions)} | {"isaaclab": "", "torch": "2.9", "git_dirty": False}
    versions["git_commit"] = given.get("commit")
    frames, count = run.num_envs, given.get("iterations") or given.get("steps", 1000)
    step = frames / rate
    timing = EnvironmentStepTiming(
        MeanStd(step, 0.0, step), MeanStd(rate, 0.0, rate), None, None, None, count, None, "host_return"
    )
    speed = MeanStd(rate, 0.0, rate)
    startup = StartupTime(0.1, 1.0, 0.5, 2.0, 0.1)
    per_second = MeanStd(1 / step, 0.0, 1 / step)
    measured = Runtime(startup, count, step * count, frames, MeanStd(step, 0.0, step), speed, speed, per_second, timing)
    nothing, memory = MeanStd(0.0, 0.0), MeanStd(1.0, 0.0, 1.0)
    return run, {
        "versions": Versions(**versions),
        "hardware": Hardware(given.get("host", "box"), [], "Some CPU", 8, 32.0),
        "runtime": measured,
        "resources": Resources(nothing, MeanStd(0.0, 0.0, 0.0), MeanStd(99.0, 0.0), memory),
        "extra": {"device": "cpu", "threads": 1, "gpu_measured": False} | given.get("extra", {}),
    }


WORKFLOWS = {RuntimeBundle: "runtime", TrainingBundle: "training", PlayBundle: "play"}


def rows(bundles):
    """The rows that loading these bundles would give."""
    found = [
        row_of(f"{index}/{WORKFLOWS[type(one)]}.json", WORKFLOWS[type(one)], asdict(one))
        for index, one in enumerate(bundles)
    ]
    return frame(found).to_dicts()


def write(folder, bundles):
    """Write each bundle into a run directory of its own."""
    for one in bundles:
        here = folder / one.run.run_id
        here.mkdir(parents=True)
        write_bundle_file(one, here / f"{WORKFLOWS[type(one)]}.json")
    return str(folder)
