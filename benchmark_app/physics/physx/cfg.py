"""Settings of PhysX's engines. This module is light: no PhysX is imported for it."""

from __future__ import annotations

from dataclasses import dataclass

from ..cfg import EngineCfg, at_least, one_of


@dataclass(kw_only=True)
class PhysxCfg(EngineCfg):
    """How PhysX solves, wherever it runs.

    Attributes:
        solver_type: `"pgs"`, the default, takes a physics step as one: a first-order integrator that agrees with
            MuJoCo's `implicitfast` to five digits where nothing touches. `"tgs"` splits it into as many as there are
            position iterations, and its joint velocities then lag behind by part of a step.
        position_iterations: Solver iterations of each physics step; they matter to contacts.
        velocity_iterations: Likewise.
    """

    solver_type: str = "pgs"
    position_iterations: int = 4
    velocity_iterations: int = 1

    def problems(self) -> list[str]:
        """A solver PhysX does not have, or iterations outside its range."""
        found = super().problems() + one_of("solver_type", self.solver_type, ("pgs", "tgs"))
        for name, least in (("position_iterations", 1), ("velocity_iterations", 0)):
            value = getattr(self, name)
            if not least <= value <= 255:
                found.append(f"{name}={value}: must be from {least} to 255")
        return found


@dataclass(kw_only=True)
class OvphysxCfg(PhysxCfg):
    """`physics=ovphysx`.

    Attributes:
        num_threads: Threads PhysX takes beside the caller's; small robots are fastest with none.
    """

    num_threads: int = 0

    def problems(self) -> list[str]:
        """As of PhysX, or a negative number of threads."""
        return super().problems() + at_least("num_threads", self.num_threads, 0)


@dataclass(kw_only=True)
class IsaacSimCfg(PhysxCfg):
    """`physics=physx`."""
