"""Jobs of submitit's that outlive their launcher, which stops waiting for all of them at the first that fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from benchmark_app.launch.slurm import queued

PICKLE = "_submitted.pkl"
"""submitit leaves one for every job, named by its id."""


def jobs_go_on(launcher: Mapping[str, Any]) -> bool:
    """Whether a job that this launcher started is still waiting, running or queued again.

    Args:
        launcher: Its configuration.
    """
    folder = launcher.get("submitit_folder")
    if folder is None:
        return False
    pattern = Path(str(folder).replace("%j", "*"), f"*{PICKLE}")
    jobs = {
        path.name.removesuffix(PICKLE) for path in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
    }
    if str(launcher["_target_"]).endswith("SlurmLauncher"):
        return bool(queued(jobs))
    return any(_is_controller(int(job)) for job in jobs)


def _is_controller(pid: int) -> bool:
    """Whether a process is submitit's own that runs a job on this machine; its id is the job's."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and "submitit.local._local" in process.cmdline()
    except psutil.Error:
        return False
