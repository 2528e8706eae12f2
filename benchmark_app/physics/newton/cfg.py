"""Settings of Newton's engines. This module is light: Newton is not imported for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..cfg import EngineCfg, at_least, one_of


@dataclass(kw_only=True)
class MjwarpCfg(EngineCfg):
    """`physics=newton_mjwarp`.

    Attributes:
        integrator: MuJoCo's integrator, whatever the robot's file says.
        iterations: Constraint solver iterations at most; None: what the robot's file says.
        ls_iterations: Line search iterations at most; None: what the robot's file says.
        cone: Friction cone of contacts.
    """

    integrator: str = "implicitfast"
    iterations: int | None = None
    ls_iterations: int | None = None
    cone: str = "elliptic"

    def problems(self) -> list[str]:
        """An integrator or a cone the solver does not have, or too few iterations."""
        return [
            *super().problems(),
            *one_of("integrator", self.integrator, ("implicitfast", "euler")),
            *at_least("iterations", self.iterations, 1),
            *at_least("ls_iterations", self.ls_iterations, 1),
            *one_of("cone", self.cone, ("elliptic", "pyramidal")),
        ]


@dataclass(kw_only=True)
class KaminoCfg(EngineCfg):
    """`physics=newton_kamino`.

    Attributes:
        dynamics_solver: What solves for the constraint forces.
        max_iterations: Iterations of it at most; None: 500 of lox, of the others their own default.
        tolerance: Residual at which it stops; None: 1e-4 m/s or rad/s of lox, of the others their own default.
    """

    dynamics_solver: str = "lox"
    max_iterations: int | None = None
    tolerance: float | None = None

    def problems(self) -> list[str]:
        """A solver Kamino does not have, too few iterations, or a tolerance nothing can reach."""
        found = super().problems() + one_of("dynamics_solver", self.dynamics_solver, ("lox", "dvi", "padmm"))
        found += at_least("max_iterations", self.max_iterations, 1)
        if self.tolerance is not None and not (math.isfinite(self.tolerance) and self.tolerance > 0):
            found.append(f"tolerance={self.tolerance}: must be a number greater than 0")
        return found
