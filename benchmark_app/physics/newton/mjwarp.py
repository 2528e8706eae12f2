"""Newton's `SolverMuJoCo` on MuJoCo Warp: batched worlds, one recorded graph per control step.

Written against newton 1.8 and warp 1.19. The traps it steps around:

- Contact and constraint capacities are always explicit. The solver's own guess, taken from the initial pose, drops
  contacts later and then lets environments leak into each other, silently.
- `SolverMuJoCo` may step a state in place. The torch views of it therefore stay valid for the engine's lifetime.
- The same recording (`wp.ScopedCapture`) works on a CPU and on CUDA. It must not run from two threads at once.
- A reset that only writes joint coordinates leaks the constraint solver's warm start; `SolverMuJoCo.reset` clears it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import newton
import numpy as np
import torch
import warp as wp
from newton.solvers import SolverMuJoCo

from .base import RECEIPT_VERSION, BackendCapabilities, CompletionToken, SceneSpec, SimBackend, name_rows
from .newton_kernels import fault_names, latch_faults, read_joints, write_efforts, write_rows
from .newton_playback import playback_model, state_layout, state_snapshot
from .playback import EnvPlayCapabilities, PhysicsStateLayout

INTEGRATION_STATE = (
    *("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied"),
    *("eq_active", "mocap_pos", "mocap_quat", "userdata"),
)
"""What MuJoCo says a step depends on (`mjSTATE_INTEGRATION`), by the names of `mujoco_warp.Data`."""

_instances = count()


@dataclass(frozen=True)
class EventReceipt(CompletionToken):
    """Receipt for work on a CUDA device.

    Attributes:
        event: Recorded behind the step's last work.
    """

    event: torch.cuda.Event

    def wait_before_read(self, stream: torch.cuda.Stream | None = None) -> None:
        """Have a stream wait for the event; see `CompletionToken.wait_before_read`."""
        super().wait_before_read(stream)
        (torch.cuda.current_stream() if stream is None else stream).wait_event(self.event)


class NewtonMjwarpBackend(SimBackend):
    """`num_envs` copies of one MJCF robot in MuJoCo Warp, driven by joint efforts.

    Args:
        spec: The scene. Joint damping, armature, limits and gravity come from its MJCF; actuators in it are not used.
        device: `"cpu"`, `"cuda"` or `"cuda:INDEX"`.
        integrator: MuJoCo integrator, overriding the MJCF: `"euler"`, `"implicitfast"` or `"rk4"`.
        iterations: Constraint solver iterations at most; None keeps the MJCF's.
        ls_iterations: Line search iterations at most; None keeps the MJCF's.

    Raises:
        ValueError: A joint of `spec.joints` is missing from the MJCF or the MJCF has another one, or a joint has more
            than one degree of freedom.
    """

    capabilities = BackendCapabilities(
        devices=("cpu", "cuda"), row_reset=True, deterministic=True, graph_replay=True, exact_state=True
    )

    def __init__(
        self,
        spec: SceneSpec,
        device: str,
        *,
        integrator: str = "implicitfast",
        iterations: int | None = None,
        ls_iterations: int | None = None,
    ) -> None:
        self.num_envs = spec.num_envs
        self.joint_names = spec.joints
        self.device = torch.device(device)
        if self.device.type == "cuda" and self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        self._spec = spec
        self._integrator = integrator
        self._closed = False
        self._recording = False
        self._own_graphs: tuple[Callable[[], None], Callable[[], None]] | None = None
        self._producer_id, self._receipts = f"newton_mjwarp:{next(_instances)}", count()

        robot = newton.ModelBuilder()
        SolverMuJoCo.register_custom_attributes(robot)
        robot.add_mjcf(spec.mjcf)
        order = _engine_order(robot, spec)
        scene = newton.ModelBuilder()
        scene.replicate(robot, spec.num_envs)
        self._model = model = scene.finalize(device=str(self.device))
        # A scene without contacts skips collision detection; Newton would otherwise run it on nothing.
        self._solver = SolverMuJoCo(
            model,
            integrator=integrator,
            iterations=iterations,
            ls_iterations=ls_iterations,
            njmax=spec.max_constraints,
            nconmax=max(spec.max_contacts, 1),
            disable_contacts=spec.max_contacts == 0,
        )
        # The kernels would print a line per row and step; `fault` reports the same once, and stops the run.
        self._solver.mjw_model.opt.warn_overflow = 0
        self.capabilities = replace(
            type(self).capabilities,
            completion_receipts=self.device.type == "cuda",
            exact_state=not self._solver.enable_sleeping,  # trees asleep keep more than the integration state
        )
        self._state, self._control = model.state(), model.control()
        self._observables = self._solver.observables({self._solver.ObservableKind.OVERFLOW})

        self._shape = (spec.num_envs, len(spec.joints))
        self._joint_q = self._state.joint_q.reshape(self._shape)
        self._joint_qd = self._state.joint_qd.reshape(self._shape)
        self._joint_f = self._control.joint_f.reshape(self._shape)
        self._columns = wp.array(order, dtype=wp.int32, device=model.device)
        self._same_order = order == sorted(order)
        if self._same_order:  # read the engine's own memory
            joint_pos, joint_vel = self._joint_q, self._joint_qd
        else:
            joint_pos, joint_vel = wp.zeros_like(self._joint_q), wp.zeros_like(self._joint_qd)
        self._joint_pos, self._joint_vel = joint_pos, joint_vel
        self.joint_pos, self.joint_vel = wp.to_torch(joint_pos), wp.to_torch(joint_vel)
        # One entry more than rows: Newton's global world, never reset.
        self._world_mask = wp.zeros(spec.num_envs + 1, dtype=wp.bool, device=model.device)
        self._row_faults = wp.zeros(spec.num_envs, dtype=wp.int32, device=model.device)
        self._fault_array = wp.zeros(1, dtype=wp.float32, device=model.device)
        self._fault: torch.Tensor = wp.to_torch(self._fault_array)[0]
        self._read_joints()
        wp.synchronize_device(model.device)  # what Warp did on its own stream is visible to torch's from here on

    def step(self, effort: torch.Tensor) -> None:
        """Advance every environment by one control step; see `SimBackend.step`."""
        if self._recording:
            self._launch_step(effort)
            return
        replay, _ = self._own_graphs or self._record_own_graphs()
        self._effort.copy_(effort)
        replay()

    def reset_rows(self, mask: torch.Tensor, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> None:
        """Put rows into a state as if freshly started there; see `SimBackend.reset_rows`."""
        if self._recording:
            self._launch_reset(mask, joint_pos, joint_vel)
            return
        _, replay = self._own_graphs or self._record_own_graphs()
        self._reset_mask.copy_(mask)
        self._reset_pos.copy_(joint_pos)
        self._reset_vel.copy_(joint_vel)
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
        """Joint state, MuJoCo's integration state (warm start among it) and the faults so far of every row."""
        wp.synchronize_device(self._model.device)
        return {name: tensor.cpu().clone() for name, tensor in self._carried().items()}

    def import_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue exactly where `export_state` was called; see `SimBackend.import_state`."""
        wp.synchronize_device(self._model.device)  # Warp and torch may launch on streams of their own
        for name, tensor in self._carried().items():
            tensor.copy_(state[name])
        self._fault.copy_((state["faults"] != 0).any())
        wp.synchronize_device(self._model.device)
        self._read_joints()
        wp.synchronize_device(self._model.device)

    @property
    def fault(self) -> torch.Tensor:
        """0-dim float32: 1 once a buffer overflowed or a joint state became non-finite; it stays 1."""
        return self._fault

    def clear_fault(self) -> None:
        """Forget a fault; see `SimBackend.clear_fault`."""
        self._row_faults.zero_()
        self._fault_array.zero_()

    def describe_fault(self) -> str:
        """What overflowed, in which rows, and the capacities to raise. Reads the device."""
        bits = self._row_faults.numpy()
        rows = bits.nonzero()[0].tolist()
        if not rows:
            return "newton_mjwarp is sound"
        import mujoco_warp  # type: ignore[import-untyped]

        names = fault_names(int(np.bitwise_or.reduce(bits)), (mujoco_warp.OverflowType, SolverMuJoCo.OverflowBits))
        return (
            f"newton_mjwarp: {', '.join(names)} in {name_rows(rows)} (room per row: "
            f"max_contacts={self._spec.max_contacts}, max_constraints={self._spec.max_constraints})"
        )

    def diagnostics(self) -> dict[str, Any]:
        """Model sizes, capacities and solver options as plain JSON."""
        options, data = self._solver.mjw_model.opt, self._solver.mjw_data
        return {
            "newton": newton.__version__,
            "warp": wp.config.version,
            "device": str(self.device),
            "graph": True,
            "num_envs": self.num_envs,
            "nq": self._model.joint_coord_count // self.num_envs,
            "nv": self._model.joint_dof_count // self.num_envs,
            "joint_order_matches": self._same_order,
            "physics_dt": self._spec.physics_dt,
            "decimation": self._spec.decimation,
            "integrator": self._integrator,
            "solver_iterations": int(options.iterations),
            "ls_iterations": int(options.ls_iterations),
            "njmax": int(data.njmax),
            "nconmax": int(data.naconmax) // self.num_envs,
            "contacts": self._spec.max_contacts > 0,
        }

    def close(self) -> None:
        """Release the graphs and the model. The joint tensors must not be used afterwards."""
        if not self._closed:
            self._closed = True
            self._own_graphs = None
            del self._solver, self._observables

    def _carried(self) -> dict[str, torch.Tensor]:
        """Views of everything a later step depends on. Newton's joint state is what it writes MuJoCo's from."""
        data = self._solver.mjw_data
        arrays = {name: getattr(data, name) for name in INTEGRATION_STATE}
        arrays |= {"joint_q": self._joint_q, "joint_qd": self._joint_qd, "faults": self._row_faults}
        return {name: wp.to_torch(array) for name, array in arrays.items() if array.size}

    def _record_own_graphs(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """Graphs for callers that record none of their own, on fixed copies of the arguments."""
        with torch.inference_mode(False):
            self._effort, self._reset_pos, self._reset_vel = torch.zeros(3, *self._shape, device=self.device)
            self._reset_mask = torch.zeros(self.num_envs, dtype=torch.bool, device=self.device)
        self._own_graphs = (
            self.record(lambda: self.step(self._effort)),
            self.record(lambda: self.reset_rows(self._reset_mask, self._reset_pos, self._reset_vel)),
        )
        return self._own_graphs

    def _launch_step(self, effort: torch.Tensor) -> None:
        wp.launch(
            write_efforts,
            dim=self.num_envs,
            inputs=[wp.from_torch(effort), self._columns],
            outputs=[self._joint_f],
            device=self._model.device,
        )
        for _ in range(self._spec.decimation):
            self._solver.step(
                self._state, self._state, self._control, None, self._spec.physics_dt, observables=self._observables
            )
            wp.launch(
                latch_faults,
                dim=self.num_envs,
                inputs=[self._observables.overflow, self._joint_q, self._joint_qd],
                outputs=[self._row_faults, self._fault_array],
                device=self._model.device,
            )
        self._read_joints()

    def _launch_reset(self, mask: torch.Tensor, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> None:
        wp.launch(
            write_rows,
            dim=self.num_envs,
            inputs=[wp.from_torch(mask), wp.from_torch(joint_pos), wp.from_torch(joint_vel), self._columns],
            outputs=[self._world_mask, self._joint_q, self._joint_qd],
            device=self._model.device,
        )
        # flags=0: keep the joint state just written, clear what the solver carries from step to step.
        self._solver.reset(self._state, world_mask=self._world_mask, flags=0)
        self._read_joints()

    def _read_joints(self) -> None:
        if not self._same_order:
            wp.launch(
                read_joints,
                dim=self.num_envs,
                inputs=[self._joint_q, self._joint_qd, self._columns],
                outputs=[self._joint_pos, self._joint_vel],
                device=self._model.device,
            )

    play_capabilities = EnvPlayCapabilities(supports_physics_state_playback=True)

    def get_physics_state_snapshot(self, time: np.ndarray) -> np.ndarray:
        """Time and joint state of every row; see `SimBackend.get_physics_state_snapshot`."""
        return state_snapshot(time, self.joint_pos, self.joint_vel)

    def get_physics_state_layout(self) -> PhysicsStateLayout:
        """The columns of a snapshot."""
        return state_layout(self.joint_names)

    def get_playback_model(self, env_index: int | None = None) -> Any:
        """A new `newton.Model` of one environment; all have the same."""
        return playback_model(self._spec, str(self.device))

    def get_playback_mocap_state(self, env_index: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Two empty arrays: a scene with mocap bodies is refused at construction."""
        return np.zeros((0, 3)), np.zeros((0, 4))

    def get_scene_visual_model_file(self) -> str | None:
        """The MJCF file."""
        return self._spec.mjcf


def _engine_order(robot: Any, spec: SceneSpec) -> list[int]:
    """For each engine joint, its place in the task's order.

    Newton labels a joint by its path (`cartpole/worldbody/cart/slider`); the last part is the MJCF name.
    """
    names = [label.rsplit("/", 1)[-1] for label in robot.joint_label]
    if sorted(names) != sorted(spec.joints):
        raise ValueError(f"{spec.mjcf}: the task names joints {list(spec.joints)}, the model has {names}")
    dofs = (robot.joint_dof_count, robot.joint_coord_count)
    if dofs != (len(names), len(names)):
        raise ValueError(f"{spec.mjcf}: every joint must have one degree of freedom; {names} have {dofs[0]}")
    return [spec.joints.index(name) for name in names]
