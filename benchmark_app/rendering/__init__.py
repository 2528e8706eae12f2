"""Renderers behind one contract (`base.Renderer`). Importing this package loads no renderer and no torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .camera import CameraSpec, check_cameras
from .catalogue import NONE, RENDERERS, RendererEntry

if TYPE_CHECKING:
    from benchmark_app.physics.base import SimBackend
    from benchmark_app.physics.scene import SceneSpec

    from .base import Renderer


def find_renderer(name: str) -> RendererEntry:
    """What the catalogue says of a renderer.

    Raises:
        ValueError: There is none of that name, or it is `none`, which draws nothing.
    """
    if name not in RENDERERS:
        raise ValueError(f"rendering={name}: draws nothing; choose one of {', '.join(sorted(RENDERERS))}")
    return RENDERERS[name]


def launch_renderer(name: str, device: str) -> None:
    """Import a renderer and start what it runs on, before the engine's scene is built; `none` needs nothing.

    Raises:
        ValueError: There is none of that name.
    """
    if name != NONE:
        import_module(f".{find_renderer(name).renderer[0]}", __name__).launch(device)


def make_renderer(
    name: str, backend: SimBackend, scene: SceneSpec, cameras: tuple[CameraSpec, ...] | list[CameraSpec]
) -> Renderer:
    """Import a renderer and have it draw what an engine simulates.

    Args:
        name: One of `catalogue.RENDERERS`.
        backend: The engine, built.
        scene: The scene it was built from.
        cameras: What to draw with.

    Raises:
        ValueError: Unknown renderer, cameras that cannot be, or a scene it cannot draw; the message says which.
    """
    entry = find_renderer(name)
    cameras = tuple(cameras)
    check_cameras(cameras)
    if entry.needs_usd and scene.usd is None:
        raise ValueError(f"rendering={name} builds from USD files and the task names none (SceneSpec.usd)")
    if backend.device.type not in entry.devices:
        devices = " and ".join(entry.devices)
        raise ValueError(f"rendering={name}: draws on {devices} only, the engine is on {backend.device}")
    module, class_name = entry.renderer
    renderer: Renderer = getattr(import_module(f".{module}", __name__), class_name)(backend, scene, cameras)
    return renderer
