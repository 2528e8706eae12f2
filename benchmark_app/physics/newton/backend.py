"""What Newton's engines have in common: the contract's tensors, recording, resets, faults and playback.

Written against newton 1.8 and warp 1.19. The traps it steps around:

- Torch views of a state stay valid only while the solver steps that very state.
- The same recording (`wp.ScopedCapture`) works on a CPU and on CUDA. It must not run from two threads at once.
- Newton's velocities of bodies are those of their centres of mass; ours are those of the link frames' origins.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

import newton
import numpy as np
import torch
import warp as wp

from ..base import RECEIPT_VERSION, CompletionToken, SimBackend
from ..catalogue import ENGINES
from ..playback import DRAWN, PhysicsStateLayout
from ..scene import RobotFacts, SceneSpec
from . import kernels
from .faults import FaultBit, describe
from .model import NewtonScene, build_scene
from .playback import playback_model, state_layout, state_snapshot
from .receipt import EventReceipt

_instances = count()


class NewtonBackend(SimBackend):
    """`num_envs` copies of one MJCF robot in a solver of Newton's; a subclass has the solver and its peculiarities.

    Args:
        spec: The scene.
        device: `"cpu"`, `"cuda"` or `"cuda:INDEX"`.
        allow: Warnings of the catalogue that are counted and are no fault.

    Raises:
        ValueError: The robot's file is not as `spec` says; the message says in what.

    Attributes:
        engine: Name of the engine in the catalogue.
        convergence_settings: Its settings that decide when its solver stops.
        fault_bits: What the solver may report of a row, by bit.
    """

    engine: ClassVar[str]
    convergence_settings: ClassVar[tuple[str, ...]]
    fault_bits: Mapping[int, FaultBit]

    def __init__(self, spec: SceneSpec, device: str, allow: list[str] | None = None) -> None:
        self.num_envs = spec.num_envs
        self.joint_names, self.link_names = spec.joints, spec.links
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self._spec = spec
        self._closed = self._recording = False
        self._own_graphs: tuple[Callable[[], None], Callable[[], None]] | None = None
        self._producer_id, self._receipts = f"{self.engine}:{next(_instances)}", count()
        self._scene = scene = build_scene(spec, str(self.device), self._register)
        self.body_names = tuple(scene.body_names)
        self._model = model = scene.model
        self._state, self._control = model.state(), model.control()
        newton.eval_fk(model, model.joint_q, model.joint_qd, self._state)
        self._make_solver()
        self.capabilities = replace(
            ENGINES[self.engine].capabilities,
            exact_state=self._exact_state(),
            completion_receipts=self.device.type == "cuda",
        )
        tolerated = sum(1 << bit for bit, known in self.fault_bits.items() if known.warning in (allow or ()))
        self._fatal = 0x7FFFFFFF & ~tolerated
        self._past: Counter[str] = Counter()
        self._allocate(scene)
        self._refresh()
        wp.synchronize_device(model.device)  # torch's stream sees what Warp did on its own

    def _allocate(self, scene: NewtonScene) -> None:
        """Arrays around the solver; those of joints in its own order are its own memory."""
        spec, model, n = self._spec, self._model, self.num_envs
        self._joint_q = self._state.joint_q.reshape((n, -1))
        self._joint_qd = self._state.joint_qd.reshape((n, -1))
        self._joint_f = self._control.joint_f.reshape((n, -1))
        self._coords, self._dofs = (self._array(columns, wp.int32) for columns in (scene.coords, scene.dofs))
        shape = (n, len(spec.joints))
        self._same_order = scene.coords == scene.dofs == list(range(shape[1])) and self._joint_q.shape == shape
        own = (self._joint_q, self._joint_qd) if self._same_order else (self._zeros(shape), self._zeros(shape))
        self._joint_pos, self._joint_vel = own
        self.joint_pos, self.joint_vel = wp.to_torch(own[0]), wp.to_torch(own[1])
        if spec.floating:
            self._root_pose, self._root_vel = (
                self._zeros((n, 1), kind) for kind in (wp.transformf, wp.spatial_vectorf)
            )
            self.root_pose, self.root_vel = (wp.to_torch(part).squeeze(1) for part in (self._root_pose, self._root_vel))
            self._root_com = wp.vec3f(*model.body_com.numpy()[0])
        links = (n, len(spec.links))
        self._links = self._array(scene.links, wp.int32)
        self._link_coms = self._array(model.body_com.numpy()[scene.links], wp.vec3f)
        self._link_pose, self._link_vel = self._zeros(links, wp.transformf), self._zeros(links, wp.spatial_vectorf)
        self.link_pose, self.link_vel = wp.to_torch(self._link_pose), wp.to_torch(self._link_vel)
        self._body_q, self._body_qd = self._state.body_q.reshape((n, -1)), self._state.body_qd.reshape((n, -1))
        self._limits = self._array(spec.effort_limit or [np.inf] * len(spec.joints), wp.float32)
        if spec.actuator is not None:
            gains = (spec.actuator.stiffness, spec.actuator.damping)
            self._stiffness, self._damping = (self._array(gain, wp.float32) for gain in gains)
        # One entry more than rows: Newton's global world, never reset.
        self._world_mask = self._zeros(n + 1, wp.bool)
        self._row_faults = self._zeros(n, wp.int32)
        self._fault_array = self._zeros(1)
        self._fault: torch.Tensor = wp.to_torch(self._fault_array)[0]

    def _array(self, values: Any, dtype: Any) -> Any:
        return wp.array(values, dtype=dtype, device=self._model.device)

    def _zeros(self, shape: Any, dtype: Any = wp.float32) -> Any:
        return wp.zeros(shape, dtype=dtype, device=self._model.device)

    # What a solver's module provides.

    def _register(self, builder: Any) -> None:
        """Tell a builder of the solver's own attributes, before a robot is read into it."""

    @abstractmethod
    def _make_solver(self) -> None:
        """Build the solver of `_model`, before anything else; it sets `fault_bits`."""

    def refresh_bodies(self) -> None:
        """Launch what brings the bodies' poses up to date, where the engine leaves them behind after a reset."""

    def _exact_state(self) -> bool:
        """Whether `export_state` holds all that a later step of this very solver depends on."""
        return ENGINES[self.engine].capabilities.exact_state

    @abstractmethod
    def _substep(self) -> Any:
        """Launch one physics step of `_state`, in place.

        Returns:
            Array `[N]` of what the solver reports of each row: `fault_bits`.
        """

    @abstractmethod
    def _restart_rows(self, write: Callable[[Any, Any], None]) -> None:
        """Launch what makes the joint state just written a fresh start in the rows of `_world_mask`.

        Args:
            write: Launches the writing of that state once more, into a `joint_q` and a `joint_qd`.
        """

    @abstractmethod
    def _solver_facts(self) -> dict[str, Any]:
        """Sizes and options of the solver, plain JSON."""

    @abstractmethod
    def robot_facts(self) -> RobotFacts:
        """Read back from the solver's own model; see `SimBackend.robot_facts`."""

    # The contract.

    def step(self, control: torch.Tensor) -> None:
        """Advance every environment by one control step; see `SimBackend.step`."""
        if self._recording:
            self._launch_step(control)
            return
        replay, _ = self._own_graphs or self._record_own_graphs()
        self._own_control.copy_(control)
        replay()

    def reset_rows(
        self,
        mask: torch.Tensor,
        joint_pos: torch.Tensor,
        joint_vel: torch.Tensor,
        root_pose: torch.Tensor | None = None,
        root_vel: torch.Tensor | None = None,
    ) -> None:
        """Put rows into a state as if freshly started there; see `SimBackend.reset_rows`."""
        given = self.given_state(joint_pos, joint_vel, root_pose, root_vel)
        if self._recording:
            self._launch_reset(mask, given)
            return
        _, replay = self._own_graphs or self._record_own_graphs()
        self._own_mask.copy_(mask)
        for own, part in zip(self._own_start, given, strict=True):
            own.copy_(part)
        replay()

    def record(self, body: Callable[[], None]) -> Callable[[], None]:
        """Record launches, this engine's among them, as one graph; see `SimBackend.record`."""
        device = self._model.device
        self._recording = True
        try:
            if device.is_cuda:  # load every kernel before capturing, then undo what running them did
                torch.cuda.synchronize(self.device)
                before = self.export_state()
                body()
                self.import_state(before)
            with wp.ScopedCapture(device=device) as capture:
                body()
        finally:
            self._recording = False
        graph = capture.graph
        if not device.is_cuda:
            return lambda: wp.capture_launch(graph)

        def replay() -> None:  # behind torch's writes and before torch's reads, on its current stream
            wp.capture_launch(graph, stream=wp.stream_from_torch(torch.cuda.current_stream(self.device)))

        return replay

    def receipt(self) -> CompletionToken | None:
        """On CUDA an event on torch's current stream; see `SimBackend.receipt`."""
        if not self.capabilities.completion_receipts:
            return None
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self.device))
        return EventReceipt(RECEIPT_VERSION, self._producer_id, next(self._receipts), event)

    def export_state(self) -> dict[str, torch.Tensor]:
        """The robot's state and the faults so far of every row; see `SimBackend.export_state`."""
        wp.synchronize_device(self._model.device)
        return super().export_state() | {"faults": wp.to_torch(self._row_faults).cpu().clone()}

    def import_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Start every row where `export_state` was called; see `SimBackend.import_state`."""
        super().import_state(state)
        wp.synchronize_device(self._model.device)
        self._adopt_faults(state["faults"])

    def _adopt_faults(self, faults: torch.Tensor) -> None:
        wp.to_torch(self._row_faults).copy_(faults)
        self._fault.copy_((faults & self._fatal != 0).any())

    @property
    def drawn(self) -> tuple[NewtonScene, Any]:
        """The model and the state to draw the environments from, once `refresh_bodies` was called."""
        return self._scene, self._state

    def body_poses(self, names: tuple[str, ...]) -> torch.Tensor:
        """Off the state; see `SimBackend.body_poses`."""
        if self.device.type == "cuda":
            with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(self.device)), sync_enter=False):
                self.refresh_bodies()
        else:
            self.refresh_bodies()
        poses: torch.Tensor = wp.to_torch(self._body_q)
        return poses[:, [self.body_names.index(name) for name in names]]

    @property
    def fault(self) -> torch.Tensor:
        """0-dim float32: 1 once a buffer overflowed or a joint state became non-finite; it stays 1."""
        return self._fault

    def clear_fault(self) -> None:
        """Forget a fault; see `SimBackend.clear_fault`."""
        self._past.update(self._counted())
        self._row_faults.zero_()
        self._fault_array.zero_()

    def describe_fault(self) -> str:
        """What failed, in which rows, and the settings that help. Reads the device."""
        bits = self._row_faults.numpy() & self._fatal
        return describe(self.engine, bits, self.fault_bits, self._spec, self.convergence_settings, self.first_row)

    def warning_counts(self) -> dict[str, int]:
        """Rows in which the solver reported each warning; see `SimBackend.warning_counts`."""
        return dict(self._past + Counter(self._counted()))

    def _counted(self) -> dict[str, int]:
        bits = self._row_faults.numpy()
        masks: Counter[str] = Counter()
        for bit, known in self.fault_bits.items():
            masks[known.warning] |= 1 << bit
        return {warning: int((bits & mask != 0).sum()) for warning, mask in masks.items() if (bits & mask).any()}

    def diagnostics(self) -> dict[str, Any]:
        """Model sizes, capacities and solver options as plain JSON."""
        return {
            "newton": newton.__version__,
            "warp": wp.config.version,
            "device": str(self.device),
            "graph": True,
            "num_envs": self.num_envs,
            "nq": self._joint_q.shape[1],
            "nv": self._joint_qd.shape[1],
            "joint_order_matches": self._same_order,
            "physics_dt": self._spec.physics_dt,
            "decimation": self._spec.decimation,
            "contacts": self._spec.max_contacts > 0,
            **self._solver_facts(),
        }

    def close(self) -> None:
        """Release the graphs and the solver. The tensors must not be used afterwards."""
        if not self._closed:
            self._closed = True
            self._own_graphs = None
            self._drop_solver()

    @abstractmethod
    def _drop_solver(self) -> None:
        """Let go of the solver."""

    # Bodies that may be recorded.

    def _record_own_graphs(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """Graphs for callers that record none of their own, on fixed copies of the arguments."""
        with torch.inference_mode(False):
            self._own_control = torch.zeros_like(self.joint_pos)
            self._own_start = [torch.zeros_like(part) for part in self.robot_state.values()]
            self._own_mask = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self._own_graphs = (
            self.record(lambda: self.step(self._own_control)),
            self.record(lambda: self.reset_rows(self._own_mask, *self._own_start)),
        )
        return self._own_graphs

    def _launch(self, kernel: Any, dim: Any, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=dim, inputs=inputs, outputs=outputs, device=self._model.device)

    def _launch_step(self, control: torch.Tensor) -> None:
        spec, n, told = self._spec, self.num_envs, wp.from_torch(control)
        if spec.actuator is None and spec.effort_limit is None:
            self._launch(kernels.write_efforts, n, [told, self._dofs], [self._joint_f])
        elif spec.actuator is None:
            self._launch(kernels.write_limited_efforts, n, [told, self._dofs, self._limits], [self._joint_f])
        for _ in range(spec.decimation):
            if spec.actuator is not None:
                law = [self._coords, self._dofs, self._stiffness, self._damping, self._limits]
                self._launch(kernels.drive, n, [told, *law, self._joint_q, self._joint_qd], [self._joint_f])
            found = self._substep()
            inputs = [found, self._fatal, self._joint_q, self._joint_qd]
            self._launch(kernels.latch_faults, n, inputs, [self._row_faults, self._fault_array])
        self._refresh()

    def _launch_reset(self, mask: torch.Tensor, start: list[torch.Tensor]) -> None:
        types = (wp.float32, wp.float32, wp.transformf, wp.spatial_vectorf)
        rows = wp.from_torch(mask)
        pos, vel, *root = (wp.from_torch(part, dtype=kind) for part, kind in zip(start, types, strict=False))

        def write(joint_q: Any, joint_qd: Any) -> None:
            inputs = [rows, pos, vel, self._coords, self._dofs]
            self._launch(kernels.write_rows, self.num_envs, inputs, [self._world_mask, joint_q, joint_qd])
            if root:
                inputs = [rows, *root, self._root_com]
                self._launch(kernels.write_roots, self.num_envs, inputs, [joint_q, joint_qd])

        write(self._joint_q, self._joint_qd)
        self._restart_rows(write)
        self._refresh()

    def _refresh(self) -> None:
        """Bring the contract's tensors up to date that are not the engine's own memory."""
        n, state = self.num_envs, [self._joint_q, self._joint_qd]
        if not self._same_order:
            columns = [self._coords, self._dofs]
            self._launch(kernels.read_joints, n, [*state, *columns], [self._joint_pos, self._joint_vel])
        if self._spec.floating:
            self._read_roots()
        if self._spec.links:
            inputs = [self._body_q, self._body_qd, self._links, self._link_coms]
            self._launch(kernels.read_links, self._link_pose.shape, inputs, [self._link_pose, self._link_vel])

    def _read_roots(self) -> None:
        inputs = [self._joint_q, self._joint_qd, self._root_com]
        self._launch(kernels.read_roots, self.num_envs, inputs, [self._root_pose, self._root_vel])

    # Playback.

    play_capabilities = replace(DRAWN, supports_physics_state_playback=True)

    def get_physics_state_snapshot(self, time: np.ndarray) -> np.ndarray:
        """Time and robot state of every row; see `SimBackend.get_physics_state_snapshot`."""
        return state_snapshot(time, self.robot_state)

    def get_physics_state_layout(self) -> PhysicsStateLayout:
        """The columns of a snapshot."""
        return state_layout(self._spec)

    def get_playback_model(self, env_index: int | None = None) -> Any:
        """A new `newton.Model` of one environment; all have the same."""
        return playback_model(self._spec, str(self.device))

    def get_playback_mocap_state(self, env_index: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Two empty arrays: a scene with mocap bodies is refused at construction."""
        return np.zeros((0, 3)), np.zeros((0, 4))

    def get_scene_visual_model_file(self) -> str | None:
        """The MJCF file."""
        return self._spec.mjcf
