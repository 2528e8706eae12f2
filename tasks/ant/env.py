"""The ant environment."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

from benchmark_app.physics.scene import SceneSpec

from ..locomotion.env import LocomotionEnv
from .cfg import AntCfg
from .declaration import JOINTS


class AntEnv(LocomotionEnv):
    """Walk on four legs towards a far target; see `LocomotionEnv`."""

    num_actions = len(JOINTS)
    obs_groups_spec: ClassVar = {"policy": 12 + 3 * len(JOINTS)}
    num_reset_randoms = 2 * len(JOINTS)
    recordable = True
    default_pose = tuple(math.radians(45.0) if "ankle" in joint.name else 0.0 for joint in JOINTS)

    @staticmethod
    def scene(cfg: AntCfg, num_envs: int) -> SceneSpec:
        """The ant on flat ground.

        A capsule touches the ground at two points at most and the torso at one: 17 contacts, of three or, with
        pyramidal cones, four rows each; and of each of the eight joints, one limit at a time.
        """
        assets = Path(__file__).parent / "assets"
        return SceneSpec(
            mjcf=str(assets / "ant.xml"),
            usd=str(assets / "ant.usda"),
            joints=tuple(joint.name for joint in JOINTS),
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            floating=True,
            ground=True,
            max_contacts=17,
            max_constraints=17 * 4 + 8,
            # A good ant covers 100 m in an episode, nearly straight ahead.
            extent=(120.0, 40.0),
        )
