"""How long it takes from process spawn to the first step."""

from __future__ import annotations

import time

from benchmark_app.journal.events import Finished

from .session import Session


def run(session: Session) -> None:
    """Go through the start-up phases and no further."""
    session.open(with_framework=False)
    session.journal.append(Finished(t=time.monotonic(), outcome="budget"))
