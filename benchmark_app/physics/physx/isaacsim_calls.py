"""Every call to Isaac Sim: the Kit application, `omni.physx`, `omni.physics.tensors`; written against Isaac Sim 6.2.

Nothing of it can be imported before the application runs (`start`), once in a process. Then, in this order:

1. a new stage, and the scene put into it;
2. on a GPU, PhysX is attached to the stage before it loads it; on a CPU it attaches by loading, and doing both breaks
   its broadphase;
3. simulation is started and a first step taken, as short as can be, since tensors exist only after one;
4. a simulation view is made, and of it a view of the robots.

Velocities of links are those of centres of mass, quaternions are xyzw, joint angles are in radians, as in ovphysx.
"""

from __future__ import annotations

from typing import Any

import torch
import warp as wp

from .view import Field

FIRST_DT = 1e-9
"""Length of the step that makes tensors available [s]: too short for anything to move."""

_GETTERS = {
    Field.DOF_POSITION: "get_dof_positions",
    Field.DOF_VELOCITY: "get_dof_velocities",
    Field.DOF_EFFORT: "get_dof_actuation_forces",
    Field.ROOT_POSE: "get_root_transforms",
    Field.ROOT_VELOCITY: "get_root_velocities",
    Field.LINK_POSE: "get_link_transforms",
    Field.LINK_VELOCITY: "get_link_velocities",
    Field.DOF_LIMIT: "get_dof_limits",
    Field.DOF_DAMPING: "get_dof_dampings",
    Field.DOF_ARMATURE: "get_dof_armatures",
    Field.DOF_FRICTION: "get_dof_friction_properties",
    Field.LINK_MASS: "get_masses",
    Field.LINK_COM: "get_coms",
    Field.LINK_INERTIA: "get_inertias",
    Field.SHAPE_MATERIAL: "get_material_properties",
}
_ON_HOST = (
    *(Field.DOF_LIMIT, Field.DOF_DAMPING, Field.DOF_ARMATURE, Field.DOF_FRICTION),
    *(Field.LINK_MASS, Field.LINK_COM, Field.LINK_INERTIA, Field.SHAPE_MATERIAL),
)

_app: Any = None
_on_stage: IsaacSimScene | None = None


def start(device: torch.device) -> None:
    """Start the Kit application without a window, once; later calls do nothing.

    Args:
        device: The GPU it is to use, or the CPU.
    """
    global _app
    if _app is None:
        from isaacsim import SimulationApp  # type: ignore[import-not-found,import-untyped]

        gpu = device.index or 0
        _app = SimulationApp({"headless": True, "active_gpu": gpu, "physics_gpu": gpu, "multi_gpu": False})


class IsaacSimScene:
    """A stage of the Kit application, and PhysX simulating it. There is one at a time.

    Args:
        device: Where PhysX simulates.

    Raises:
        RuntimeError: The application was not started, or another scene is on its stage.
    """

    def __init__(self, device: torch.device) -> None:
        if _app is None:
            raise RuntimeError(
                "physics=physx needs its application running: call load_engine('physx').launch(device) first"
            )
        if _on_stage is not None:
            raise RuntimeError("physics=physx simulates one scene at a time: close the other first")
        import carb.settings  # type: ignore[import-not-found,import-untyped]

        self._gpu = device.type == "cuda"
        settings = carb.settings.get_settings()
        settings.set("/physics/cudaDevice", device.index if self._gpu else -1)
        settings.set("/physics/suppressReadback", self._gpu)
        for name in ("updateToUsd", "updateVelocitiesToUsd"):  # nothing here reads the stage while it is simulated
            settings.set(f"/physics/{name}", False)

    def open(self, text: str) -> None:
        """Make a new stage of a USD text."""
        import omni.kit.app  # type: ignore[import-not-found,import-untyped]
        import omni.usd  # type: ignore[import-not-found,import-untyped]

        context = omni.usd.get_context()
        context.new_stage()
        if not context.get_stage().GetRootLayer().ImportFromString(text):
            raise RuntimeError("Isaac Sim refused the USD text of the scene")
        omni.kit.app.get_app().update()

    def prims(self, kind: str, below: str) -> list[str]:
        """Paths of all prims of one kind at and below a path.

        Args:
            kind: `"articulation"`, `"link"` or `"shape"`.
            below: Path of a prim.
        """
        import omni.usd
        from pxr import Usd, UsdPhysics  # type: ignore[import-not-found,import-untyped]

        applied = {
            "articulation": UsdPhysics.ArticulationRootAPI,
            "link": UsdPhysics.RigidBodyAPI,
            "shape": UsdPhysics.CollisionAPI,
        }
        root = omni.usd.get_context().get_stage().GetPrimAtPath(below)
        return [prim.GetPath().pathString for prim in Usd.PrimRange(root) if prim.HasAPI(applied[kind])]

    def view(self, paths: list[str]) -> IsaacSimView:
        """Start simulating, and give the tensors of the articulations at these paths, a row each, in this order."""
        import omni.physics.tensors  # type: ignore[import-not-found,import-untyped]
        import omni.physx  # type: ignore[import-not-found,import-untyped]
        import omni.usd
        from pxr import UsdUtils

        stage_id = UsdUtils.StageCache.Get().GetId(omni.usd.get_context().get_stage()).ToLongInt()
        physx, simulation = omni.physx.get_physx_interface(), omni.physx.get_physx_simulation_interface()
        if self._gpu:
            simulation.attach_stage(stage_id)
        physx.force_load_physics_from_usd()
        physx.start_simulation()
        global _on_stage
        _on_stage = self
        physx.update_simulation(FIRST_DT, 0.0)
        simulation.fetch_results()
        tensors = omni.physics.tensors.create_simulation_view("warp", stage_id=stage_id)
        tensors.set_subspace_roots("/")
        robots = tensors.create_articulation_view(paths)
        if robots is None or robots.count != len(paths):
            found = 0 if robots is None else robots.count
            raise RuntimeError(f"Isaac Sim made {found} articulations of {len(paths)} environments")
        return IsaacSimView(self, tensors, robots, simulation)

    def close(self) -> None:
        """Take PhysX off the stage. The application goes on until the process ends."""
        global _on_stage
        if _on_stage is self:
            import omni.kit.app
            import omni.physx

            _on_stage = None
            omni.physx.get_physx_simulation_interface().detach_stage()
            omni.kit.app.get_app().update()  # what was detached is released with the next update


class IsaacSimView:
    """Articulations of a scene; see `ArticulationView`."""

    def __init__(self, scene: IsaacSimScene, tensors: Any, robots: Any, simulation: Any) -> None:
        self._scene, self._tensors, self._robots, self._simulation = scene, tensors, robots, simulation
        kind = robots.shared_metatype
        self.joint_names = tuple(kind.dof_names)
        self.link_names = tuple(kind.link_names)
        self.fixed_base = bool(kind.fixed_base)
        self._rows = torch.arange(robots.count, dtype=torch.int32)

    def shape(self, field: Field) -> tuple[int, ...]:
        """Shape of a tensor."""
        n, dofs, links = self._robots.count, self._robots.max_dofs, self._robots.max_links
        shapes = {
            Field.ROOT_POSE: (n, 7),
            Field.ROOT_VELOCITY: (n, 6),
            Field.LINK_POSE: (n, links, 7),
            Field.LINK_VELOCITY: (n, links, 6),
            Field.DOF_LIMIT: (n, dofs, 2),
            Field.DOF_FRICTION: (n, dofs, 3),
            Field.LINK_MASS: (n, links),
            Field.LINK_COM: (n, links, 7),
            Field.LINK_INERTIA: (n, links, 9),
            Field.SHAPE_MATERIAL: (n, self._robots.max_shapes, 3),
        }
        return shapes.get(field, (n, dofs))

    def read(self, field: Field, out: torch.Tensor) -> None:
        """Copy a tensor from the engine; its own buffer is overwritten by the next read."""
        out.copy_(wp.to_torch(getattr(self._robots, _GETTERS[field])()).view(out.shape))

    def write(self, field: Field, values: torch.Tensor, rows: torch.Tensor | None = None) -> None:
        """Copy a tensor to the engine, or the chosen rows of it; choosing reads the device."""
        device = torch.device("cpu") if field in _ON_HOST else values.device
        chosen = self._rows.to(device) if rows is None else rows.nonzero().flatten().to(torch.int32)
        if len(chosen):
            setter = getattr(self._robots, _GETTERS[field].replace("get_", "set_", 1))
            setter(wp.from_torch(values), wp.from_torch(chosen))

    def step(self, dt: float) -> None:
        """Take a physics step and wait for it."""
        self._simulation.simulate(dt, 0.0)
        self._simulation.fetch_results()

    def settle(self) -> None:
        """Make link poses follow joint and root states."""
        self._tensors.update_articulations_kinematic()

    def close(self) -> None:
        """Take PhysX off the stage, then drop the views, which must not outlive it."""
        self._scene.close()
        self._tensors.invalidate()
