"""Newton's `SolverKamino`: maximal coordinates, hard constraints, one recorded graph per control step.

The traps it steps around:

- Bodies are the state; joint coordinates are only read off them. A reset writes joints, has bodies follow by forward
  kinematics, and writes the joints once more: what the solver reads off is rounded, and less by whole turns.
- Kamino sizes a matrix of every world by the contacts it has room for; its own guess makes it slow or fail. Its own
  collision detector keeps the room of each world apart, so that worlds do not know of one another.
- It keeps the contacts that fit and says once, in print, that there were more. It is given room for one more than the
  scene needs: a world that uses that one has too many.
- Arrays beside Newton's state (previous joint coordinates, constraint forces) are made by the first reset.
- Joints drift apart unless their error is taken back within one step. With the mild defaults of Kamino a pendulum is
  ten times further from the truth than by the integrator's own error.
- LOX stops at 16 iterations, too few for contacts and joint friction, and once in a thousand steps in contact its own
  tolerance is beyond float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import newton
import warp as wp
from newton.solvers import SolverKamino

from ..scene import RobotFacts, SceneSpec
from . import kernels
from .backend import NewtonBackend
from .facts import Body, Dof, robot_facts
from .faults import UNSOLVED, FaultBit
from .model import NewtonScene

OVERFLOW, UNCONVERGED = 0, 1
BITS = {
    OVERFLOW: FaultBit("contact_overflow", "contact overflow"),
    UNCONVERGED: FaultBit(UNSOLVED, "no convergence"),
}


class _Settings(NamedTuple):
    """Where a dynamics solver has its settings, and what they are unless told; None: its own default."""

    iterations: str
    tolerances: tuple[str, ...]
    max_iterations: int | None = None
    tolerance: float | None = None


SETTINGS = {
    "lox": _Settings("max_iterations", ("velocity_tolerance",), 500, 1e-4),
    "dvi": _Settings("max_alternating_iterations", ("tolerance",)),
    "padmm": _Settings("max_iterations", ("primal_tolerance", "dual_tolerance", "compl_tolerance")),
}


class NewtonKaminoBackend(NewtonBackend):
    """`num_envs` copies of one MJCF robot in Kamino.

    Args:
        spec: The scene.
        device: `"cpu"`, `"cuda"` or `"cuda:INDEX"`.
        allow: Warnings of the catalogue that are counted and are no fault.
        dynamics_solver: `"lox"`, `"dvi"` or `"padmm"`.
        max_iterations: Iterations of it at most; None: 500 of lox, of the others their own default.
        tolerance: At which residual it stops; None: 1e-4 m/s or rad/s of lox, of the others their own default.

    Raises:
        ValueError: The robot's file is not as `spec` says, or holds what Kamino cannot simulate; the message says what.
    """

    engine = "newton_kamino"
    convergence_settings = ("max_iterations", "tolerance")

    def __init__(
        self,
        spec: SceneSpec,
        device: str,
        *,
        allow: list[str] | None = None,
        dynamics_solver: str = "lox",
        max_iterations: int | None = None,
        tolerance: float | None = None,
    ) -> None:
        self._dynamics_solver = dynamics_solver
        self._max_iterations, self._tolerance = max_iterations, tolerance
        super().__init__(spec, device, allow)

    def _register(self, builder: Any) -> None:
        SolverKamino.register_custom_attributes(builder)

    def _config(self) -> Any:
        chosen = self._dynamics_solver
        config = SolverKamino.Config.from_model(self._model, dynamics_solver=chosen, use_collision_detector=True)
        config.rotation_correction = "continuous"  # set here: `from_model` prefers the model's own, which is another
        own, known = getattr(config, chosen), SETTINGS[chosen]
        if (limit := self._max_iterations or known.max_iterations) is not None:
            setattr(own, known.iterations, limit)
        if (tolerance := self._tolerance or known.tolerance) is not None:
            for name in known.tolerances:
                setattr(own, name, tolerance)
        config.collision_detector.max_contacts_per_world = self._spec.max_contacts + 1
        config.constraints.alpha = 1.0  # the part of a joint's error that dvi and padmm take back in a step
        config.lox.joint_max_correction = 0.1  # and how much of it lox may [m or rad]
        config.lox.min_joint_penalty_ratio = 1e3  # 100 by default, and five times the iterations after a reset
        return config

    def _make_solver(self) -> None:
        model, state, n = self._model, self._state, self.num_envs
        self.fault_bits = BITS
        if model.articulation_count != n:
            raise ValueError(f"{self._spec.mjcf}: newton_kamino needs a robot that is one tree, with one root")
        self._settings = self._config()
        self._solver = SolverKamino(model, config=self._settings)
        self._preserve = SolverKamino.ResetConfig.preserve()
        self._solver.reset(state, config=self._preserve)
        newton.eval_fk(model, state.joint_q, state.joint_qd, state)
        self._found = wp.zeros(n, dtype=wp.int32, device=model.device)
        contacts = self._solver._contacts_kamino  # None, or without data, where nothing can collide
        collides = contacts is not None and contacts.model_max_contacts_host > 0
        self._orders = self._elimination_orders()
        self._contact_counts = contacts.world_active_contacts if collides else wp.zeros_like(self._found)

    def _elimination_orders(self) -> Any:
        """Of each environment, whether lox' factorisation has an order of elimination from an earlier step.

        Kamino's reset keeps it, and another order rounds differently: rows would remember what they did before.
        """
        if self._dynamics_solver != "lox":
            return None
        factorisation = self._solver._solver_kamino._solver_fd._problem.system.linear_solver
        if factorisation is None or factorisation._rcm_scratch is None:  # nothing to factor, or never reordered
            return None
        return factorisation._rcm_scratch["permutation_valid"]

    def _allocate(self, scene: NewtonScene) -> None:
        super()._allocate(scene)
        self._root_body = self._array([0], wp.int32)
        self._root_coms = self._array(self._model.body_com.numpy()[:1], wp.vec3f)

    def _substep(self) -> Any:
        self._solver.step(self._state, self._state, self._control, None, self._spec.physics_dt)
        bits = (1 << UNCONVERGED, 1 << OVERFLOW)
        inputs = [self._solver.status, self._contact_counts, self._spec.max_contacts, *bits]
        self._launch(kernels.report_status, self.num_envs, inputs, [self._found])
        return self._found

    def _restart_rows(self, write: Callable[[Any, Any], None]) -> None:
        state, shape = self._state, self._joint_q.shape
        newton.eval_fk(self._model, state.joint_q, state.joint_qd, state, mask=self._world_mask[: self.num_envs])
        self._solver.reset(state, world_mask=self._world_mask, config=self._preserve)
        if self._orders is not None:
            self._launch(kernels.forget, self.num_envs, [self._world_mask], [self._orders])
        write(state.joint_q_prev.reshape(shape), self._joint_qd)
        write(self._joint_q, self._joint_qd)

    def _read_roots(self) -> None:
        """Off the bodies: in `joint_qd` Kamino puts another point's velocity than Newton's forward kinematics does."""
        inputs = [self._body_q, self._body_qd, self._root_body, self._root_coms]
        self._launch(kernels.read_links, (self.num_envs, 1), inputs, [self._root_pose, self._root_vel])

    def _solver_facts(self) -> dict[str, Any]:
        own, known = getattr(self._settings, self._dynamics_solver), SETTINGS[self._dynamics_solver]
        return {
            "dynamics_solver": self._dynamics_solver,
            "solver_iterations": getattr(own, known.iterations),
            "tolerance": getattr(own, known.tolerances[0]),
        }

    def _drop_solver(self) -> None:
        del self._solver

    def robot_facts(self) -> RobotFacts:
        """Read back from Kamino's model; see `SimBackend.robot_facts`."""
        model, kamino = self._solver._model_kamino, self._solver._kamino
        names = ("q_j_min", "q_j_max", "b_j", "a_j", "f_j")
        lower, upper, *rest = (getattr(model.joints, name).numpy() for name in names)
        limited = (lower > kamino.JOINT_QMIN) | (upper < kamino.JOINT_QMAX)
        dofs = {
            dof: Dof(
                (float(lower[dof]), float(upper[dof])) if limited[dof] else None, *(float(part[dof]) for part in rest)
            )
            for dof in self._scene.dofs
        }
        masses, coms, inertias = (getattr(model.bodies, name).numpy() for name in ("m_i", "i_r_com_i", "i_I_i"))
        bodies = {
            body: Body(float(masses[body]), coms[body], inertias[body]) for body in range(len(self._scene.body_names))
        }
        return robot_facts(self._spec, self._scene, dofs, bodies, model.gravity.vector.numpy()[0])
