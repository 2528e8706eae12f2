"""Two engines on the same task: the same initial states and recorded actions, and how far they come apart.

Each worker process of the workflow rolls one engine out and leaves a trace file; the last one compares them.
"""

from __future__ import annotations

import re
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

        try:
            trace(session)
        except Exception as error:
            if session.part.startswith("reference"):
                error.args = tuple(_of_reference(each) for each in error.args)
            raise


def _of_reference(said: object) -> object:
    """An engine knows its settings by `physics.NAME`; those of the reference engine are called otherwise."""
    return re.sub(r"(?<![\w./])physics\.(?=\w)", "reference_physics.", said) if isinstance(said, str) else said
