"""`physics=ovphysx`: PhysX from PyPI, without Isaac Sim. It runs on a CPU too, and compiles nothing."""

from __future__ import annotations

from typing import Any

import torch

from ..catalogue import ENGINES
from ..scene import SceneSpec
from .cfg import OvphysxCfg
from .ovphysx_calls import OvphysxScene, OvphysxView, choose_device, choose_threads, versions
from .stage import ENVS, environment_origins, robot_path, stage_text
from .tensors import PhysxBackend, chosen_device


class OvphysxBackend(PhysxBackend):
    """`num_envs` copies of one USD robot in PhysX, driven by joint efforts.

    Args:
        spec: The scene; `spec.usd` is the robot's file.
        device: `"cpu"`, `"cuda"` or `"cuda:INDEX"`. A process keeps to the CPU once it was chosen.
        **settings: Fields of `OvphysxCfg`. PhysX only prints its warnings, so `allow` changes nothing here.

    Raises:
        ValueError: A setting cannot work, or the file's robot is not what `spec` says.
    """

    capabilities = ENGINES["ovphysx"].capabilities

    def __init__(self, spec: SceneSpec, device: str, **settings: Any) -> None:
        self._cfg = cfg = OvphysxCfg(name="ovphysx", **settings)
        if problems := cfg.problems():
            raise ValueError("; ".join(f"physics.{problem}" for problem in problems))
        where = chosen_device(device)
        choose_device(where)
        choose_threads(cfg.num_threads)
        origins = environment_origins(spec)
        view = _open(spec, cfg, where, origins)
        try:
            super().__init__(spec, where, cfg.name, view, torch.tensor(origins))
        except BaseException:
            view.close()
            raise

    def diagnostics(self) -> dict[str, Any]:
        """Versions, solver options and layout as plain JSON."""
        return {**versions(), **self._cfg.keywords(), **super().diagnostics()}


def _open(spec: SceneSpec, cfg: OvphysxCfg, device: torch.device, origins: list[Any]) -> OvphysxView:
    """Build the scene: once to ask for the robot's parts, and once as it is to be."""
    scene = OvphysxScene(device)
    gpu = device.type == "cuda"
    try:
        scene.open(stage_text(spec, cfg, origins[:1], gpu=gpu))
        parts = {kind: [robot_path(path) for path in scene.prims(kind)] for kind in ("articulation", "link", "shape")}
        if len(parts["articulation"]) != 1:
            raise ValueError(f"{spec.usd}: must hold one articulation, PhysX finds {len(parts['articulation'])}")
        scene.open(stage_text(spec, cfg, origins[:1], gpu=gpu, links=parts["link"], shapes=parts["shape"]))
        environments = [f"{ENVS}/env{index}" for index in range(spec.num_envs)]
        if spec.num_envs > 1:
            scene.clone(environments[0], environments[1:], origins[1:])
        root = "/".join(filter(None, ("robot", parts["articulation"][0])))
        return scene.view([f"{environment}/{root}" for environment in environments])
    except BaseException:
        scene.close()
        raise
