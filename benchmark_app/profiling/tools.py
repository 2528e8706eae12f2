"""The profilers a run can be watched by (`profiling.tool`), and the files they leave beside the bundle."""

from __future__ import annotations

import os
import shutil
import sys

NONE, CPROFILE, TORCH, PY_SPY = "none", "cprofile", "torch", "py-spy"
TOOLS = (NONE, CPROFILE, TORCH, PY_SPY)

LOOPS = ("training", "play", "runtime")
"""The workflows with a loop to profile; start-up has a profiled pass of its own."""

_ENDINGS = {CPROFILE: "pstats", TORCH: "trace.json", PY_SPY: "speedscope.json"}

OUTSIDE = {
    # A step is one graph, of which only tracing by node shows anything. A worker ends without ceremony once its results
    # are on disk, so that what is traced must be saved meanwhile.
    "nsys": "nsys profile --trace=cuda,nvtx,osrt --cuda-graph-trace=node --cuda-flush-interval=100 --output=profile",
}
"""Profilers that wrap the whole run from outside, and how they are started; they follow the workers by themselves."""


def artefact(tool: str, workflow: str) -> str:
    """Name of the file a profiler leaves of a workflow, in the run's folder; "" where it leaves none.

    `cprofile`: `python -m pstats FILE`, or any viewer of it. `torch`: https://ui.perfetto.dev. `py-spy`:
    https://www.speedscope.app.
    """
    return f"{workflow}.{_ENDINGS[tool]}" if tool in _ENDINGS and workflow in LOOPS else ""


def py_spy() -> str | None:
    """The program py-spy: of the PATH, else of this interpreter's environment; None where there is none."""
    here = os.path.dirname(sys.executable)
    return shutil.which(PY_SPY) or shutil.which(PY_SPY, path=here)
