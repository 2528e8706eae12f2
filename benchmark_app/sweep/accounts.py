"""What SLURM's accounting says about a sweep's jobs, once they have ended."""

from __future__ import annotations

import json
import time
from pathlib import Path

from benchmark_app.launch.run_directory import MANIFEST
from benchmark_app.launch.slurm import accounting

from .record import Record

SETTLE_S = 10.0
"""A job's end reaches the accounting a moment after its results are written."""
GOING_ON = ("", "PENDING", "RUNNING", "COMPLETING", "REQUEUED", "RESIZING", "SUSPENDED")


def add_accounting(record: Record, sweep: Path) -> None:
    """Put what `sacct` says about the job of every run's newest attempt into the record.

    Args:
        record: The sweep's record, its runs ended.
        sweep: The sweep's folder.
    """
    jobs = {job: entry for entry in record.current if entry.run and (job := job_of(sweep / entry.run))}
    deadline = time.monotonic() + SETTLE_S
    while jobs:
        said = accounting(jobs)
        settled = all(fields.get("State", "") not in GOING_ON for fields in said.values())
        if settled or time.monotonic() > deadline:
            for job, fields in said.items():
                jobs[job].job = {"JobID": job, **fields}
            return
        time.sleep(0.5)


def job_of(run: Path) -> str:
    """Id of the job that made a run, "" if none did."""
    try:
        manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
        return str(manifest["job"]["slurm.job_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
