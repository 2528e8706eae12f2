"""From many bundles to a decision: loading, statistics, compare, report, export. It imports no engine and no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark_app.analysis.loading import Results, load

__all__ = ["Results", "load"]


def __getattr__(name: str) -> Any:
    """Import the table's library with the first use only: the verbs' `--help` needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.loading"), name)
