"""`rendering=newton`: rays traced by Warp kernels through a `newton.Model`, on a CPU and on CUDA.

Written against newton 1.8 (`newton.sensors.SensorCamera`). Engines of Newton's are drawn from their own model and
state, without a copy; for any other there is a Newton model of the same robot, which has no solver. Each call only
launches (for an engine of Newton's), so that it may be recorded together with the engine; with `count=num_envs` a
recorded `render` draws whichever rows are chosen when it is replayed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import warp as wp
from newton.sensors import SensorCamera

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.scene import SceneSpec

from ..base import BACKGROUND, FAR, LIGHT_DIRECTION, Renderer
from ..camera import CameraSpec
from . import kernels
from .world import drawn_world

SKY_LIGHT = (0.35, 0.35, 0.38)
"""Ambient light from above, linear RGB; Newton's default leaves shaded sides nearly black."""
GROUND_LIGHT = (0.15, 0.15, 0.16)
"""And from below."""
SUN_LIGHT = (0.85, 0.85, 0.85)
"""The directional light."""


def launch(device: str) -> None:
    """Start Warp; see `launch_renderer`."""
    wp.init()


@dataclass(frozen=True)
class _Apart:
    """Where a camera draws when it draws few worlds."""

    transforms: Any
    color: Any
    depth: Any


@dataclass(frozen=True)
class _View:
    """A camera, and where its pictures of all worlds go."""

    camera: CameraSpec
    rays: Any
    transforms: Any
    config: Any
    color: Any
    depth: Any
    body: int | None
    mounted: Any
    apart: _Apart


class NewtonRenderer(Renderer):
    """Newton's renderer; see `Renderer`.

    `color` is a view of four bytes a pixel, so its rows are not contiguous.
    """

    def __init__(self, backend: SimBackend, scene: SceneSpec, cameras: tuple[CameraSpec, ...]) -> None:
        super().__init__(backend, scene, cameras)
        self._closed = False
        self._world = world = drawn_world(backend, scene)
        self._model = model = world.scene.model
        self._body_q = world.state.body_q.reshape((self.num_envs, -1))
        with torch.inference_mode(False):
            self._sensor = SensorCamera(model)
            self._sensor.create_default_light(direction=wp.vec3f(*LIGHT_DIRECTION), color=SUN_LIGHT)
            self._sensor.set_ambient_light(SKY_LIGHT, GROUND_LIGHT)
            if world.scene.floor is not None and any(camera.checkered for camera in cameras):
                self._sensor.assign_checkerboard_material(shape_indices=[world.scene.floor])
            self._clear = SensorCamera.ClearData(clear_color=_packed(BACKGROUND))
            self._everywhere = self._worlds()
            self._chosen = self._worlds()
            self._found = wp.zeros(1, dtype=wp.int32, device=model.device)
            self._views = [self._view(camera) for camera in cameras]
            wp.synchronize_device(model.device)  # what Warp launched on its own stream
            self._load_kernels()

    def _load_kernels(self) -> None:
        """Have everything compiled and loaded by drawing once, so that no step of a run waits for it."""
        wp.load_module(kernels, device=self._model.device)
        first = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        first[0] = True
        with self._on_torch_stream():
            self._trace_apart(first, 1)

    def _worlds(self) -> Any:
        return wp.array(list(range(self.num_envs)), dtype=wp.int32, device=self._model.device)

    def _view(self, camera: CameraSpec) -> _View:
        n, width, height, device = self.num_envs, camera.width, camera.height, self._model.device
        names = self._world.scene.body_names
        if camera.link is not None and camera.link not in names:
            raise ValueError(f"camera {camera.name}: there is no link {camera.link!r}; the robot has {names}")
        place = wp.transformf(wp.vec3f(*camera.position), wp.quatf(*camera.orientation))
        rays = SensorCamera.compute_camera_rays_pinhole(
            width, height, camera_fov=math.radians(camera.fov), sample_count=camera.samples, device=device
        )
        config = SensorCamera.RenderConfig(
            enable_shadows=camera.shadows,
            enable_textures=camera.checkered,
            anti_aliasing=SensorCamera.AntiAliasing.MSAA if camera.samples > 1 else SensorCamera.AntiAliasing.NONE,
            max_distance=FAR,
        )
        color = depth = None
        if camera.gives_color:
            color = self._sensor.allocate_image_color(n, width, height)
            seen = wp.array(ptr=color.ptr, dtype=wp.uint8, shape=(n, height, width, 4), device=device, copy=False)
            self.color[camera.name] = wp.to_torch(seen)[..., :3]
        if camera.gives_depth:
            depth = self._sensor.allocate_image_depth_forward(n, width, height)
            self.depth[camera.name] = wp.to_torch(depth)
        return _View(
            camera=camera,
            rays=rays,
            transforms=wp.array([place] * n, dtype=wp.transformf, device=device),
            config=config,
            color=color,
            depth=depth,
            body=None if camera.link is None else names.index(camera.link),
            mounted=place,
            apart=_Apart(
                transforms=wp.empty(max(1, n // 2), dtype=wp.transformf, device=device),
                color=None if color is None else self._sensor.allocate_image_color(max(1, n // 2), width, height),
                depth=None if depth is None else self._sensor.allocate_image_depth(max(1, n // 2), width, height),
            ),
        )

    def _update(self) -> None:
        with self._on_torch_stream():
            self._world.refresh()
            self._model.bvh_refit_shapes(self._world.state)
            for view in self._views:
                if view.body is not None:
                    inputs = [self._body_q, view.body, view.mounted, view.camera.turns]
                    kernels.launch(kernels.follow, self.num_envs, inputs, view.transforms)

    def _render(self, rows: torch.Tensor | None, count: int) -> None:
        with self._on_torch_stream():
            if rows is None:
                self._trace(self._everywhere)
            elif 2 * count > self.num_envs:
                untouched = int(SensorCamera.WorldRenderFlag.DISABLE_PRESERVE)
                kernels.launch(kernels.choose_worlds, self.num_envs, [wp.from_torch(rows), untouched], self._chosen)
                self._trace(self._chosen)
            else:
                self._trace_apart(rows, count)

    def _trace(self, worlds: Any) -> None:
        for view in self._views:
            self._sense(view, view.transforms, worlds, view.color, view.depth)

    def _trace_apart(self, rows: torch.Tensor, count: int) -> None:
        """Draw few rows: on a CPU a thread that finds nothing to do costs a fifth of one that draws."""
        worlds = self._chosen[:count]
        self._found.zero_()
        kernels.launch(kernels.gather, self.num_envs, [wp.from_torch(rows), self._found], worlds)
        for view in self._views:
            few = view.apart
            transforms = few.transforms[:count]
            color = None if few.color is None else few.color[:count]
            depth = None if few.depth is None else few.depth[:count]
            kernels.launch(kernels.place_again, count, [view.transforms, worlds], transforms)
            self._sense(view, transforms, worlds, color, depth)
            for pictures, everything in ((color, view.color), (depth, view.depth)):
                if pictures is not None:
                    bits = [pictures.view(wp.uint32), worlds]
                    kernels.launch(kernels.scatter, pictures.shape, bits, everything.view(wp.uint32))

    def _sense(self, view: _View, transforms: Any, worlds: Any, color: Any, depth: Any) -> None:
        self._sensor.update(
            self._world.state,
            transforms,
            view.rays,
            color_image=color,
            forward_depth_image=depth,
            world_indices=worlds,
            clear_data=self._clear,
            render_config=view.config,
        )

    @contextmanager
    def _on_torch_stream(self) -> Iterator[None]:
        """Launch behind what torch launched and before what it launches next; on a CPU there is one order only."""
        if self.device.type == "cpu":
            yield
            return
        with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(self.device)), sync_enter=False):
            yield

    def close(self) -> None:
        """Release the sensor and the pictures' memory; see `Renderer.close`."""
        if not self._closed:
            self._closed = True
            self.color, self.depth = {}, {}
            del self._views, self._sensor, self._world, self._model, self._body_q


def _packed(color: tuple[int, int, int]) -> int:
    red, green, blue = color
    packed = red | green << 8 | blue << 16 | 255 << 24
    return packed - (1 << 32)  # the same bits as a signed number, which is what a kernel's constant is
