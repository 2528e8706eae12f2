"""A window that shows every environment in one scene: Newton's viewer, for whatever engine computes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
import warp as wp

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from ..camera import CameraSpec
from ..play_cfg import DebugOverlay, DebugPrimitive, PlayRendererCfg
from ..puppet import Drawable
from .world import drawn_world

NEEDS = {"pyglet": "pyglet", "imgui_bundle": "imgui-bundle"}
INSTALL = "pip install 'benchmark-app[viewer]'"


class Window:
    """Newton's viewer on the bodies of an engine. Its user moves the camera, which begins as it is told.

    Args:
        backend: The engine.
        scene: The scene it was built from.
        cfg: Size of the window, and distance between environments.
        view: Where the camera begins, in the frame of the first environment.

    Raises:
        RuntimeError: The viewer's packages are missing, or no window can be opened.
    """

    def __init__(self, backend: SimBackend, scene: SceneSpec, cfg: PlayRendererCfg, view: CameraSpec) -> None:
        if missing := [package for module, package in NEEDS.items() if find_spec(module) is None]:
            raise RuntimeError(f"a window needs the packages {' and '.join(missing)}; type: {INSTALL}")
        from newton.viewer import ViewerGL

        self._world = drawn_world(backend, scene)
        self._names = tuple(self._world.scene.body_names)
        model = self._world.scene.model
        try:
            self._viewer: Any = ViewerGL(width=cfg.width, height=cfg.height)
        except Exception as error:  # pyglet has one of its own for every system
            raise RuntimeError(f"no window can be opened: {' '.join(str(error).split())}") from error
        self._viewer.set_model(model)
        apart = cfg.render_spacing
        across, along = (2 * size for size in scene.extent) if apart is None else (apart, apart)
        self._viewer.set_world_offsets((across, along, 0.0))
        self._offsets = self._viewer.world_offsets.numpy()
        self._look(view, backend)
        self._posed = model.state()
        self._shown = 0
        self._due = 0.0

    def _look(self, view: CameraSpec, backend: SimBackend) -> None:
        start = self._offsets[0].astype(float)
        if view.link is not None:
            start += backend.body_poses((view.link,))[0, 0, :3].cpu().numpy()
        x, y, z = (b - a for a, b in zip(view.position, view.target, strict=True))
        pitch = math.degrees(math.atan2(z, math.hypot(x, y)))
        self._viewer.set_camera(wp.vec3(*(start + view.position)), pitch, math.degrees(math.atan2(y, x)))
        self._viewer.camera.fov = view.fov

    def show(self, replayed: Drawable | None, overlay: DebugOverlay | None, period_s: float) -> bool:
        """Show a frame.

        Args:
            replayed: What to show in place of the engine's present state.
            overlay: Shapes to draw over it, by environment.
            period_s: Not before so many seconds after the last one.

        Returns:
            Whether the window is still open.
        """
        if not self._viewer.is_running():
            return False
        time.sleep(max(0.0, self._due - time.monotonic()))
        self._due = time.monotonic() + period_s
        state = self._state(replayed)
        self._frame(state, overlay, period_s)
        while self._viewer.is_running() and not self._viewer.should_step():  # its user has stopped the clock
            self._frame(state, overlay, period_s)
        self._shown += 1
        running: bool = self._viewer.is_running()
        return running

    def _state(self, replayed: Drawable | None) -> Any:
        if replayed is None:
            self._world.refresh()
            return self._world.state
        poses = replayed.body_poses(self._names).reshape(-1, 7)
        wp.to_torch(self._posed.body_q).copy_(poses)
        return self._posed

    def _frame(self, state: Any, overlay: DebugOverlay | None, period_s: float) -> None:
        self._viewer.begin_frame(self._shown * period_s)
        self._viewer.log_state(state)
        self._shapes(overlay)
        self._viewer.end_frame()

    def _shapes(self, overlay: DebugOverlay | None) -> None:
        """Hand over the shapes of this frame, and take back those of the last one."""
        placed = [(row, shape) for row, shapes in enumerate(overlay or ()) for shape in shapes or ()]
        spheres = [each for each in placed if each[1].kind == "sphere"]
        radii = [shape.size for _, shape in spheres]
        self._viewer.log_points(
            "debug/spheres",
            self._points(((row, shape.start) for row, shape in spheres)),
            wp.array(radii, dtype=wp.float32, device=self._viewer.device) if radii else None,
            self._colors(spheres),
        )
        for kind, log in (("line", self._viewer.log_lines), ("arrow", self._viewer.log_arrows)):
            chosen = [each for each in placed if each[1].kind == kind]
            starts = self._points((row, shape.start) for row, shape in chosen)
            ends = self._points((row, shape.end) for row, shape in chosen)
            log(f"debug/{kind}s", starts, ends, self._colors(chosen))

    def _points(self, points: Iterable[tuple[int, Any]]) -> Any:
        """Points of environments in the window's scene; None where there are none."""
        found = [np.asarray(point, np.float32) + self._offsets[row] for row, point in points]
        return wp.array(np.array(found, np.float32), dtype=wp.vec3, device=self._viewer.device) if found else None

    def _colors(self, shapes: list[tuple[int, DebugPrimitive]]) -> Any:
        colors = np.array([shape.color[:3] for _, shape in shapes], np.float32)
        return wp.array(colors, dtype=wp.vec3, device=self._viewer.device) if len(colors) else None

    def close(self) -> None:
        """Close the window."""
        self._viewer.close()
