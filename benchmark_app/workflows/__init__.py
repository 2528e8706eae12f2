"""What is run, and which events it leaves. Importing this package imports neither torch nor an engine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session


class RefusedError(Exception):
    """The worker's own checks found a setting it cannot run with; one line names it and what to type instead."""


def _workflow(name: str) -> Callable[[Session], None]:
    def run(session: Session) -> None:
        import_module(f"benchmark_app.workflows.{name}").run(session)

    return run


WORKFLOWS = {name: _workflow(name) for name in ("startup", "runtime", "training", "play", "equivalence", "video")}
