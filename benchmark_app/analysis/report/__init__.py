"""One self-contained HTML file from many bundles."""

from __future__ import annotations

from pathlib import Path

from benchmark_app.analysis.files import write_file
from benchmark_app.analysis.history import History
from benchmark_app.analysis.report.page import render_page
from benchmark_app.analysis.report.payload import Selection, build_payload, select_runs

__all__ = ["Selection", "select_runs", "write_report"]


def write_report(
    selection: Selection, output: Path, *, title: str, command: str, history: History | None = None
) -> None:
    """Write the report of some runs, replacing an older one in one step.

    Args:
        selection: The runs; not empty.
        output: The HTML file. Links to bundles and logs are relative to its folder.
        title: Heading of the report.
        command: The line that makes it, shown in it.
        history: Results by commit, to be drawn as well.

    Raises:
        OSError: The file cannot be written; an older one is intact.
    """
    payload = build_payload(selection, folder=output.parent, title=title, command=command, history=history)
    write_file(output, render_page(payload))
