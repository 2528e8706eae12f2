"""A double of Isaac Sim at the names our code calls, as strict about the order of calls as the real one is."""

from __future__ import annotations

import sys
import types

import torch
import warp as wp

from benchmark_app.physics.physx.view import Field

from .articulations import FakeView

NAMES = {
    "dof_positions": Field.DOF_POSITION,
    "dof_velocities": Field.DOF_VELOCITY,
    "dof_actuation_forces": Field.DOF_EFFORT,
    "root_transforms": Field.ROOT_POSE,
    "root_velocities": Field.ROOT_VELOCITY,
    "link_transforms": Field.LINK_POSE,
    "link_velocities": Field.LINK_VELOCITY,
    "dof_limits": Field.DOF_LIMIT,
    "dof_dampings": Field.DOF_DAMPING,
    "dof_armatures": Field.DOF_ARMATURE,
    "dof_friction_properties": Field.DOF_FRICTION,
    "masses": Field.LINK_MASS,
    "coms": Field.LINK_COM,
    "inertias": Field.LINK_INERTIA,
    "material_properties": Field.SHAPE_MATERIAL,
}


class Kit:
    """The application: what happened to it, and what it would refuse.

    Args:
        monkeypatch: Puts its modules in place, as soon as the application is started.
        robots: Paths below a robot of its prims, with the API each carries.
        found: How many articulations a view finds of those asked for; None: all.
    """

    def __init__(self, monkeypatch, robots, found=None):
        self.log, self.settings, self.text = [], {}, ""
        self.started = self.loaded = self.simulating = self.stepped = self.attached = self.valid = False
        self._robots, self._found = robots, found
        module = types.ModuleType("isaacsim")
        module.SimulationApp = lambda config: self._start(monkeypatch, config)
        monkeypatch.setitem(sys.modules, "isaacsim", module)

    def _start(self, monkeypatch, config):
        assert not self.started, "Kit runs once in a process"
        self.started = True
        self.log.append(("app", config))
        for name, content in {
            "carb": {},
            "carb.settings": {"get_settings": lambda: types.SimpleNamespace(set=self.settings.__setitem__)},
            "omni": {},
            "omni.kit": {},
            "omni.kit.app": {"get_app": lambda: types.SimpleNamespace(update=lambda: self.log.append("update"))},
            "omni.usd": {"get_context": lambda: self},
            "omni.physx": {"get_physx_interface": lambda: self, "get_physx_simulation_interface": lambda: self},
            "omni.physics": {},
            "omni.physics.tensors": {"create_simulation_view": self._create_simulation_view},
            "pxr": {
                "Usd": types.SimpleNamespace(PrimRange=self._prims),
                "UsdPhysics": types.SimpleNamespace(
                    ArticulationRootAPI="articulation", RigidBodyAPI="link", CollisionAPI="shape"
                ),
                "UsdUtils": types.SimpleNamespace(StageCache=types.SimpleNamespace(Get=lambda: self)),
            },
        }.items():
            module = types.ModuleType(name)
            vars(module).update(content)
            monkeypatch.setitem(sys.modules, name, module)
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, module)
        return self

    # omni.usd and pxr

    def new_stage(self):
        assert not self.simulating, "a stage is not replaced while it is simulated"
        self.loaded = False
        self.log.append("new_stage")

    def get_stage(self):
        return self

    def GetRootLayer(self):
        return self

    def ImportFromString(self, text):
        self.text = text
        return text.startswith("#usda 1.0")

    def GetPrimAtPath(self, path):
        return path

    def _prims(self, root):
        for path, apis in self._robots:
            where = types.SimpleNamespace(pathString=f"{root}/{path}".rstrip("/"))
            yield types.SimpleNamespace(GetPath=lambda at=where: at, HasAPI=lambda api, apis=apis: api in apis)

    def GetId(self, stage):
        return types.SimpleNamespace(ToLongInt=lambda: 42)

    # omni.physx

    def attach_stage(self, stage_id):
        assert stage_id == 42
        assert not self.loaded, "attached after loading: the stage would be set up twice"
        assert self.settings["/physics/suppressReadback"], "attaching and loading on a CPU breaks its broadphase"
        self.attached = True
        self.log.append("attach_stage")

    def force_load_physics_from_usd(self):
        self.loaded = True
        self.log.append("load")

    def start_simulation(self):
        assert self.loaded, "nothing was loaded"
        self.simulating = True
        self.log.append("start")

    def update_simulation(self, dt, time):
        assert self.simulating
        assert dt < 1e-6, "robots would move before they stand in their default pose"
        self.stepped = True

    def simulate(self, dt, time):
        assert self.simulating
        assert self.valid
        self.articulations.step(dt)

    def fetch_results(self):
        assert self.simulating

    def detach_stage(self):
        assert self.simulating
        self.simulating = False
        self.log.append("detach_stage")

    # omni.physics.tensors

    def _create_simulation_view(self, frontend, stage_id):
        assert (frontend, stage_id) == ("warp", 42)
        assert self.stepped, "tensors exist after a first step only"
        self.valid = True
        return self

    def set_subspace_roots(self, pattern):
        assert pattern == "/"

    def update_articulations_kinematic(self):
        assert self.valid

    def invalidate(self):
        assert not self.simulating, "PhysX must be off the stage before its views go"
        self.valid = False
        self.log.append("invalidate")

    def create_articulation_view(self, paths):
        self.paths = list(paths)
        count = len(paths) if self._found is None else self._found
        self.articulations = FakeView(count, ("rail", "hinge"), fixed_base=True, shapes=1)
        return Articulations(self, count)


class Articulations:
    """An articulation view: `get_NAME()` and `set_NAME(data, indices)` on Warp arrays."""

    def __init__(self, kit, count):
        self._kit, self._view, self.count = kit, kit.articulations, count
        self.max_dofs, self.max_links, self.max_shapes = 2, 3, 1
        self.shared_metatype = types.SimpleNamespace(
            dof_names=["rail", "hinge"], link_names=list(self._view.link_names), fixed_base=True
        )

    def __getattr__(self, name):
        verb, _, tensor = name.partition("_")
        field = NAMES[tensor]
        return (lambda: self._get(field)) if verb == "get" else (lambda data, indices: self._set(field, data, indices))

    def _get(self, field):
        assert self._kit.valid, "the view was invalidated"
        tensor = self._view.tensors[field]
        return wp.from_torch(tensor.flatten(1) if field is Field.DOF_LIMIT else tensor)

    def _set(self, field, data, indices):
        assert self._kit.valid, "the view was invalidated"
        assert indices.dtype == wp.int32
        rows = torch.zeros(self.count, dtype=torch.bool)
        rows[wp.to_torch(indices).long()] = True
        self._view.write(field, wp.to_torch(data), rows)
