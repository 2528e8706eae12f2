"""`rendering=ovrtx`: NVIDIA's RTX renderer as a library, for every engine, fed with the poses of its bodies.

The stage holds N copies of the robot's USD file at one place. Each is a scene partition of its own, which only its own
cameras see. A robot's links lie directly below the default prim of its file, under the names the engine has for them.
"""

from __future__ import annotations

import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.physx.stage import ENVS
from benchmark_app.physics.physx.usda import prim
from benchmark_app.physics.scene import SceneSpec

from ..camera import CameraSpec
from . import usda
from .ovrtx_calls import OvrtxScene
from .poses import matrices
from .tiled import TiledRenderer


def launch(device: str) -> None:
    """Nothing is to be started before the engine; see `launch_renderer`."""


class OvrtxRenderer(TiledRenderer):
    """RTX through ovrtx; see `Renderer`.

    Raises:
        ValueError: A camera's link is none the engine knows.
    """

    def __init__(self, backend: SimBackend, scene: SceneSpec, cameras: tuple[CameraSpec, ...]) -> None:
        super().__init__(backend, scene, cameras)
        self._closed = False
        for camera in cameras:
            if camera.link is not None and camera.link not in backend.body_names:
                raise ValueError(
                    f"camera {camera.name}: there is no link {camera.link!r}; the robot has {list(backend.body_names)}"
                )
        self._bodies = backend.body_names
        self._mounted = [camera for camera in cameras if camera.link is not None]
        n = self.num_envs
        self._scene = OvrtxScene(stage_text(scene, cameras, self.device.index or 0), self.device)
        bodies = [f"{ENVS}/env{index}/robot/{name}" for index in range(n) for name in self._bodies]
        self._body_binding = self._scene.bind(bodies)
        self._camera_bindings = [self._scene.bind(usda.camera_paths(camera, n)) for camera in self._mounted]
        with torch.inference_mode(False):
            places = [(*camera.position, *camera.orientation) for camera in self._mounted]
            self._places = matrices(torch.tensor(places, device=self.device).view(-1, 7))

    def _update(self) -> None:
        found = matrices(self.backend.body_poses(self._bodies))
        self._scene.write(self._body_binding, found.flatten(0, 1))
        for camera, place, binding in zip(self._mounted, self._places, self._camera_bindings, strict=True):
            assert camera.link is not None, "mounted cameras are those with a link"
            link = found[:, self._bodies.index(camera.link)].clone()
            if not camera.turns:
                link[:, :3, :3] = torch.eye(3, dtype=link.dtype, device=link.device)
            self._scene.write(binding, (place @ link).contiguous())

    def _render(self, rows: torch.Tensor | None, count: int) -> None:
        drawn = self._scene.step([usda.product_path(camera) for camera in self.cameras])
        for camera in self.cameras:
            variables = drawn[usda.product_path(camera)]
            with self._scene.tensor(variables[usda.DEPTH]) as depth:
                if not camera.gives_color:
                    self._keep(camera, None, depth, rows)
                    continue
                with self._scene.tensor(variables[usda.COLOR]) as color:
                    self._keep(camera, color, depth, rows)

    def close(self) -> None:
        """Release ovrtx; see `Renderer.close`."""
        if not self._closed:
            self._closed = True
            self._scene.close()
        super().close()


def stage_text(scene: SceneSpec, cameras: tuple[CameraSpec, ...], device: int) -> str:
    """The stage as USD text: N robots by reference, with their cameras, light, floor and what is to be drawn."""
    environments = []
    for index in range(scene.num_envs):
        partition = f"env{index}"
        body = [f'custom uniform token primvars:omni:scenePartition = "{partition}"']
        body += prim('def Xform "robot"', [f"prepend references = @{scene.usd}@"], [])
        for camera in cameras:
            body += usda.camera_prim(camera, partition)
        environments += prim(f'def Xform "env{index}"', [], body)
    world = usda.surroundings(scene) + prim('def Scope "envs"', [], environments)
    paths = {camera.name: usda.camera_paths(camera, scene.num_envs) for camera in cameras}
    drawn = usda.products(cameras, paths, device)
    return "\n".join([usda.HEAD, *prim('def Xform "World"', [], world), *drawn, ""])
