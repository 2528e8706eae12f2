"""A bare loop of ovphysx on cartpole: write controls, take the physics steps, read positions and velocities.

Its stage is its own and is made with nothing of this package, so that what the engine's backend and the environment add
can be measured against it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import ovphysx
import ovstage
import torch
from ovphysx import GlobalConfigKey, PhysX, set_global_config
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import TensorType

ROBOT = Path(__file__).resolve().parent.parent / "tasks" / "cartpole" / "assets" / "cartpole.usda"
PHYSICS_DT, DECIMATION = 1 / 120, 2

STAGE = f"""#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)

def Xform "World"
{{
    def PhysicsScene "scene" (
        prepend apiSchemas = ["PhysxSceneAPI"]
    )
    {{
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
        uniform token physxScene:solverType = "PGS"
        uniform uint physxScene:minPositionIterationCount = 4
        uniform uint physxScene:maxPositionIterationCount = 4
        uniform uint physxScene:minVelocityIterationCount = 1
        uniform uint physxScene:maxVelocityIterationCount = 1
        bool physxScene:enableGPUDynamics = 0
        bool physxScene:enableEnhancedDeterminism = 1
        bool physxScene:disableSleeping = 1
        bool physxScene:enableSceneQuerySupport = 0
    }}

    def Xform "env0"
    {{
        def Xform "robot" (
            prepend references = @{ROBOT}@
        )
        {{
        }}
    }}
}}
"""


def bare_step(num_envs: int) -> Callable[[], None]:
    """A control step of the bare loop.

    Args:
        num_envs: Cartpoles simulated.
    """
    if not PhysX.get_cpu_mode():
        PhysX.set_cpu_mode(True)
        ovstage.population.register_usd_schemas([*map(str, physx_schema_paths()), str(ovphysx.newton_schema_root())])
        set_global_config(GlobalConfigKey.NUM_THREADS, 0)
    physx = PhysX()
    stage = ovstage.Stage(f"bare_{num_envs}")
    ovstage.population.open_usd_from_string(stage, STAGE, ordinal=1, domains=ovstage.PopulationDomain.ALL)
    stage.advance_write_floor(ordinal=1).wait()
    physx.wait_task(physx.attach_ovstage(stage, read_ordinal=1))
    if num_envs > 1:
        physx.wait_task(physx.clone("/World/env0", [f"/World/env{index}" for index in range(1, num_envs)]))
    physx.warmup()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        position, velocity, force = (
            physx.create_tensor_binding(pattern="/World/env*/robot", tensor_type=kind, raise_if_empty=True)
            for kind in (
                TensorType.ARTICULATION_DOF_POSITION,
                TensorType.ARTICULATION_DOF_VELOCITY,
                TensorType.ARTICULATION_DOF_ACTUATION_FORCE,
            )
        )
    joint_pos, joint_vel, efforts = torch.zeros(3, num_envs, 2)
    efforts[:, 0] = torch.linspace(-1.0, 1.0, num_envs)

    def step() -> None:
        force.write(efforts)
        for _ in range(DECIMATION):
            physx.step_sync(PHYSICS_DT)
        position.read(joint_pos)
        velocity.read(joint_vel)

    step.alive = (physx, stage)  # type: ignore[attr-defined]  # the bindings hold neither
    return step
