"""PhysX behind our contract, whichever way it is reached: everything but the calls that make a scene and its tensors.

- Recording works by segments: what surrounds the engine's native calls is replayed as graphs.
- Joints and links are matched by name; velocities of centres of mass become those of the link frames' origins.
- Effort limits and the PD law are our own arithmetic, as on every engine; PhysX's drives only hold passive damping.
- Positions are local to each environment. A scene without contacts needs no room: all environments share the world's
  origin, and a row is bitwise the same whichever it is. Otherwise each has a cell in a grid, and rounding differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import warp as wp

from ..base import SimBackend, name_rows
from ..catalogue import ENGINES
from ..playback import DRAWN
from ..scene import RobotFacts, SceneSpec
from ..segments import Segments
from . import kernels
from .facts import robot_facts
from .frames import Frames, make_frames
from .view import ArticulationView, Field


class PhysxBackend(SimBackend):
    """N articulations of one USD robot in PhysX.

    Args:
        spec: The scene.
        device: Torch device of every tensor.
        engine: Its name in the catalogue.
        view: The robots, in the scene just built; closed with the backend.
        origins: Where the environments stand, float32 `[N, 3]` [m].

    Raises:
        ValueError: The robot is not what `spec` says; the message names the difference.
    """

    def __init__(
        self, spec: SceneSpec, device: torch.device, engine: str, view: ArticulationView, origins: torch.Tensor
    ) -> None:
        self.num_envs = spec.num_envs
        self.device = device
        self.joint_names, self.link_names, self.body_names = spec.joints, spec.links, view.link_names
        self._spec, self._engine, self._view = spec, engine, view
        self._closed = False
        self._own_graphs: tuple[Callable[[], None], Callable[[], None]] | None = None
        self._segments = Segments(device)
        self._launching = False  # `step` and `reset_rows` launch at once, as a body that is recorded wants it
        self._rehearse = device.type != "cpu"  # every kernel is loaded before it is captured; a CPU needs no such thing
        _require_the_robot(spec, view)
        # Rounding differs with where an environment stands, and on CUDA none of this has been seen to hold.
        alike = device.type == "cpu" and spec.max_contacts == 0
        declared = ENGINES[engine].capabilities
        self.capabilities = replace(
            declared,
            row_independent=declared.row_independent and alike,
            deterministic=declared.deterministic and device.type == "cpu",
            exact_state=declared.exact_state and alike,
        )
        with torch.inference_mode(False):
            self._allocate(origins.to(device))
            self._settle_in()

    def _allocate(self, origins: torch.Tensor) -> None:
        spec, view, device = self._spec, self._view, self.device
        self._origins = origins
        n, joints = spec.num_envs, len(spec.joints)
        self._dofs = wp.array(
            [view.joint_names.index(name) for name in spec.joints], dtype=wp.int32, device=str(device)
        )
        self._limits = self._per_joint((math.inf,) * joints if spec.effort_limit is None else spec.effort_limit)
        if spec.actuator is not None:
            self._gains = (self._per_joint(spec.actuator.stiffness), self._per_joint(spec.actuator.damping))
        # What PhysX was last told or last said, in its own order of joints.
        self._q, self._qd, self._efforts = torch.zeros(3, *view.shape(Field.DOF_POSITION), device=device)
        self.joint_pos, self.joint_vel = torch.zeros(2, n, joints, device=device)
        com = torch.zeros(view.shape(Field.LINK_COM))
        view.read(Field.LINK_COM, com)
        coms = com[0, :, :3]
        self._links = make_frames(view, (Field.LINK_POSE, Field.LINK_VELOCITY), spec.links, coms, origins)
        self.link_pose, self.link_vel = self._links.pose, self._links.vel
        self._root: Frames | None = None
        if spec.floating:
            fields = (Field.ROOT_POSE, Field.ROOT_VELOCITY)
            self._root = make_frames(view, fields, view.link_names[:1], coms, origins)
            self.root_pose, self.root_vel = self._root.pose.view(n, 7), self._root.vel.view(n, 6)
        self._frames = [frames for frames in (self._root, self._links) if frames is not None and frames.pose.numel()]
        self._chosen = torch.zeros(n, dtype=torch.bool, device=device)
        self._row_faults = torch.zeros(n, dtype=torch.int32, device=device)
        self._fault_array = torch.zeros(1, device=device)
        self._fault = self._fault_array[0]

    def _per_joint(self, values: tuple[float, ...]) -> Any:
        return wp.array(values, dtype=wp.float32, device=str(self.device))

    def _settle_in(self) -> None:
        """Give every contact the scene's friction, and every robot its default pose before anything moves.

        PhysX starts joints at 0 even where a limit forbids that, and throws the robot about in its first step.
        """
        view, friction = self._view, self._spec.friction
        if 0 not in (shape := view.shape(Field.SHAPE_MATERIAL)):
            view.write(Field.SHAPE_MATERIAL, torch.tensor([friction, friction, 0.0]).expand(shape).contiguous())
        if self._q.numel():
            limit = torch.zeros(view.shape(Field.DOF_LIMIT))
            view.read(Field.DOF_LIMIT, limit)
            self._q.copy_(torch.zeros(self._q.shape).clamp(limit[..., 0], limit[..., 1]))
        if self._root is not None:
            view.read(Field.ROOT_POSE, self._root.world_pose)
        self._chosen.fill_(True)
        self._write_rows()
        self._launch_reads()

    def step(self, control: torch.Tensor) -> None:
        """Advance every environment by one control step; see `SimBackend.step`."""
        if self._launching:
            self._launch_step(control)
            return
        replay, _ = self._own_graphs or self._record_own_graphs()
        self._control.copy_(control)
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
        state = self.given_state(joint_pos, joint_vel, root_pose, root_vel)
        if self._launching:
            self._launch_reset(mask, *state)
            return
        _, replay = self._own_graphs or self._record_own_graphs()
        for kept, value in zip(self._reset, (mask, *state), strict=True):
            kept.copy_(value)
        replay()

    def record(self, body: Callable[[], None]) -> Callable[[], None]:
        """Record launches as graphs, with the engine's native calls between them; see `SimBackend.record`."""
        self._launching = True
        try:
            if self._rehearse:
                before = [part.clone() for part in self.robot_state.values()]
                body()
                self._launch_reset(torch.ones_like(self._chosen), *before)
            return self._segments.record(body)
        finally:
            self._launching = False

    def body_poses(self, names: tuple[str, ...]) -> torch.Tensor:
        """Read from PhysX, less where each environment stands; see `SimBackend.body_poses`."""
        poses = torch.empty(self._view.shape(Field.LINK_POSE), device=self.device)
        self._view.read(Field.LINK_POSE, poses)
        chosen = poses[:, [self.body_names.index(name) for name in names]]
        chosen[..., :3] -= self._origins.unsqueeze(1)
        return chosen

    play_capabilities = DRAWN

    @property
    def fault(self) -> torch.Tensor:
        """0-dim float32: 1 once a state became non-finite; it stays 1."""
        return self._fault

    def clear_fault(self) -> None:
        """Forget a fault; see `SimBackend.clear_fault`."""
        self._row_faults.zero_()
        self._fault_array.zero_()

    def describe_fault(self) -> str:
        """What is not finite, in which rows. Reads the device."""
        bits = self._row_faults.cpu()
        rows = (bits.nonzero().flatten() + self.first_row).tolist()
        if not rows:
            return f"{self._engine} is sound"
        states = {"joint state": kernels.NONFINITE_JOINTS, "link state": kernels.NONFINITE_FRAMES}
        found = [name for name, bit in states.items() if (bits & int(bit)).any()]
        return f"{self._engine}: non-finite {' and '.join(found)} in {name_rows(rows)}"

    def robot_facts(self) -> RobotFacts:
        """Joints and links as PhysX has them; see `SimBackend.robot_facts`."""
        return robot_facts(self._view, self._spec)

    def diagnostics(self) -> dict[str, Any]:
        """Sizes and layout as plain JSON."""
        view, spec = self._view, self._spec
        return {
            "device": str(self.device),
            "graph": "segments",
            "num_envs": self.num_envs,
            "joint_order": list(view.joint_names),
            "joint_order_matches": view.joint_names == spec.joints,
            "links": list(view.link_names),
            "shapes_per_link": view.shape(Field.SHAPE_MATERIAL)[1],
            "physics_dt": spec.physics_dt,
            "decimation": spec.decimation,
            "contacts": spec.max_contacts > 0,
            "farthest_origin_m": float(self._origins.norm(dim=1).max()),
        }

    def close(self) -> None:
        """Release the engine. The state tensors keep their last values."""
        if not self._closed:
            self._closed = True
            self._own_graphs = None
            self._view.close()

    def _record_own_graphs(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """Graphs for callers that record none of their own, on fixed copies of the arguments."""
        with torch.inference_mode(False):
            self._control = torch.zeros_like(self.joint_pos)
            self._reset = [torch.zeros_like(self._chosen), *map(torch.zeros_like, self.robot_state.values())]
        self._own_graphs = (
            self.record(lambda: self._launch_step(self._control)),
            self.record(lambda: self._launch_reset(*self._reset)),
        )
        return self._own_graphs

    # What may be recorded: launches, with native calls between them.

    def _launch_step(self, control: torch.Tensor) -> None:
        if self._spec.actuator is None:
            self._launch(kernels.write_efforts, control, self._dofs, self._limits, self._efforts)
            self._segments.call(self._advance)
        else:
            state = (self._q, self._qd)
            for _ in range(self._spec.decimation):
                self._launch(kernels.drive, control, self._dofs, *self._gains, self._limits, *state, self._efforts)
                self._segments.call(self._advance_once)
        self._launch_reads()

    def _launch_reset(self, mask: torch.Tensor, joint_pos: torch.Tensor, joint_vel: torch.Tensor, *root: Any) -> None:
        rows = (mask, joint_pos, joint_vel)
        self._launch(kernels.write_joints, *rows, self._dofs, self._chosen, self._q, self._qd)
        if self._root is not None:
            self._root.launch_write(mask, *root)
        self._segments.call(self._write_rows)
        self._launch_reads()

    def _launch_reads(self) -> None:
        faults = (self._row_faults, self._fault_array)
        self._launch(kernels.read_joints, self._q, self._qd, self._dofs, self.joint_pos, self.joint_vel, *faults)
        for frames in self._frames:
            frames.launch_read(*faults)

    def _launch(self, kernel: Any, *args: Any) -> None:
        inputs = [wp.from_torch(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
        wp.launch(kernel, dim=self.num_envs, inputs=inputs, device=str(self.device))

    # The native calls.

    def _advance(self) -> None:
        self._write_efforts()
        for _ in range(self._spec.decimation):
            self._view.step(self._spec.physics_dt)
        self._read()

    def _advance_once(self) -> None:
        self._write_efforts()
        self._view.step(self._spec.physics_dt)
        self._read()

    def _write_efforts(self) -> None:
        if self._efforts.numel():
            self._view.write(Field.DOF_EFFORT, self._efforts)

    def _write_rows(self) -> None:
        if self._root is not None:
            self._root.write(self._view, self._chosen)
        if self._q.numel():  # kept as it is written: no need to read it back
            self._view.write(Field.DOF_POSITION, self._q, self._chosen)
            self._view.write(Field.DOF_VELOCITY, self._qd, self._chosen)
        self._view.settle()
        self._read_frames()

    def _read(self) -> None:
        if self._q.numel():
            self._view.read(Field.DOF_POSITION, self._q)
            self._view.read(Field.DOF_VELOCITY, self._qd)
        self._read_frames()

    def _read_frames(self) -> None:
        for frames in self._frames:
            frames.read(self._view)


def _require_the_robot(spec: SceneSpec, view: ArticulationView) -> None:
    """Refuse a robot that is not what the scene says."""
    if sorted(view.joint_names) != sorted(spec.joints):
        raise ValueError(
            f"{spec.usd}: the task names joints {list(spec.joints)}, the robot has {list(view.joint_names)}"
        )
    if view.fixed_base == spec.floating:
        root = "is fixed to the world" if view.fixed_base else "is free"
        raise ValueError(f"{spec.usd}: floating={spec.floating}, but the root of the robot {root}")
    if unknown := [name for name in spec.links if name not in view.link_names]:
        raise ValueError(f"{spec.usd}: the task names links {unknown}, the robot has {list(view.link_names)}")


def chosen_device(device: str) -> torch.device:
    """The torch device of a name; `"cuda"` is torch's current one."""
    chosen = torch.device(device)
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", torch.cuda.current_device())
    return chosen
