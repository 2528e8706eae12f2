"""What may be played, decided by declared capabilities before anything runs."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.playback import cannot
from benchmark_app.rendering.play_cfg import CameraCfg, DebugOverlay, DebugOverlayGetter

Wanted = TypeVar("Wanted")

MODES = ("auto", "interactive", "record", "none")


@dataclass(frozen=True, kw_only=True)
class PlayRenderPlan:
    """What a play mode comes down to on this engine and machine.

    Attributes:
        mode: `"interactive"` (a window), `"record"` (a video) or `"none"`.
        num_steps: Control steps; None: until the window is closed.
        output_video: The video to write; None unless recording.
        renderer: Who draws, for people to read; None if nobody does.
    """

    mode: Literal["interactive", "record", "none"]
    num_steps: int | None = None
    output_video: str | None = None
    renderer: str | None = None

    @property
    def headless(self) -> bool:
        """No window is opened."""
        return self.mode != "interactive"

    @property
    def record_video(self) -> bool:
        """A video is written."""
        return self.mode == "record"


def resolve_plan(
    backend: SimBackend,
    play_render_mode: str | None,
    play_steps: int | None,
    output_video: str | os.PathLike[str] | None,
) -> PlayRenderPlan:
    """See `Playback.resolve_play_render_plan`."""
    mode = "auto" if play_render_mode is None else play_render_mode
    if mode not in MODES:
        raise ValueError(f"play_render_mode={mode!r}: choose one of {', '.join(MODES)}")
    if mode == "none":
        return PlayRenderPlan(mode="none")
    renderer = type(backend).__name__
    if mode == "auto":
        window = backend.play_capabilities.supports_native_interactive_renderer and has_display()
        mode = "interactive" if window else "record"
    if mode == "interactive":
        require_capability(backend, "open a window", "supports_native_interactive_renderer")
        require_display()
        require_steps("play_steps", play_steps, optional=True)
        return PlayRenderPlan(mode="interactive", num_steps=play_steps, renderer=renderer)
    require_capability(backend, "record a video", "supports_native_video_capture")
    require_steps("play_steps", play_steps)
    video = require_output(output_video)
    return PlayRenderPlan(mode="record", num_steps=play_steps, output_video=video, renderer=renderer)


def require_capability(backend: SimBackend, action: str, capability: str) -> None:
    """Refuse what the engine does not declare."""
    if not getattr(backend.play_capabilities, capability):
        raise cannot(backend, action, capability)


def kept_in_window(backend: SimBackend, wanted: Wanted | None, what: str, capability: str) -> Wanted | None:
    """What is wanted of a window, or None, with a warning, where it lacks the capability."""
    if wanted is None or getattr(backend.play_capabilities, capability):
        return wanted
    name = type(backend).__name__
    warnings.warn(f"playing without the {what}: {name} does not declare {capability}", stacklevel=3)
    return None


def has_display() -> bool:
    """Whether a window can be opened on this machine."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def require_display() -> None:
    """Refuse to open a window where none can be seen."""
    if not has_display():
        raise RuntimeError("a window needs a display: set DISPLAY or WAYLAND_DISPLAY, or record a video")


def require_steps(name: str, value: int | None, *, optional: bool = False) -> None:
    """Refuse what is no positive number of steps."""
    if value is None and optional:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: must be a number of steps greater than 0")


def require_output(output_video: str | os.PathLike[str] | None) -> str:
    """The path of the video to write; there must be one."""
    if output_video is None or not (path := os.fspath(output_video)):
        raise ValueError(f"output_video={output_video!r}: recording needs the path of the video to write")
    return path


def camera_cfg(camera: CameraCfg | Mapping[str, Any] | None) -> CameraCfg | None:
    """The camera that `camera_kwargs` stand for."""
    if camera is None or isinstance(camera, CameraCfg):
        return camera
    known = [field.name for field in fields(CameraCfg)]
    if unknown := sorted(set(camera) - set(known)):
        raise ValueError(f"camera_kwargs: unknown {', '.join(unknown)}; a camera has {', '.join(known)}")
    if missing := [name for name in ("position", "target") if name not in camera]:
        raise ValueError(f"camera_kwargs: needs {' and '.join(missing)}")
    return CameraCfg(**camera)


def checked_frame(name: str, frame: np.ndarray, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """A frame that is a picture, and of a given shape where one is."""
    picture = isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3
    if not picture or (shape is not None and frame.shape != shape):
        expected = "[height, width, 3]" if shape is None else list(shape)
        got = f"{frame.dtype} {list(frame.shape)}" if isinstance(frame, np.ndarray) else type(frame).__name__
        raise ValueError(f"{name}: expected uint8 {expected}, got {got}")
    return frame


def current_overlay(getter: DebugOverlayGetter | None, num_envs: int) -> DebugOverlay | None:
    """What is to be drawn over the next frame; there must be an entry for every environment."""
    overlay = None if getter is None else getter()
    if overlay is not None and len(overlay) != num_envs:
        raise ValueError(f"debug overlay: expected one entry for each of {num_envs} environments, got {len(overlay)}")
    return overlay
