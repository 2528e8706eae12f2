"""Newton's `SolverMuJoCo` on MuJoCo Warp: batched worlds, one recorded graph per control step.

Written against newton 1.8 and warp 1.19. The traps it steps around:

- Contact and constraint capacities are always explicit. The solver's own guess, taken from the initial pose, drops
  contacts later and then lets environments leak into each other, silently.
- `SolverMuJoCo` may step a state in place. The torch views of it therefore stay valid for the engine's lifetime.
- The same recording (`wp.ScopedCapture`) works on a CPU and on CUDA. It must not run from two threads at once.
- A reset that only writes joint coordinates leaks the constraint solver's warm start; `SolverMuJoCo.reset` clears it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import newton
import numpy as np
import torch
import warp as wp
from newton.solvers import SolverMuJoCo

from . import newton_runtime as runtime
from .base import BackendCapabilities, SceneSpec, SimBackend, name_rows
from .newton_faults import fault_names, latch_faults


__all__ = ["NewtonMjwarpBackend", "runtime"]


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

    capabilities = BackendCapabilities(devices=("cpu", "cuda"), row_reset=True, deterministic=True, graph_replay=True)

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
        self._integrator = integrator
        self._closed = False

        robot = newton.ModelBuilder()
        SolverMuJoCo.register_custom_attributes(robot)
        robot.add_mjcf(spec.mjcf)
        order = _engine_order(robot, spec)
        scene = newton.ModelBuilder()
        scene.replicate(robot, spec.num_envs)
        model = scene.finalize(device=str(self.device))
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
        self._model, self._state, self._control = model, model.state(), model.control()
        self._observables = self._solver.observables({self._solver.ObservableKind.OVERFLOW})

        rows = (spec.num_envs, len(spec.joints))
        self._engine_pos = wp.to_torch(self._state.joint_q).view(rows)
        self._engine_vel = wp.to_torch(self._state.joint_qd).view(rows)
        self._engine_effort = wp.to_torch(self._control.joint_f).view(rows)
        self._to_engine, self._to_task = _permutations(order, self.device)
        if self._to_task is None:  # the orders agree: read the engine's own memory
            self.joint_pos, self.joint_vel = self._engine_pos, self._engine_vel
        else:
            self.joint_pos, self.joint_vel = self._engine_pos.clone(), self._engine_vel.clone()

        # One entry more than rows: Newton's global world, never reset.
        self._reset_mask_wp = wp.zeros(spec.num_envs + 1, dtype=wp.bool, device=model.device)
        self._reset_mask = wp.to_torch(self._reset_mask_wp)
        self._row_faults = wp.zeros(spec.num_envs, dtype=wp.int32, device=model.device)
        self._fault_wp = wp.zeros(1, dtype=wp.float32, device=model.device)
        self._fault = wp.to_torch(self._fault_wp)[0]

        self._spec = spec
        self._step_graph = self._record(self._substeps)
        self._reset_graph = self._record(self._reset_masked)
        wp.synchronize_device(model.device)  # what Warp did on its own stream is visible to torch's from here on

    def step(self, effort: torch.Tensor) -> None:
        """Advance every environment by one control step; see `SimBackend.step`."""
        if self._to_engine is not None:
            effort = effort[:, self._to_engine]
        self._engine_effort.copy_(effort)
        self._replay(self._step_graph)
        self._refresh()

    def reset_rows(self, env_ids: torch.Tensor, joint_pos: torch.Tensor, joint_vel: torch.Tensor) -> None:
        """Put rows into a state as if freshly started there; see `SimBackend.reset_rows`."""
        if self._to_engine is not None:
            joint_pos, joint_vel = joint_pos[:, self._to_engine], joint_vel[:, self._to_engine]
        self._engine_pos.index_copy_(0, env_ids, joint_pos)
        self._engine_vel.index_copy_(0, env_ids, joint_vel)
        self._reset_mask.index_fill_(0, env_ids, True)
        self._replay(self._reset_graph)
        self._refresh()

    @property
    def fault(self) -> torch.Tensor:
        """0-dim float32: 1 once a buffer overflowed or a joint state became non-finite; it stays 1."""
        return self._fault

    def describe_fault(self) -> str:
        """What overflowed, in which rows, and the capacities to raise. Reads the device."""
        bits = self._row_faults.numpy()
        rows = bits.nonzero()[0]
        if not len(rows):
            return "newton_mjwarp is sound"
        import mujoco_warp

        names = fault_names(
            int(np.bitwise_or.reduce(bits)),
            (getattr(mujoco_warp, "OverflowType", ()), SolverMuJoCo.OverflowBits),
        )
        return (
            f"newton_mjwarp: {', '.join(names)} in {name_rows(rows.tolist())} (room per row: "
            f"max_contacts={self._spec.max_contacts}, max_constraints={self._spec.max_constraints})"
        )

    def diagnostics(self) -> dict[str, Any]:
        """Model sizes, capacities and solver options as plain JSON. Reads the device."""
        options = self._solver.mjw_model.opt
        return {
            "newton": newton.__version__,
            "warp": wp.config.version,
            "device": str(self.device),
            "graph": True,
            "num_envs": self.num_envs,
            "nq": self._model.joint_coord_count // self.num_envs,
            "nv": self._model.joint_dof_count // self.num_envs,
            "joint_order_matches": self._to_task is None,
            "physics_dt": self._spec.physics_dt,
            "decimation": self._spec.decimation,
            "integrator": self._integrator,
            "solver_iterations": int(options.iterations),
            "ls_iterations": int(options.ls_iterations),
            "njmax": int(self._solver.mjw_data.njmax),
            "nconmax": int(self._solver.mjw_data.naconmax) // self.num_envs,
            "contacts_enabled": self._spec.max_contacts > 0,
        }

    def close(self) -> None:
        """Release the graphs and the model. The joint tensors must not be used afterwards."""
        if self._closed:
            return
        self._closed = True
        del self._step_graph, self._reset_graph, self._solver, self._state, self._control, self._model

    def _substeps(self) -> None:
        state, shape = self._state, (self.num_envs, len(self.joint_names))
        for _ in range(self._spec.decimation):
            self._solver.step(state, state, self._control, None, self._spec.physics_dt, observables=self._observables)
            wp.launch(
                latch_faults,
                dim=self.num_envs,
                inputs=[self._observables.overflow, state.joint_q.reshape(shape), state.joint_qd.reshape(shape)],
                outputs=[self._row_faults, self._fault_wp],
                device=self._model.device,
            )

    def _reset_masked(self) -> None:
        # flags=0: keep the joint state written through the views, clear what the solver carries between steps.
        self._solver.reset(self._state, world_mask=self._reset_mask_wp, flags=0)
        self._reset_mask_wp.zero_()

    def _record(self, launch: Callable[[], None]) -> Any:
        """Record launches without running them: the state is still the initial one afterwards."""
        with wp.ScopedCapture(device=self._model.device) as capture:
            launch()
        return capture.graph

    def _replay(self, graph: Any) -> None:
        if self.device.type == "cuda":  # behind torch's writes and before torch's reads on its current stream
            wp.capture_launch(graph, stream=wp.stream_from_torch(torch.cuda.current_stream(self.device)))
        else:
            wp.capture_launch(graph)

    def _refresh(self) -> None:
        if self._to_task is not None:
            torch.index_select(self._engine_pos, 1, self._to_task, out=self.joint_pos)
            torch.index_select(self._engine_vel, 1, self._to_task, out=self.joint_vel)


def _engine_order(robot: Any, spec: SceneSpec) -> list[int]:
    """For each engine joint, its place in the task's order.

    Newton labels a joint by its path (`cartpole/worldbody/cart/slider`); the last part is the MJCF name.
    """
    names = [label.rsplit("/", 1)[-1] for label in robot.joint_label]
    if sorted(names) != sorted(spec.joints):
        raise ValueError(f"{spec.mjcf}: the task names joints {list(spec.joints)}, the model has {names}")
    if robot.joint_dof_count != len(names) or robot.joint_coord_count != len(names):
        raise ValueError(f"{spec.mjcf}: every joint must have one degree of freedom; {names} have {robot.joint_dof_count}")
    return [spec.joints.index(name) for name in names]


def _permutations(order: list[int], device: torch.device) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Column indices task → engine and engine → task; None for both when the orders agree."""
    if order == sorted(order):
        return None, None
    to_engine = torch.tensor(order, device=device)
    return to_engine, torch.argsort(to_engine)
