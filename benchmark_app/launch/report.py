"""What a run or a sweep leaves beside its results for people, written by verbs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import benchmark_app

FILE = "report.html"
SUMMARY = "summary.json"
LONGEST_S = 120  # a sweep of thousands takes seconds; whatever takes longer hangs


def write_report(folder: Path) -> str:
    """Write `report.html` into a folder of results.

    In its own process, because this one stays light and must not fall with it.

    Returns:
        Why there is none, "" if there is.
    """
    reason, _ = _verb("report", str(folder), "-o", str(folder / FILE))
    return reason


def summarise(folder: Path) -> None:
    """Write the summary of a folder of repeated runs and print it, or say why there is none."""
    reason, said = _verb("summary", str(folder), "-o", str(folder / SUMMARY))
    if reason:
        print(f"benchmark_app: no summary was written: {reason}", file=sys.stderr)
    else:
        print(f"\n{said}".rstrip())


def _verb(*arguments: str) -> tuple[str, str]:
    """Run a verb.

    Returns:
        Why it failed, "" if it did not, and what it printed.
    """
    package = Path(benchmark_app.__file__).parent
    command = [sys.executable, "-P", "-m", "benchmark_app", *arguments]
    path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=LONGEST_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}", ""
    said = (done.stderr or done.stdout).strip().splitlines()
    if done.returncode == 0:
        return "", done.stdout
    return said[-1] if said else f"it ended with status {done.returncode}", ""


def tell(folder: Path) -> None:
    """Write the report of a folder and say where it is, or why there is none."""
    if reason := write_report(folder):
        print(f"benchmark_app: no report was written: {reason}", file=sys.stderr)
    else:
        shown = folder / FILE
        here = Path.cwd()
        print(f"  report    {shown.relative_to(here) if shown.is_relative_to(here) else shown}")
