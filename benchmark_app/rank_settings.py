"""What keeps several processes (ranks) from training one policy, said before anything is started. Light."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmark_app.journal.events import Scalar
from benchmark_app.settings import Settings

if TYPE_CHECKING:
    from benchmark_app.frameworks.mapping import Translation

MOST_RANKS = 64  # more devices than any one node has
NODES = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")  # how many nodes a job was given


def rank_facts(s: Settings) -> dict[str, Scalar]:
    """What a training on several ranks leaves in `extra`, under the names Isaac Lab uses; nothing where there is one.

    Rank 0 reports. Its work is counted for all, since the ranks go in step: environments, frames and rates are those of
    all ranks. Times, episodes, CPU and memory are rank 0's own.
    """
    if s.distributed.nproc == 1:
        return {}
    return {
        "distributed": True,
        "world_size": s.distributed.nproc,
        "local_world_size": s.distributed.nproc,
        "num_nodes": 1,
        "num_envs_per_rank": s.num_envs,
        "workload_scope": "global",
        "measurement_scope": "rank0_process",
        "gpu_measurement_scope": "rank0_node",
    }


def rank_problems(s: Settings) -> list[str]:
    """What keeps several ranks from being started, whatever the library."""
    if s.distributed.nproc == 1:
        return []
    shown = f"distributed.nproc={s.distributed.nproc}"
    if "training" not in s.workflow.steps:
        return [f"{shown}: only training has ranks, workflow={s.workflow.name} does not train; leave it out"]
    if s.device.startswith("cuda:"):
        return [f"{shown}: rank r takes device cuda:r; set device=cuda"]
    for variable in NODES:
        if (nodes := os.environ.get(variable, "1")) != "1":
            return [f"{shown}: ranks on several nodes are not supported ({variable}={nodes}); ask for one node"]
    if s.worker.debug:
        return [f"{shown}: worker.debug=true attaches one process to the terminal; set distributed.nproc=1"]
    return []


def library_rank_problems(s: Settings, translation: Translation) -> list[str]:
    """What keeps this library from training one policy on several ranks."""
    if s.distributed.nproc == 1:
        return []
    shown = f"distributed.nproc={s.distributed.nproc}"
    # A library of a user's own need not know of ranks.
    where = getattr(translation, "DISTRIBUTED", {}).get(s.agent.algorithm)
    if where is None:
        return [
            f"{shown}: {s.framework.name} cannot train {s.agent.algorithm} on several ranks; set distributed.nproc=1"
        ]
    if where == "cuda" and s.device == "cpu":
        return [
            f"{shown}: {s.framework.name} connects its ranks by NCCL, which needs a CUDA device for each; set "
            "distributed.nproc=1 on a CPU"
        ]
    return []
