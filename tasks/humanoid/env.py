"""The humanoid environment."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from benchmark_app.physics.scene import SceneSpec

from ..locomotion.env import LocomotionEnv
from .cfg import HumanoidCfg
from .declaration import JOINTS


class HumanoidEnv(LocomotionEnv):
    """Walk on two legs towards a far target; see `LocomotionEnv`."""

    num_actions = len(JOINTS)
    obs_groups_spec: ClassVar = {"policy": 12 + 3 * len(JOINTS)}
    num_reset_randoms = 2 * len(JOINTS)
    recordable = True
    default_pose = (0.0,) * len(JOINTS)

    @staticmethod
    def scene(cfg: HumanoidCfg, num_envs: int) -> SceneSpec:
        """The humanoid on flat ground.

        16 capsules touch the ground at two points at most, three spheres at one: 35 contacts, of three or, with
        pyramidal cones, four rows each; and of each of the 21 joints, one limit at a time.
        """
        assets = Path(__file__).parent / "assets"
        return SceneSpec(
            mjcf=str(assets / "humanoid.xml"),
            usd=str(assets / "humanoid.usda"),
            joints=tuple(joint.name for joint in JOINTS),
            num_envs=num_envs,
            physics_dt=cfg.physics_dt,
            decimation=cfg.decimation,
            floating=True,
            ground=True,
            max_contacts=35,
            max_constraints=35 * 4 + 21,
            # A good humanoid covers 80 m in an episode, nearly straight ahead.
            extent=(120.0, 40.0),
        )
