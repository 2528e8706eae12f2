"""What SLURM knows about a job: read inside it when it starts, and from the accounting when it has ended."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterable

from benchmark_app.journal.events import Scalar

TIMEOUT_S = 30.0
# Fields of `scontrol show job` that say what was asked for and given.
ALLOCATION = {"TimeLimit": "time_limit", "TRES": "allocation", "SubmitTime": "submitted", "StartTime": "started"}
# Fields of `sacct`, every one of them in all versions since 2019.
ACCOUNTED = ("JobID", "State", "ExitCode", "Start", "End", "ElapsedRaw", "TotalCPU", "MaxRSS", "NodeList", "AllocTRES")


@functools.cache
def job_facts() -> dict[str, Scalar]:
    """What the bundle's `extra` says about the job this process is in; empty outside of SLURM."""
    variables = os.environ
    if "SLURM_JOB_ID" not in variables:
        return {}
    number, task = variables.get("SLURM_ARRAY_JOB_ID"), variables.get("SLURM_ARRAY_TASK_ID")
    facts: dict[str, Scalar] = {
        "slurm.job_id": variables["SLURM_JOB_ID"] if number is None else f"{number}_{task}",
        "slurm.restarts": int(variables.get("SLURM_RESTART_COUNT", 0)),
    }
    for variable, name in (
        ("SLURMD_NODENAME", "node"),
        ("SLURM_CLUSTER_NAME", "cluster"),
        ("SLURM_JOB_PARTITION", "partition"),
        ("SLURM_JOB_ACCOUNT", "account"),
        ("SLURM_JOB_QOS", "qos"),
        ("SLURM_CPUS_ON_NODE", "cpus"),
        ("SLURM_JOB_GPUS", "gpus"),
    ):
        if value := variables.get(variable):
            facts[f"slurm.{name}"] = int(value) if name == "cpus" else value
    shown = dict(
        word.partition("=")[::2] for word in _ask("scontrol", "show", "job", "-o", variables["SLURM_JOB_ID"]).split()
    )
    return facts | {f"slurm.{name}": shown[field] for field, name in ALLOCATION.items() if field in shown}


def accounting(jobs: Iterable[str]) -> dict[str, dict[str, str]]:
    """What the accounting says about jobs that have ended.

    Args:
        jobs: Their ids, `12` or `12_3` for a task of an array.

    Returns:
        Job → fields of `sacct` by their names there; those of its steps that a job itself has not (`MaxRSS`) are the
        largest step's. A job the accounting does not know is left out, and all are where there is none.
    """
    wanted = sorted(set(jobs))
    if not wanted:
        return {}
    text = _ask("sacct", "--noheader", "--parsable2", f"--format={','.join(ACCOUNTED)}", f"--jobs={','.join(wanted)}")
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        row = dict(zip(ACCOUNTED, line.split("|"), strict=False))
        job, _, step = row.pop("JobID", "").partition(".")
        if not step:
            found[job] = row
        elif job in found and _kib(row["MaxRSS"]) > _kib(found[job]["MaxRSS"]):
            found[job]["MaxRSS"] = row["MaxRSS"]
    return {job: {name: value for name, value in row.items() if value} for job, row in found.items()}


def queued(jobs: Iterable[str]) -> set[str]:
    """Which of these jobs SLURM still runs or is going to run, such as one it queued again because its node died."""
    listed = ",".join(sorted(set(jobs)))
    return set(_ask("squeue", "--noheader", "--array", "--format=%i", f"--jobs={listed}").split()) if listed else set()


def _kib(text: str) -> float:
    """`MaxRSS` as a number: `1234K`, `5.5M`."""
    if not text:
        return -1.0
    scale = {"K": 1.0, "M": 2.0**10, "G": 2.0**20}.get(text[-1])
    return float(text[:-1]) * scale if scale else float(text) / 2**10


def _ask(*command: str) -> str:
    """Output of one of SLURM's commands; "" where it is not here or does not answer: facts are worth no failed run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
