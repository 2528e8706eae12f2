"""Newton's `SolverMuJoCo` on MuJoCo Warp: batched worlds, one recorded graph per control step.

The traps it steps around:

- Contact and constraint capacities are always explicit. The solver's own guess, taken from the initial pose, drops
  contacts later and then lets environments leak into each other, silently.
- `SolverMuJoCo` may step a state in place.
- A reset that only writes joint coordinates leaks the constraint solver's warm start; `SolverMuJoCo.reset` clears it.
- Bodies follow from the joints at the end of a step, and not after a reset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mujoco_warp  # type: ignore[import-untyped]
import newton
import numpy as np
import torch
import warp as wp
from newton.solvers import SolverMuJoCo

from ..scene import RobotFacts, SceneSpec
from .backend import NewtonBackend
from .facts import Body, Dof, robot_facts, turned
from .faults import UNSOLVED, FaultBit

INTEGRATION_STATE = (
    *("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied"),
    *("eq_active", "mocap_pos", "mocap_quat", "userdata"),
)
"""What MuJoCo says a step depends on (`mjSTATE_INTEGRATION`), by the names of `mujoco_warp.Data`."""

WARNINGS = {
    "NEFC": "constraint_overflow",
    "NJMAX_NNZ": "constraint_overflow",
    "NVMAX": "constraint_overflow",
    "ITERATIONS": UNSOLVED,
    "LS_ITERATIONS": UNSOLVED,
}
"""The engine's flags by the catalogue's names; all others are for want of room for contacts."""


def _fault_bit(flag: str) -> FaultBit:
    warning = WARNINGS.get(flag, "contact_overflow")
    return FaultBit(warning, f"no convergence ({flag})" if warning == UNSOLVED else f"{flag} overflow")


class NewtonMjwarpBackend(NewtonBackend):
    """`num_envs` copies of one MJCF robot in MuJoCo Warp.

    Args:
        spec: The scene.
        device: `"cpu"`, `"cuda"` or `"cuda:INDEX"`.
        allow: Warnings of the catalogue that are counted and are no fault.
        integrator: MuJoCo integrator, overriding the MJCF: `"euler"` or `"implicitfast"`.
        iterations: Constraint solver iterations at most; None keeps the MJCF's.
        ls_iterations: Line search iterations at most; None keeps the MJCF's.
        cone: Friction cone of contacts: `"elliptic"`, or `"pyramidal"`, which is weaker between its edges.

    Raises:
        ValueError: The robot's file is not as `spec` says; the message says in what.
    """

    engine = "newton_mjwarp"
    convergence_settings = ("iterations", "ls_iterations")

    def __init__(
        self,
        spec: SceneSpec,
        device: str,
        *,
        allow: list[str] | None = None,
        integrator: str = "implicitfast",
        iterations: int | None = None,
        ls_iterations: int | None = None,
        cone: str = "elliptic",
    ) -> None:
        self._integrator = integrator
        self._options: dict[str, int | str | None] = {"iterations": iterations, "ls_iterations": ls_iterations}
        if spec.max_contacts:
            self._options["cone"] = cone
        super().__init__(spec, device, allow)

    def _register(self, builder: Any) -> None:
        SolverMuJoCo.register_custom_attributes(builder)

    def _make_solver(self) -> None:
        spec = self._spec
        # A scene without contacts skips collision detection; Newton would otherwise run it on nothing.
        self._solver = solver = SolverMuJoCo(
            self._model,
            integrator=self._integrator,
            njmax=spec.max_constraints,
            nconmax=max(spec.max_contacts, 1),
            disable_contacts=spec.max_contacts == 0,
            **self._options,
        )
        # The kernels would print a line per row and step; `fault` reports the same once, and stops the run.
        solver.mjw_model.opt.warn_overflow = 0
        self._observables = solver.observables({solver.ObservableKind.OVERFLOW})
        flags = [*mujoco_warp.OverflowType, *SolverMuJoCo.OverflowBits]
        self.fault_bits = {int(flag).bit_length() - 1: _fault_bit(str(flag.name)) for flag in flags}

    def _exact_state(self) -> bool:
        return not self._solver.enable_sleeping  # trees asleep keep more than the integration state

    def _substep(self) -> Any:
        state, dt = self._state, self._spec.physics_dt
        self._solver.step(state, state, self._control, None, dt, observables=self._observables)
        return self._observables.overflow

    def _restart_rows(self, write: Callable[[Any, Any], None]) -> None:
        # flags=0: keep the joint state just written, clear what the solver carries from step to step.
        self._solver.reset(self._state, world_mask=self._world_mask, flags=0)
        self._follow_with_bodies()

    def _follow_with_bodies(self) -> None:
        if self._spec.links:
            newton.eval_fk(self._model, self._state.joint_q, self._state.joint_qd, self._state)

    def refresh_bodies(self) -> None:
        """A step and a task's links bring them up to date; otherwise a reset leaves them where they were."""
        if not self._spec.links:
            newton.eval_fk(self._model, self._state.joint_q, self._state.joint_qd, self._state)

    def export_state(self) -> dict[str, torch.Tensor]:
        """Joint state, MuJoCo's integration state (warm start among it) and the faults so far of every row."""
        wp.synchronize_device(self._model.device)
        return {name: tensor.cpu().clone() for name, tensor in self._carried().items()}

    def import_state(self, state: Mapping[str, torch.Tensor]) -> None:
        """Continue exactly where `export_state` was called; see `SimBackend.import_state`."""
        wp.synchronize_device(self._model.device)  # Warp and torch may launch on streams of their own
        for name, tensor in self._carried().items():
            tensor.copy_(state[name])
        self._adopt_faults(state["faults"])
        wp.synchronize_device(self._model.device)
        self._follow_with_bodies()
        self._refresh()
        wp.synchronize_device(self._model.device)

    def _carried(self) -> dict[str, torch.Tensor]:
        """Views of everything a later step depends on. Newton's joint state is what it writes MuJoCo's from."""
        data = self._solver.mjw_data
        arrays = {name: getattr(data, name) for name in INTEGRATION_STATE}
        arrays |= {"joint_q": self._joint_q, "joint_qd": self._joint_qd, "faults": self._row_faults}
        return {name: wp.to_torch(array) for name, array in arrays.items() if array.size}

    def _solver_facts(self) -> dict[str, Any]:
        options, data = self._solver.mjw_model.opt, self._solver.mjw_data
        return {
            "integrator": self._integrator,
            "solver_iterations": int(options.iterations),
            "ls_iterations": int(options.ls_iterations),
            "cone": ("elliptic" if int(options.cone) else "pyramidal") if self._spec.max_contacts else None,
            "njmax": int(data.njmax),
            "nconmax": int(data.naconmax) // self.num_envs,
        }

    def _drop_solver(self) -> None:
        del self._solver, self._observables

    def robot_facts(self) -> RobotFacts:
        """Read back from `mujoco_warp.Model`; see `SimBackend.robot_facts`."""
        solver, model = self._solver, self._solver.mjw_model
        joint_at = {int(dof): joint for joint, dof in enumerate(model.jnt_dofadr.numpy())}
        ranges, limited = model.jnt_range.numpy()[0].tolist(), solver.mj_model.jnt_limited
        names = ("dof_damping", "dof_armature", "dof_frictionloss")
        values = np.stack([getattr(model, name).numpy()[0] for name in names], 1).tolist()
        dofs = {
            dof: Dof(tuple(ranges[joint_at[at]]) if limited[joint_at[at]] else None, *values[at])
            for at, dof in enumerate(solver.mjc_dof_to_newton_dof.numpy()[0].tolist())
            if at in joint_at
        }
        masses, coms, moments, axes = (
            getattr(model, f"body_{name}").numpy()[0] for name in ("mass", "ipos", "inertia", "iquat")
        )
        bodies = {
            body: Body(float(masses[at]), coms[at], turned(moments[at], axes[at]))
            for at, body in enumerate(solver.mjc_body_to_newton.numpy()[0].tolist())
            if body >= 0
        }
        return robot_facts(self._spec, self._scene, dofs, bodies, model.opt.gravity.numpy()[0])
