"""A worker that only loads a checkpoint, with its library and without an engine, and says whether it may be used."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.parent_link import ParentLink
from benchmark_app.settings import Settings

if TYPE_CHECKING:
    from benchmark_app.envs.torch_env import TorchEnv

# The pipe takes 4000 bytes of last words; a longer answer would be cut in the middle of its form.
MOST_LETTERS = 900


def main(spec_path: Path, fd: int) -> int:
    """Look at a checkpoint and answer through the pipe: `{"refused": WHY}`, where WHY is "" for one that is fine.

    Args:
        spec_path: File with the settings of the run.
        fd: This end of the pipe to the parent.

    Returns:
        Exit status; 0 once an answer was given.
    """
    link = ParentLink(fd)
    settings = Settings.from_plain(json.loads(spec_path.read_text(encoding="utf-8"))["settings"])
    link.last_words(json.dumps({"refused": refusal(settings)[:MOST_LETTERS]}, ensure_ascii=False))
    return 0


def refusal(settings: Settings) -> str:
    """Why the checkpoint of a run cannot be used, "" if it can."""
    from benchmark_app.frameworks.mapping import override
    from benchmark_app.frameworks.registry import load_adapter, load_translation

    framework = settings.framework
    assert settings.checkpoint is not None, "without a checkpoint there is nothing to look at"
    try:
        adapter = load_adapter(framework.module)
    except ImportError as error:
        return f"framework={framework.name}: cannot be loaded by the worker's Python ({error})"
    from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused

    config = override(load_translation(framework.module).translate(settings.agent), framework.native)
    checkpoint = Checkpoint(path=Path(settings.checkpoint), trusted=settings.admission.trusted)
    try:
        adapter.policy(_shape_of_env(settings), settings.agent, config, checkpoint)
    except CheckpointRefused as error:
        return str(error)
    return ""


def _shape_of_env(settings: Settings) -> TorchEnv:
    """What a policy has to fit, from the task's class where it has one: no scene is built and no kernel compiled."""
    import numpy as np
    import torch
    from gymnasium.spaces import Box

    if is_gymnasium(settings.task.module):  # only an environment tells
        from benchmark_app.execution.make import make_execution_env

        return make_execution_env(settings.task, "", 1)
    env_class = import_module(settings.task.module).load_env()
    shape = SimpleNamespace(
        obs_groups_spec=env_class.obs_groups_spec,
        image_groups=settings.task.image_groups(),
        action_space=Box(-1.0, 1.0, (env_class.num_actions,), np.float32),
        num_envs=1,
        device=torch.device("cpu"),
    )
    return cast("TorchEnv", shape)
