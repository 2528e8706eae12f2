"""What engines say, or count, that means wrong physics. Plain data: nothing is imported for it.

A pattern is a whole phrase of the engine's own source, with a number where the message has one, so that neither a
library that speaks of an overflow nor a traceback that shows the engine's source is mistaken for the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EngineWarning:
    """Something an engine says, or counts, that means wrong physics.

    Attributes:
        meaning: What went wrong, in a few words.
        pattern: Regular expression that finds it in a line of the engine's output; None where only the engine's own
            counters tell.
    """

    meaning: str
    pattern: str | None = None


def _any_of(*phrases: str) -> str:
    return "|".join(phrases)


_OVERFLOWED = "contacts were dropped for want of room"
_NO_ROOM = "constraints were dropped for want of room"
_UNSOLVED = "the constraint solver stopped before it had converged"
_INERTIA = "a mass or an inertia was not physical and was replaced"

# Newton checks inertias in Python (newton/_src/geometry/inertia.py and ModelBuilder.finalize).
_NEWTON_INERTIA = r"NewtonWarning: " + "(?:{})".format(
    _any_of(
        r"Inertia validation corrected \d",
        r"NaN/Inf detected in mass or inertia",
        r"Negative mass \S+ detected",
        r"Mass \S+ is below bound",
        r"Zero mass body.{0,300}? should have zero inertia",
        r"Inertia matrix.{0,300}? is not symmetric",
        r"Eigenvalues below threshold detected",
        r"Minimum eigenvalue \S+ is below bound",
        r"Failed to compute eigenvalues (?:for|of) inertia",
        r"Inertia tensor.{0,300}? violates triangle inequality",
        r"Corrected inertia matrix.{0,300}? is not positive definite",
    )
)

# Newton's own collision pipeline (newton/_src/geometry/narrow_phase.py, sdf_hydroelastic.py).
_NEWTON_CONTACTS = _any_of(
    r"Warning: [\w -]{1,60} buffer overflowed \d+ > \d",
    r"Warning: Contact reduction (?:hashtable insert failures|buffer overflowed;) \d",
    r"\[hydroelastic\] [\w ]{1,60} overflow: \d+ > \d",
    r"\[hydroelastic\] reduction hashtable full: \d",
)

NEWTON_MJWARP: Mapping[str, EngineWarning] = {
    "contact_overflow": EngineWarning(
        meaning=_OVERFLOWED,
        pattern=_any_of(
            # mujoco_warp/_src/forward.py, collision_convex.py, collision_flex.py, collision_gjk.py
            r"(?:broadphase|narrowphase) overflow - please increase nconmax beyond \d",
            r"CCD overflow - please increase naccdmax beyond \d",
            r"height field collision overflow, number of collisions >= \d",
            r"(?:flex candidate|Flex SAP buffer) overflow - please increase naconmax beyond \d",
            r"Warning: EPA horizon = \d+ isn't large enough",
            # newton/_src/solvers/mujoco/kernels.py
            r"Number of Newton contacts \(\d+\) exceeded MJWarp limit \(\d",
            _NEWTON_CONTACTS,
        ),
    ),
    "constraint_overflow": EngineWarning(
        meaning=_NO_ROOM,
        pattern=_any_of(
            # mujoco_warp/_src/forward.py, island.py
            r"nefc overflow - please increase njmax beyond \d",
            r"njmax_nnz overflow - please increase njmax_nnz beyond \d",
            r"nvmax overflow: world \d+ needs \d",
        ),
    ),
    "no_convergence": EngineWarning(meaning=_UNSOLVED),  # counted; what the solver would print of it is switched off
    "invalid_inertia": EngineWarning(meaning=_INERTIA, pattern=_NEWTON_INERTIA),
}

NEWTON_KAMINO: Mapping[str, EngineWarning] = {
    "contact_overflow": EngineWarning(
        meaning=_OVERFLOWED,
        pattern=_any_of(
            # newton/_src/solvers/kamino/_src/geometry/contacts.py
            r"Warning: Kamino (?:per-world|model) contact capacity exceeded",
            _NEWTON_CONTACTS,
        ),
    ),
    "constraint_overflow": EngineWarning(
        meaning=_NO_ROOM,
        # newton/_src/solvers/kamino/_src/linalg/conjugate_fused.py
        pattern=r"\[kamino fused CR\] WARNING: constraint row \d+ has more than \d",
    ),
    "no_convergence": EngineWarning(meaning=_UNSOLVED),  # counted; what the solver would print of it is switched off
    "invalid_inertia": EngineWarning(meaning=_INERTIA, pattern=_NEWTON_INERTIA),
}

# Messages compiled into libovphysx.so and libPhysXGpu_64.so of ovphysx 0.7; PhysX inside Isaac Sim is the same code.
PHYSX: Mapping[str, EngineWarning] = {
    "contact_overflow": EngineWarning(
        meaning=_OVERFLOWED,
        pattern=_any_of(
            r"(?:Contact|Patch|Force|Friction patch) buffer overflow detected, please increase its size",
            r"PxGpuDynamicsMemoryConfig::\w+ buffer overflow detected, please increase its size to at least \d",
            r"PxGpuDynamicsMemoryConfig::\w+(?: buffers)? to \d+ ?, otherwise, the simulation will miss interactions",
            r"Dropping contacts in (?:contact reduction due to|solver because we|sphere vs mesh:)",
            r"Attempting to allocate more than 16K of (?:contact|friction) data",
            r"ran out of buffer space for narrow phase\. Either accept",
            r"out-of-range broadphase volume id \(\d",
        ),
    ),
    "constraint_overflow": EngineWarning(
        meaning=_NO_ROOM, pattern=r"ran out of buffer space for constraint prep\. Either accept"
    ),
    "invalid_inertia": EngineWarning(
        meaning=_INERTIA,
        pattern=_any_of(
            r"has a possibly invalid inertia tensor of \{",
            r"setting mass to 1 and inertia to \(1,1,1\)",
            r"inertia tensor has negative components",
            r"computed mass inertia tensor on a prim \(.{0,300}?\) does have a negative",
            r"with zero moment of inertia added to scene; defaulting inertia",
            r"setMassSpaceInertiaTensor\(\): (?:components must be|invalid inertia)",
        ),
    ),
    "invalid_scene": EngineWarning(
        meaning="settings of the scene were not usable and defaults were taken",
        pattern=r"PhysicsScene does have invalid parameters, falling back to default",
    ),
    "cpu_fallback": EngineWarning(
        meaning="the GPU had no room and the CPU simulates",
        pattern=r"Not enough GPU memory available to create a PhysicsScene, falling back",
    ),
}
