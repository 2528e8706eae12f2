"""What keeps a task's images, a renderer and an agent's encoder from going together."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from benchmark_app.envs.image_spec import without_renderer
from benchmark_app.frameworks.agent import CNN
from benchmark_app.settings import task_cfg_class

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from benchmark_app.settings import Settings


def camera_problem(choice: str, task: DictConfig) -> str:
    """Why a preset for cameras does nothing for a composed task, "" where it does.

    Raises:
        SettingError: The task's module cannot be used.
    """
    has = {field.name for field in fields(task_cfg_class(str(task.get("module"))))}
    if "image_type" in has:
        return ""
    return f"camera={choice}: task={task.get('name')} sees through no camera; choose a task that does, or leave it out"


def image_problems(s: Settings, *, learns: bool) -> list[str]:
    """What the task, the renderer and the agent do not do together.

    Args:
        s: The settings.
        learns: The run trains a policy or plays one.
    """
    groups, agent = s.task.image_groups(), s.agent
    found = [problem] if (problem := without_renderer(s.rendering.name, s.task.name, groups)) else []
    if not learns:
        return found
    if not groups:
        if agent.encoder is not None:
            found.append(f"agent.encoder={agent.encoder}: task={s.task.name} observes no images; leave it out")
        return found
    if agent.encoder is None:
        return [*found, f"agent.encoder=null: task={s.task.name} observes images; set encoder={CNN}"]
    if len(groups) > 1:
        return [*found, f"task={s.task.name}: observes {', '.join(groups)}, and the adapters read one image group"]
    ((name, image),) = groups.items()
    height, width, _ = image.shape
    if agent.encoded(height, width) < 1:
        found.append(
            f"agent.encoder_kernels={agent.encoder_kernels}: leave nothing of {name}, {height}x{width} pixels; set "
            "smaller kernels or strides, or a larger picture"
        )
    if agent.normalize_observations and "policy" not in s.task.conventions().get("observations", {}):
        found.append("agent.normalize_observations=true: the task observes images only, which are not normalised")
    return found
