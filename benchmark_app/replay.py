"""The verb `replay`: take the failing step of a NaN dump again, on the CPU. Light until the dump was found in order."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.envs.dump import HISTORY, DumpError, read_facts
from benchmark_app.refusal import refuse
from benchmark_app.settings import SettingError, task_cfg_class

REPRODUCED, NOT_REPRODUCED = 0, 1


def replay(path: Path) -> int:
    """Take the failing step of a dump again, and print whether the same tensor is bad in the same rows.

    The task module named in the dump is imported: a dump is as trustworthy as that module.

    Args:
        path: Folder of the dump.

    Returns:
        Exit status: 0 reproduced, 1 not reproduced, 2 refused.
    """
    try:
        facts = read_facts(path)
        cfg = _task_cfg(facts["task"])
        # By name, so that the command line stays free of torch.
        heavy = importlib.import_module("benchmark_app.envs.reenact")
        again = heavy.reenact(cfg, facts, path / HISTORY)
    except (DumpError, SettingError) as error:
        return refuse(_shown(f"{path}: {error}"))
    here = heavy.versions()
    others = ", ".join(f"{name} {version}" for name, version in facts["versions"].items() if here.get(name) != version)
    print(_shown(f"{'reproduced' if again.reproduced else 'not reproduced'}: {again.sentence}"))
    print(_shown(f"the run on {facts['device']} said: {facts['reason']}" + (f" (it had {others})" if others else "")))
    return REPRODUCED if again.reproduced else NOT_REPRODUCED


def _shown(text: str) -> str:
    """One line for a terminal, whatever a dump holds."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _task_cfg(task: dict[str, Any]) -> EnvCfg:
    """The settings of the task, typed as those of a run are."""
    settings = task.get("settings")
    module = settings.get("module") if isinstance(settings, dict) else None
    if not isinstance(module, str):
        raise DumpError("dump.json: task.settings names no module")
    try:
        cfg = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(task_cfg_class(module)), settings))
    except OmegaConfBaseException as error:
        raise DumpError(f"dump.json: task.settings do not fit {module} ({error})") from error
    assert isinstance(cfg, EnvCfg), "task_cfg_class gives nothing else"
    return cfg
