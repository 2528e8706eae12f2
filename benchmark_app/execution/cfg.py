"""Settings of where environments run. No torch here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module

LOCAL, PROCESS, SERVED = "local", "process", "served"
EXECUTIONS = (LOCAL, PROCESS, SERVED)
MOST_WORKERS = 1024
LONGEST_S = 86400.0
FACTORIES = "env_fns"
"""What a task of Gymnasium's environments offers in place of `load_env`."""


@dataclass(kw_only=True)
class ExecutionCfg:
    """`execution=`: where the environments run.

    Attributes:
        name: local, process or served.
        num_workers: Processes the rows are split over (process); None: one for each core this process may use.
        pin: Keep each of them to a core of its own, where there are enough (process).
        python: Interpreter to run the environments in (process, served); None: the worker's.
        address: HOST:PORT of a server that runs already (served).
        token_file: File with that server's token (served).
        start_timeout_s: Longest time until the environments are built [s].
        timeout_s: Longest time an answer may take [s].
    """

    name: str = LOCAL
    num_workers: int | None = None
    pin: bool = True
    python: str | None = None
    address: str | None = None
    token_file: str | None = None
    start_timeout_s: float = 600.0
    timeout_s: float = 120.0

    @property
    def parts(self) -> int:
        """Processes the rows are split over; 1 where they are together."""
        return (self.num_workers or 1) if self.name == PROCESS else 1

    @property
    def started(self) -> int:
        """Processes started for the environments; each has a log of its own."""
        return 0 if self.name == LOCAL or self.address is not None else self.parts

    @property
    def label(self) -> str:
        """What results are told apart by: `local`, `process:2`, `served`, `served:apart`.

        What a server uses that runs apart from the run is not counted as the run's.
        """
        if self.name == SERVED and self.address is not None:
            return f"{self.name}:apart"
        return f"{self.name}:{self.parts}" if self.name == PROCESS else self.name

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        if self.name not in EXECUTIONS:
            return [f"name={self.name}: must be one of {', '.join(EXECUTIONS)}"]
        found = []
        if self.num_workers is not None and not 1 <= self.num_workers <= MOST_WORKERS:
            found.append(f"num_workers={self.num_workers}: must be from 1 to {MOST_WORKERS}, or null")
        elif self.num_workers is not None and self.name != PROCESS:
            found.append(f"num_workers={self.num_workers}: execution={self.name} has no workers; leave it out")
        if self.python is not None and self.name == LOCAL:
            found.append(f"python={self.python}: execution=local has none; set execution=process or execution=served")
        for key in ("address", "token_file"):
            if (value := getattr(self, key)) is not None and self.name != SERVED:
                found.append(f"{key}={value}: execution={self.name} has none; set execution=served")
        if self.address is not None and self.name == SERVED:
            found += self._problems_of_address()
        for key in ("start_timeout_s", "timeout_s"):
            if not 0 < getattr(self, key) <= LONGEST_S:
                found.append(f"{key}={getattr(self, key)}: must be above 0, at most {LONGEST_S:g}")
        return found

    def _problems_of_address(self) -> list[str]:
        from .served.address import AddressError, parse_address

        if self.python is not None:
            return [f"python={self.python}: the server at execution.address runs already; leave one of them out"]
        try:
            parse_address(str(self.address), "address")
        except AddressError as error:
            return [str(error)]
        return []


def free_cores() -> list[int]:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def is_gymnasium(module: str) -> bool:
    """Whether a task gives factories of Gymnasium's environments, rather than a `TorchEnv`."""
    return hasattr(import_module(module), FACTORIES)
