"""Two engines on the same task: the same initial states and recorded actions, and how far they come apart.

Each worker process of the workflow rolls one engine out and leaves a trace file; the last one compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark_app.workflows.session import Session


def run(session: Session) -> None:
    """Do one part: `reference`, `reference.half_step`, `physics`, `physics.half_step` or `compare`."""
    if session.part == "compare":
        from .compare import compare

        compare(session)
    else:
        from .trace import trace

        trace(session)
