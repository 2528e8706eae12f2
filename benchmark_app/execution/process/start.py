"""Starting the processes that a run's rows are split over."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmark_app.execution.cfg import ExecutionCfg, free_cores
from benchmark_app.execution.description import Board, split

from .link import ProcessLink

LogOf = Callable[[int], Path]
"""The file for the output of a process, by its number."""


def start(
    environments: Mapping[str, Any],
    num_envs: int,
    execution: ExecutionCfg,
    log_of: LogOf | None = None,
    beside: tuple[int, int] = (0, 1),
) -> list[ProcessLink]:
    """Start the processes, each with its share of the rows, and wait until all have built their environments.

    Args:
        environments: Keyword arguments of `hosting.make_host`, but for the rows.
        num_envs: Rows in all.
        execution: How many processes, and how.
        log_of: Files for their output.
        beside: Number of this process among those that do the same on this machine, and how many they are: no two of
            all their processes are kept to the same core.

    Raises:
        ValueError: There are fewer rows than processes.
        LinkError: A process died, or took too long; the others are ended.
        Exception: What building an environment raised.
    """
    cores = free_cores()
    shares = split(num_envs, execution.num_workers or min(len(cores), num_envs))
    # Two that were kept to one core would wait for each other while another core is idle.
    place, count = beside
    pinned = execution.pin and hasattr(os, "sched_setaffinity") and len(cores) >= len(shares) * count
    own = cores[place * len(shares) :]
    links: list[ProcessLink] = []
    # All map it, and it never has a name: it goes with the last of them.
    memory = _nameless_file()
    try:
        for number, share in enumerate(shares):
            links.append(
                ProcessLink(
                    {**environments, "rows": len(share), "first_row": share.start, "total_rows": num_envs},
                    memory,
                    number=number,
                    parts=len(shares),
                    where=f"environment process {number} (rows {share.start} to {share.stop - 1})",
                    python=execution.python,
                    cores=(own[number],) if pinned else (),
                    log=None if log_of is None else log_of(number),
                    timeout_s=execution.timeout_s,
                )
            )
        for link in links:
            link.opened(execution.start_timeout_s)
        described, parts = links[0].description, len(links)
        buffer = mmap.mmap(memory, Board.size(described, num_envs, parts))
        for number, (link, share) in enumerate(zip(links, shares, strict=True)):
            link.board = Board(described, num_envs, buffer, part=share, number=number, parts=parts)
    except BaseException:
        for link in links:
            link.close()
        raise
    finally:
        os.close(memory)
    return links


def _nameless_file() -> int:
    """A file in memory that has no name, open."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("environments", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
