"""`rendering=isaacsim_rtx`: the RTX renderer inside Isaac Sim, drawing the stage that `physics=physx` simulates.

The cameras are laid over that stage. Every environment is made a scene partition of its own, which only its own cameras
see: environments that touch nothing share one place.
"""

from __future__ import annotations

import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.physx.usda import prim
from benchmark_app.physics.scene import SceneSpec

from ..camera import CameraSpec
from ..catalogue import NO_COMPANION
from . import usda
from .isaacsim_calls import IsaacSimPictures, enable
from .tiled import TiledRenderer

COLOR, DEPTH = "rgb", "distance_to_image_plane"


def launch(device: str) -> None:
    """Enable Kit's extensions for it, in the application that the engine has started; see `launch_renderer`."""
    enable()


class IsaacSimRtxRenderer(TiledRenderer):
    """RTX inside Isaac Sim; see `Renderer`.

    Raises:
        ValueError: A camera's link is none the engine knows or one it does not turn with, or some cameras see shadows
            and others none.
    """

    def __init__(self, backend: SimBackend, scene: SceneSpec, cameras: tuple[CameraSpec, ...]) -> None:
        super().__init__(backend, scene, cameras)
        self._closed = False
        for camera in cameras:
            if camera.link is not None and camera.link not in backend.body_names:
                raise ValueError(
                    f"camera {camera.name}: there is no link {camera.link!r}; the robot has {list(backend.body_names)}"
                )
            if camera.link is not None and not camera.turns:
                raise ValueError(f"camera {camera.name}: {NO_COMPANION}")
        if len({camera.shadows for camera in cameras}) > 1:
            raise ValueError("cameras: rendering=isaacsim_rtx has shadows for all cameras or for none")
        self._pictures = IsaacSimPictures(overlay_text(scene, cameras), cameras[0].shadows)
        self._annotators = {
            camera.name: self._pictures.add(
                usda.camera_paths(camera, self.num_envs, _mount(camera)),
                (camera.width, camera.height),
                (DEPTH, COLOR) if camera.gives_color else (DEPTH,),
                str(self.device),
            )
            for camera in cameras
        }

    def _update(self) -> None:
        self._pictures.take_over()

    def _render(self, rows: torch.Tensor | None, count: int) -> None:
        self._pictures.draw()
        for camera in self.cameras:
            depth, *color = (self._pictures.read(annotator) for annotator in self._annotators[camera.name])
            self._keep(camera, color[0] if color else None, depth, rows)

    def close(self) -> None:
        """Take the cameras off the stage; see `Renderer.close`."""
        if not self._closed:
            self._closed = True
            self._pictures.close()
        super().close()


def overlay_text(scene: SceneSpec, cameras: tuple[CameraSpec, ...]) -> str:
    """What is laid over the engine's stage, as USD text: light, floor, partitions and cameras."""
    environments = []
    for index in range(scene.num_envs):
        partition = f"env{index}"
        body = [f'custom uniform token primvars:omni:scenePartition = "{partition}"']
        for camera in cameras:
            lines = usda.camera_prim(camera, partition)
            for name in reversed(_mount(camera).split("/") if _mount(camera) else []):
                lines = prim(f'over "{name}"', [], lines)
            body += lines
        environments += prim(f'over "env{index}"', [], body)
    world = usda.surroundings(scene) + prim('over "envs"', [], environments)
    return "\n".join([usda.HEAD, *prim('over "World"', [], world), ""])


def _mount(camera: CameraSpec) -> str:
    """Where below its environment a camera hangs."""
    return "" if camera.link is None else f"robot/{camera.link}"
