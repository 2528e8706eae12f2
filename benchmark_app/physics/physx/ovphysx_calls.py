"""Every call to ovphysx and ovstage; written against ovphysx 0.7.

It reads and writes by tensor bindings. They are deprecated since 0.6 in favour of sessions, which give one tensor for
every joint prim, in degrees: reading 256 ants takes a session 98 ms and a binding 0.06 ms. Until a session gives packed
tensors the version is pinned to 0.7, and what must change then is this module.

Rules of the process:

- CPU-only mode is set before the first `PhysX()` and cannot be taken back.
- The number of threads is set before `PhysX()`, and cannot change while a stage is attached anywhere in the process.
- Schemas are registered once, before the first stage is populated.
- Scenes are cloned before the first step. Creating a binding takes a first, tiny step unless `warmup()` has.
- Bindings are destroyed first, then the stage is detached and destroyed, then PhysX.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import ovphysx  # type: ignore[import-not-found]
import ovstage  # type: ignore[import-not-found]
import torch
from ovphysx import DLTensor, PhysX, PhysXConfig, get_global_config, set_global_config  # type: ignore[import-not-found]
from ovphysx.dlpack import DLDataType, DLDataTypeCode, DLDevice, DLDeviceType  # type: ignore[import-not-found]
from ovphysx.samples.python_samples.schema_support import physx_schema_paths  # type: ignore[import-not-found]
from ovphysx.types import ConfigKey, GlobalConfigKey, SimObjectType, TensorType  # type: ignore[import-not-found]

from ..scene import Vector
from .view import Field

_TENSORS = {
    Field.DOF_POSITION: TensorType.ARTICULATION_DOF_POSITION,
    Field.DOF_VELOCITY: TensorType.ARTICULATION_DOF_VELOCITY,
    Field.DOF_EFFORT: TensorType.ARTICULATION_DOF_ACTUATION_FORCE,
    Field.ROOT_POSE: TensorType.ARTICULATION_ROOT_POSE,
    Field.ROOT_VELOCITY: TensorType.ARTICULATION_ROOT_VELOCITY,
    Field.LINK_POSE: TensorType.ARTICULATION_LINK_POSE,
    Field.LINK_VELOCITY: TensorType.ARTICULATION_LINK_VELOCITY,
    Field.DOF_LIMIT: TensorType.ARTICULATION_DOF_LIMIT,
    Field.DOF_DAMPING: TensorType.ARTICULATION_DOF_DAMPING,
    Field.DOF_ARMATURE: TensorType.ARTICULATION_DOF_ARMATURE,
    Field.DOF_FRICTION: TensorType.ARTICULATION_DOF_FRICTION_PROPERTIES,
    Field.LINK_MASS: TensorType.ARTICULATION_BODY_MASS,
    Field.LINK_COM: TensorType.ARTICULATION_BODY_COM_POSE,
    Field.LINK_INERTIA: TensorType.ARTICULATION_BODY_INERTIA,
    Field.SHAPE_MATERIAL: TensorType.ARTICULATION_SHAPE_FRICTION_AND_RESTITUTION,
}

_stages = itertools.count()


def choose_device(device: torch.device) -> None:
    """Have PhysX keep to the CPU, or not, in this process.

    Raises:
        ValueError: It is bound to the other already.
    """
    cpu_only = device.type == "cpu"
    if PhysX.get_cpu_mode() == cpu_only:
        return
    try:
        PhysX.set_cpu_mode(cpu_only)
    except RuntimeError as error:
        raise ValueError(
            f"device={device}: ovphysx already runs on the other device in this process ({error})"
        ) from error


def choose_threads(num_threads: int) -> None:
    """Set how many threads PhysX takes beside the caller's.

    Raises:
        ValueError: A scene of this process runs with another number.
    """
    present = get_global_config(GlobalConfigKey.NUM_THREADS)
    if present == num_threads:
        return
    try:
        set_global_config(GlobalConfigKey.NUM_THREADS, num_threads)
    except RuntimeError as error:
        raise ValueError(f"num_threads={num_threads}: another scene of this process has {present} ({error})") from error


@functools.cache
def register_schemas() -> None:
    """Tell ovstage of the schemas that stages use, once."""
    ovstage.population.register_usd_schemas([*map(str, physx_schema_paths()), str(ovphysx.newton_schema_root())])


def versions() -> dict[str, str]:
    """Versions of what simulates."""
    return {"ovphysx": ovphysx.__version__, "ovstage": ovstage.__version__}


class OvphysxScene:
    """A PhysX of its own, with at most one stage attached.

    Args:
        device: Where it simulates.
    """

    def __init__(self, device: torch.device) -> None:
        register_schemas()
        self._gpu = device.type == "cuda"
        self._stage: ovstage.Stage | None = None
        # On a GPU, state stays there. On a CPU, ids that would keep environments apart do nothing but warn.
        overrides = {"/physics/suppressReadback": True} if self._gpu else {"/ovphysx/clone/useEnvIds": False}
        with _silenced(DeprecationWarning):  # no other way is offered for either
            self._physx = PhysX(config=PhysXConfig(carbonite_overrides=overrides))
        if self._gpu:
            self._physx.set_config(ConfigKey.ACTIVE_CUDA_GPUS, str(device.index))

    def open(self, text: str) -> None:
        """Simulate the stage in a USD text, in place of the one before."""
        self._detach()
        self._stage = stage = ovstage.Stage(f"benchmark_app_{next(_stages)}")
        ovstage.population.open_usd_from_string(stage, text, ordinal=1, domains=ovstage.PopulationDomain.ALL)
        stage.advance_write_floor(ordinal=1).wait()
        self._physx.wait_task(self._physx.attach_ovstage(stage, read_ordinal=1))

    def prims(self, kind: str) -> list[str]:
        """Paths of everything PhysX made of one kind, in a stage just opened.

        Args:
            kind: `"articulation"`, `"link"` or `"shape"`.
        """
        asked = {
            "articulation": (SimObjectType.ARTICULATION, "isFixedBase"),
            "link": (SimObjectType.ARTICULATION_LINK, "mass"),
            "shape": (SimObjectType.SHAPE, "physxPointer"),
        }
        object_type, attribute = asked[kind]
        # The warning: Warp, which reads come through, looks for a GPU even where PhysX must not.
        with _silenced(RuntimeWarning), self._physx.read_sync(object_type, [attribute]) as found:
            paths = [path for group in found.groups for path in found.dictionary.get_path_strings(group.prim_list)]
            found.groups.clear()  # arrays of a read must not outlive it
        return paths

    def clone(self, source: str, targets: list[str], origins: list[Vector]) -> None:
        """Copy an environment to others, whose origins are given. At once after `open`."""
        anchors = [(*origin, 0.0, 0.0, 0.0, 1.0) for origin in origins]
        self._physx.wait_task(self._physx.clone(source, targets, anchor_transforms=anchors))

    def view(self, paths: list[str]) -> OvphysxView:
        """The tensors of the articulations at these paths, a row each, in this order."""
        self._physx.warmup()
        return OvphysxView(self, self._physx, paths, self._gpu)

    def close(self) -> None:
        """Release stage and PhysX; every view is closed before."""
        self._detach()
        self._physx.destroy()

    def _detach(self) -> None:
        if self._stage is not None:
            self._physx.wait_task(self._physx.detach_ovstage())
            self._stage.destroy()
            self._stage = None


class OvphysxView:
    """Articulations of a scene by tensor bindings, made when first used; see `ArticulationView`."""

    def __init__(self, scene: OvphysxScene, physx: PhysX, paths: list[str], gpu: bool) -> None:
        self._scene, self._physx, self._paths, self._gpu = scene, physx, paths, gpu
        self._bindings: dict[Field, ovphysx.TensorBinding] = {}
        binding = self._binding(Field.ROOT_POSE)
        self.joint_names = tuple(binding.dof_names)
        self.link_names = tuple(binding.body_names)
        self.fixed_base = bool(binding.is_fixed_base)

    def shape(self, field: Field) -> tuple[int, ...]:
        """Shape of a tensor."""
        return tuple(self._binding(field).shape)

    def read(self, field: Field, out: torch.Tensor) -> None:
        """Copy a tensor from the engine."""
        self._binding(field).read(self._given(out))

    def write(self, field: Field, values: torch.Tensor, rows: torch.Tensor | None = None) -> None:
        """Copy a tensor to the engine, or the chosen rows of it."""
        self._binding(field).write(self._given(values), mask=None if rows is None else self._given(rows))

    def step(self, dt: float) -> None:
        """Take a physics step and wait for it."""
        self._physx.step_sync(dt)

    def settle(self) -> None:
        """Make link poses follow joint and root states; on a CPU writing them has done it."""
        if self._gpu:
            self._physx.update_articulations_kinematic()

    def close(self) -> None:
        """Release bindings, stage and PhysX, in this order."""
        for binding in self._bindings.values():
            binding.destroy()
        self._bindings.clear()
        self._scene.close()

    def _given(self, tensor: torch.Tensor) -> torch.Tensor | DLTensor:
        """How a tensor is handed over. On a GPU as it is, so that ovphysx waits for torch."""
        return tensor if self._gpu else _described(tensor.data_ptr(), tuple(tensor.shape), tensor.dtype)

    def _binding(self, field: Field) -> ovphysx.TensorBinding:
        if field not in self._bindings:
            with _silenced(DeprecationWarning):  # see the top of this module
                self._bindings[field] = self._physx.create_tensor_binding(
                    prim_paths=self._paths, tensor_type=_TENSORS[field], raise_if_empty=True
                )
        return self._bindings[field]


@functools.lru_cache(maxsize=256)
def _described(address: int, shape: tuple[int, ...], dtype: torch.dtype) -> DLTensor:
    """A description of contiguous memory on the host, in DLPack's terms.

    ovphysx makes one of every torch tensor it is given, at each write of selected rows: 50 microseconds, several times
    what the write itself takes.
    """
    code, bits = {torch.float32: (DLDataTypeCode.kDLFloat, 32), torch.bool: (DLDataTypeCode.kDLBool, 8)}[dtype]
    described = DLTensor()
    described.data = ctypes.c_void_p(address)
    described.device = DLDevice(DLDeviceType.kDLCPU, 0)
    described.ndim = len(shape)
    described.dtype = DLDataType(code, bits, 1)
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    described.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
    described.sizes = sizes  # a pointer keeps nothing alive
    return described


@contextmanager
def _silenced(category: type[Warning]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield
