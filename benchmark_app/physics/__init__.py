"""Physics engines behind one contract (`base.SimBackend`). Importing this package loads no engine and no torch."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .catalogue import ENGINES, Engine

if TYPE_CHECKING:
    from .base import SimBackend
    from .scene import SceneSpec


class UnsupportedSceneError(ValueError):
    """An engine cannot build a scene; the message names the engine, and what it lacks."""


def find_engine(name: str) -> Engine:
    """What the catalogue says of an engine.

    Raises:
        ValueError: There is none of that name.
    """
    if name not in ENGINES:
        raise ValueError(f"physics={name}: unknown engine; choose one of {', '.join(sorted(ENGINES))}")
    return ENGINES[name]


def make_backend(name: str, spec: SceneSpec, device: str, **settings: Any) -> SimBackend:
    """Import an engine and build a scene in it.

    Args:
        name: One of `catalogue.ENGINES`.
        spec: The scene.
        device: Torch device, `"cpu"` or `"cuda:0"`.
        **settings: The engine's own settings, keyword arguments of its class.

    Raises:
        UnsupportedSceneError: The scene asks for what the engine has not; nothing was imported or built.
        ValueError: Unknown engine, or a scene or setting it cannot build; the message says which.
    """
    module, class_name = find_engine(name).backend
    if lacks := _unsupported(name, spec):
        raise UnsupportedSceneError(f"physics={name} {lacks}; choose another physics engine")
    backend: SimBackend = getattr(import_module(f".{module}", __name__), class_name)(spec, device, **settings)
    return backend


def _unsupported(name: str, spec: SceneSpec) -> str:
    """What a scene asks for and an engine has not, "" if nothing."""
    engine = ENGINES[name]
    if engine.needs_usd and spec.usd is None:
        return "builds from USD files and the task names none (SceneSpec.usd)"
    if spec.floating and not engine.capabilities.floating_base:
        return "has no floating base and the task's robot is free (SceneSpec.floating)"
    if (spec.ground or spec.max_contacts) and not engine.capabilities.contacts:
        return "has no contacts and the task has (SceneSpec.ground, SceneSpec.max_contacts)"
    return ""


def load_engine(name: str) -> ModuleType:
    """Import what an engine runs on.

    Returns:
        A module with `launch(device)`, which starts the engine in this process.
    """
    import_module(f".{ENGINES[name].backend[0]}", __name__)
    return import_module(f".{ENGINES[name].runtime}", __name__)
