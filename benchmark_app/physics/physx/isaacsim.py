"""`physics=physx`: PhysX inside Isaac Sim, on an NVIDIA GPU."""

from __future__ import annotations

from typing import Any

import torch

from ..catalogue import ENGINES
from ..scene import SceneSpec
from .cfg import IsaacSimCfg
from .isaacsim_calls import IsaacSimScene, IsaacSimView
from .stage import ENVS, environment_origins, robot_path, stage_text
from .tensors import PhysxBackend, chosen_device


class IsaacSimBackend(PhysxBackend):
    """`num_envs` copies of one USD robot in the PhysX of a running Isaac Sim, driven by joint efforts.

    The stage names every environment, so that building one of thousands takes a while; ovphysx clones.

    Args:
        spec: The scene; `spec.usd` is the robot's file.
        device: `"cuda"` or `"cuda:INDEX"`, or `"cpu"`.
        **settings: Fields of `IsaacSimCfg`. PhysX only prints its warnings, so `allow` changes nothing here.

    Raises:
        ValueError: A setting cannot work, or the file's robot is not what `spec` says.
        RuntimeError: Isaac Sim is not running.
    """

    capabilities = ENGINES["physx"].capabilities

    def __init__(self, spec: SceneSpec, device: str, **settings: Any) -> None:
        self._cfg = cfg = IsaacSimCfg(name="physx", **settings)
        if problems := cfg.problems():
            raise ValueError("; ".join(f"physics.{problem}" for problem in problems))
        where = chosen_device(device)
        origins = environment_origins(spec)
        view = _open(spec, cfg, where, origins)
        try:
            super().__init__(spec, where, cfg.name, view, torch.tensor(origins))
        except BaseException:
            view.close()
            raise

    def diagnostics(self) -> dict[str, Any]:
        """Solver options and layout as plain JSON."""
        return {**self._cfg.keywords(), **super().diagnostics()}


def _open(spec: SceneSpec, cfg: IsaacSimCfg, device: torch.device, origins: list[Any]) -> IsaacSimView:
    """Build the scene: once to ask the stage for the robot's parts, and once as it is to be."""
    scene = IsaacSimScene(device)
    gpu = device.type == "cuda"
    try:
        scene.open(stage_text(spec, cfg, origins[:1], gpu=gpu))
        found = {kind: scene.prims(kind, f"{ENVS}/env0/robot") for kind in ("articulation", "link", "shape")}
        parts = {kind: [robot_path(path) for path in paths] for kind, paths in found.items()}
        if len(parts["articulation"]) != 1:
            raise ValueError(f"{spec.usd}: must hold one articulation root, it has {len(parts['articulation'])}")
        scene.open(stage_text(spec, cfg, origins, gpu=gpu, links=parts["link"], shapes=parts["shape"]))
        root = "/".join(filter(None, ("robot", parts["articulation"][0])))
        return scene.view([f"{ENVS}/env{index}/{root}" for index in range(spec.num_envs)])
    except BaseException:
        scene.close()
        raise
