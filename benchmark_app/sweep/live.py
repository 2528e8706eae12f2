"""How far a run has come and how fast it is, from the journals it is writing."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_app.launch.run_directory import JOURNAL

CHUNK = 2**16
"""Bytes looked at, of the beginning and of the end: a long training's journal has many megabytes."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands.

    Attributes:
        workflow: What it is doing; "" before it began.
        done: Iterations, steps or episodes that are done.
        total: Iterations there will be; None where that is not known.
        steps_per_s: Environment steps per second, lately; None before there are two measurements.
    """

    workflow: str = ""
    done: int = 0
    total: int | None = None
    steps_per_s: float | None = None

    def __str__(self) -> str:
        if not self.workflow:
            return "starting"
        done = f"{self.done}/{self.total}" if self.total else str(self.done)
        rate = "" if self.steps_per_s is None else f", {self.steps_per_s:,.0f} steps/s"
        return f"{self.workflow} {done}{rate}" if self.done else f"{self.workflow} starting"


def progress_of(run: Path) -> Progress:
    """Where the run in a folder stands."""
    journals = sorted(run.joinpath(JOURNAL).glob("*.supervisor.jsonl"), key=_written)
    if not journals:
        return Progress()
    workflow = journals[-1].name.partition(".")[0]
    plan = next((event for event in _lines(journals[-1], first=True) if event.get("kind") == "run_planned"), {})
    workers = sorted(run.joinpath(JOURNAL).glob(f"{workflow}.*worker.jsonl"), key=_written)
    events = _lines(workers[-1]) if workers else []
    done = 0
    moments: list[tuple[float, int]] = []
    for event in events:
        match event:
            case {"kind": "iteration", "index": int(index), "t": float(t), "frames": int(frames)}:
                done = index + 1
                moments.append((t, frames))
            case {"kind": "steps", "first_index": int(index), "t": float(t), "step_s": list(steps)}:
                done = index + len(steps)
                counted = event.get("frames") or [int(plan.get("num_envs", 0))] * len(steps)
                moments.append((t, sum(counted)))
    rate = None
    if len(moments) > 1 and moments[-1][0] > moments[0][0]:
        rate = sum(frames for _, frames in moments[1:]) / (moments[-1][0] - moments[0][0])
    return Progress(workflow=workflow, done=done, total=plan.get("max_iterations"), steps_per_s=rate)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _lines(path: Path, *, first: bool = False) -> list[dict[str, Any]]:
    """The events in the last `CHUNK` bytes of a journal, or in the first ones; what is cut off is left out."""
    try:
        with path.open("rb") as file:
            if not first:
                file.seek(max(0, os.fstat(file.fileno()).st_size - CHUNK))
            lines = file.read(CHUNK).splitlines()
    except OSError:
        return []
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # cut off
        if isinstance(event, dict):
            events.append(event)
    return events
