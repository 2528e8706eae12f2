"""Checks of what is composed of a task: its settings with every library, for training and for play."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from unittest import SkipTest

import yaml

from benchmark_app.compose import settings_of
from benchmark_app.envs.image_spec import DEFAULT_RENDERER
from benchmark_app.explain import HYDRA_ERRORS, explain
from benchmark_app.frameworks.registry import load_translation
from benchmark_app.physics import availability
from benchmark_app.places import conf_dir

from .claims import Claims


def every_library_takes_the_tuned_settings(claims: Claims) -> str:
    """With its tuned settings the task composes for training and play with every library, and passes the same gate."""
    here = [name for name in claims.declaration.engines if not availability.missing(name)]
    if not here:
        raise SkipTest("no declared engine is installed here; settings are checked together with one")
    taken, absent = [], []
    for path in sorted((conf_dir() / "framework").glob("*.yaml")):
        library = yaml.safe_load(path.read_text(encoding="utf-8"))
        if library.get("distribution") and not _installed(library["distribution"]):
            absent.append(path.stem)
            continue
        can = load_translation(library["module"]).ALGORITHMS
        for agent in filter(can.__contains__, _agents(claims)):
            chosen = [f"task={claims.entry.name}", f"framework={path.stem}", f"agent={agent}", f"physics={here[0]}"]
            chosen += [f"rendering={DEFAULT_RENDERER}"] if claims.cfg.image_groups() else []
            folder = [] if claims.entry.origin == "shipped" else ["--config-dir", str(claims.entry.conf)]
            try:
                settings_of([*folder, *chosen, "workflow.steps=[training,play]", "device=cpu"])
            except HYDRA_ERRORS as error:
                raise AssertionError(f"{' '.join(chosen)}: {explain(error, chosen)}") from error
            taken.append(f"{path.stem} {agent}")
    if not taken:
        raise SkipTest(f"no library is installed here: {', '.join(absent)}")
    return ", ".join(taken) + (f"; not installed here: {', '.join(absent)}" if absent else "")


COMPOSED: tuple[Callable[[Claims], str], ...] = (every_library_takes_the_tuned_settings,)
"""Every check of what is composed."""


def _agents(claims: Claims) -> list[str]:
    """PPO, and every other agent the task has tuned settings for."""
    agents = [path.stem for path in sorted((conf_dir() / "agent").glob("*.yaml"))]
    tuned = Path(claims.entry.conf) / "tuned"
    return [name for name in agents if name == "ppo" or (tuned / f"{claims.entry.name}_{name}.yaml").is_file()]


def _installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False
