"""Physics engines behind one contract (`base.SimBackend`). Importing this package loads no engine and no torch."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import SceneSpec, SimBackend

BACKENDS = {"newton_mjwarp": ("newton_mjwarp", "NewtonMjwarpBackend")}
"""Engine name to the module (in this package) and class implementing it."""


RUNTIMES = {"newton_mjwarp": "newton_runtime"}
"""Engine name to the module (in this package) that starts it in a process."""


def make_backend(name: str, spec: SceneSpec, device: str, **settings: Any) -> SimBackend:
    """Import an engine and build a scene in it.

    Args:
        name: One of `BACKENDS`.
        spec: The scene.
        device: Torch device, `"cpu"` or `"cuda:0"`.
        **settings: The engine's own settings, keyword arguments of its class.

    Raises:
        ValueError: Unknown engine, or a scene or setting it cannot build; the message says which.
    """
    if name not in BACKENDS:
        raise ValueError(f"physics={name}: unknown engine; choose one of {', '.join(sorted(BACKENDS))}")
    module, class_name = BACKENDS[name]
    backend: SimBackend = getattr(import_module(f".{module}", __name__), class_name)(spec, device, **settings)
    return backend


def load_engine(name: str) -> ModuleType:
    """Import what an engine runs on.

    Returns:
        A module with `launch(device)`, which starts the engine in this process, and `kernel_cache_entries()`, the
        number of compiled modules it finds in its cache.
    """
    import_module(f".{BACKENDS[name][0]}", __name__)
    return import_module(f".{RUNTIMES[name]}", __name__)
