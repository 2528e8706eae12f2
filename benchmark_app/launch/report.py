"""The report a run or a sweep leaves beside its results, written by the verb `report` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import benchmark_app

FILE = "report.html"
LONGEST_S = 120  # a sweep of thousands takes seconds; whatever takes longer hangs


def write_report(folder: Path) -> str:
    """Write `report.html` into a folder of results.

    In its own process, because this one stays light and must not fall with it.

    Returns:
        Why there is none, "" if there is.
    """
    package = Path(benchmark_app.__file__).parent
    command = [sys.executable, "-P", "-m", "benchmark_app", "report", str(folder), "-o", str(folder / FILE)]
    path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=LONGEST_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"
    said = (done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else (said[-1] if said else f"it ended with status {done.returncode}")


def tell(folder: Path) -> None:
    """Write the report of a folder and say where it is, or why there is none."""
    if reason := write_report(folder):
        print(f"benchmark_app: no report was written: {reason}", file=sys.stderr)
    else:
        shown = folder / FILE
        here = Path.cwd()
        print(f"  report    {shown.relative_to(here) if shown.is_relative_to(here) else shown}")
