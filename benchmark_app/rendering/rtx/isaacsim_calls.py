"""Every call to Isaac Sim's renderer: Kit's extensions, Replicator, Fabric; written against Isaac Sim 6.2.

The application runs already: `physics=physx` has started it. What PhysX computes reaches the renderer through Fabric,
whose extension must be enabled before PhysX loads the stage, or it has nothing to update.
"""

from __future__ import annotations

import time
from typing import Any

import torch
import warp as wp

EXTENSIONS = ("omni.physx.fabric", "omni.replicator.core")
STREAMING_S = 30.0  # as long as what is still loaded into the renderer is waited for
WARM_UP = 3  # the first frames of a render product may be empty


def enable() -> None:
    """Enable what takes PhysX's results to the renderer, and what gives its pictures.

    Raises:
        RuntimeError: Kit has an extension not.
    """
    import carb.settings  # type: ignore[import-not-found,import-untyped]
    import omni.kit.app  # type: ignore[import-not-found,import-untyped]

    manager = omni.kit.app.get_app().get_extension_manager()
    for name in EXTENSIONS:
        if not manager.is_extension_enabled(name):
            manager.set_extension_enabled_immediate(name, True)
        if not manager.is_extension_enabled(name):
            raise RuntimeError(f"rendering=isaacsim_rtx: Isaac Sim lacks {name}; install isaacsim[all,extscache]")
    settings = carb.settings.get_settings()
    settings.set("/physics/fabricUpdateTransformations", True)
    settings.set("/physics/fabricUseGPUInterop", True)  # poses stay on the GPU, where PhysX's read-back is off
    settings.set("/app/player/playSimulations", False)  # an update of the application must not step PhysX


class IsaacSimPictures:
    """Tiled pictures of cameras on Kit's stage.

    Args:
        layer: What is laid over the stage, in USD text: the cameras among it.
        shadows: Lights cast shadows.
    """

    def __init__(self, layer: str, shadows: bool) -> None:
        import carb.settings
        import omni.usd  # type: ignore[import-not-found,import-untyped]
        from omni.physxfabric import get_physx_fabric_interface  # type: ignore[import-not-found,import-untyped]
        from pxr import Sdf  # type: ignore[import-not-found,import-untyped]

        settings = carb.settings.get_settings()
        settings.set("/rtx/rendermode", "Minimal")
        settings.set("/rtx/minimal/mode", 3)
        settings.set("/rtx/minimal/castShadows", shadows)
        self._context = omni.usd.get_context()
        self._layer = Sdf.Layer.CreateAnonymous(".usda")
        if not self._layer.ImportFromString(layer):
            raise RuntimeError("Isaac Sim refused the USD text of the cameras")
        self._context.get_stage().GetRootLayer().subLayerPaths.append(self._layer.identifier)
        if "rtx" not in self._context.get_attached_hydra_engine_names():
            omni.usd.create_hydra_engine("rtx", self._context)
        self._fabric = get_physx_fabric_interface()
        self._products: list[tuple[Any, list[Any]]] = []
        self._fresh = WARM_UP

    def add(self, cameras: list[str], size: tuple[int, int], annotators: tuple[str, ...], device: str) -> list[Any]:
        """Have these cameras drawn into one picture, a tile each.

        Args:
            cameras: Paths of their prims.
            size: Width and height of a tile [px].
            annotators: What is wanted of it: `rgb`, `distance_to_image_plane`.
            device: Where.

        Returns:
            What `read` takes, for each annotator.
        """
        import omni.replicator.core as rep  # type: ignore[import-not-found,import-untyped]

        product = rep.create.render_product_tiled(cameras=cameras, tile_resolution=size)
        made = [rep.AnnotatorRegistry.get_annotator(name, device=device, do_array_copy=False) for name in annotators]
        for annotator in made:
            annotator.attach([product.path])
        self._products.append((product, made))
        return made

    def take_over(self) -> None:
        """Bring to the renderer where bodies are now, after a reset as after a step."""
        self._fabric.force_update(0.0, 0.0)

    def draw(self) -> None:
        """Draw everything once."""
        import omni.kit.app

        app = omni.kit.app.get_app()
        for _ in range(1 + self._fresh):
            app.update()
        self._fresh = 0
        began = time.monotonic()
        while self._context.get_stage_streaming_status():
            if time.monotonic() - began > STREAMING_S:
                raise RuntimeError(f"rendering=isaacsim_rtx: the stage was still loading after {STREAMING_S:g} s")
            app.update()

    @staticmethod
    def read(annotator: Any) -> torch.Tensor:
        """What was drawn last, as a view that the next frame overwrites."""
        data = annotator.get_data()
        if not data.size:
            raise RuntimeError("rendering=isaacsim_rtx: Replicator gave no picture")
        picture: torch.Tensor = wp.to_torch(data)
        return picture

    def close(self) -> None:
        """Take annotators, products and cameras off the stage."""
        for product, annotators in self._products:
            for annotator in annotators:
                annotator.detach([product.path])
            product.destroy()
        self._products.clear()
        stage = self._context.get_stage()
        if stage is not None and self._layer.identifier in stage.GetRootLayer().subLayerPaths:
            stage.GetRootLayer().subLayerPaths.remove(self._layer.identifier)
