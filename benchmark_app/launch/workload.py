"""Which settings of a run are not the shipped ones: runs that differ in them did not do the same."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from benchmark_app.frameworks.mapping import leaves
from benchmark_app.places import conf_dir
from benchmark_app.settings import Settings

# What decides the numbers of a workflow, and has no field of its own in a bundle.
COUNTS = {
    "training": ("task", "physics", "agent", "training", "learning", "nan_guard"),
    "play": ("task", "physics", "agent", "play", "nan_guard"),
    "runtime": ("task", "physics", "runtime", "nan_guard"),
    "startup": ("task", "physics", "nan_guard"),
}
# What has a field of its own (the choice, the budget), or changes no number.
BESIDES = {
    *(f"{group}.name" for group in ("task", "physics")),
    *("task.gym_id", "agent.algorithm", "agent.iterations", "play.episodes", "runtime.steps"),
    *("learning.series", "training.checkpoint_interval", "training.video_interval", "play.video"),
}


def settings_of(settings: Settings, workflow: str) -> str:
    """The settings that count for a workflow and differ from those shipped for the same choices.

    Returns:
        `agent.learning_rate=0.01,task.max_effort=50.0`, sorted; "" where all are the shipped ones.
    """
    groups = COUNTS.get(workflow, ())
    shipped = dict(leaves({name: value for name, value in _shipped(settings).items() if name in groups}))
    chosen = dict(leaves({name: value for name, value in settings.to_plain().items() if name in groups}))
    return ",".join(
        f"{key}={'null' if value is None else value}"
        for key, value in sorted(chosen.items())
        if key not in BESIDES and (key not in shipped or shipped[key] != value)
    )


def _shipped(settings: Settings) -> dict[str, Any]:
    """The settings as `conf/` has them for the choices of a run; what no file has, as its class has it."""
    task, agent, physics = settings.task.name, settings.agent.algorithm, settings.physics.name
    found = dict(_read("config.yaml"))
    for name, cfg, path in (
        ("task", settings.task, f"task/{task}.yaml"),
        ("agent", settings.agent, f"agent/{agent}.yaml"),
        ("physics", settings.physics, f"physics/{physics}.yaml"),
    ):
        found[name] = _defaults(type(cfg)) | _read(path)
    for path in (f"tuned/{task}_{agent}.yaml", f"tuned_library/{task}_{agent}_{settings.framework.name}.yaml"):
        for name, tuned in _read(path).items():
            found[name] = found[name] | tuned if isinstance(tuned, dict) else tuned
    return found


@functools.cache  # in a sweep, each run asks again
def _read(path: str) -> dict[str, Any]:
    """A file of `conf/`, not to be changed; empty where a user's choice lies elsewhere."""
    file = Path(conf_dir()) / path
    content: Any = OmegaConf.to_container(OmegaConf.load(file)) if file.is_file() else {}
    return {str(key): value for key, value in content.items()}


def _defaults(cfg: type[Any]) -> dict[str, Any]:
    found = {}
    for field in dataclasses.fields(cfg):
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
    return found
