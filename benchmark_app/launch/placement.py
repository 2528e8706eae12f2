"""Parallel runs on one machine: each has cores and GPUs of its own, or they would measure each other.

Places are handed out by file locks in the sweep's folder, which the kernel takes back from a process that dies. A run
waits in line until there is room for it, so a launcher that starts everything at once cannot crowd the machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from benchmark_app.journal.events import Scalar
from benchmark_app.physics.catalogue import ENGINES
from benchmark_app.profiling.host import gpu
from benchmark_app.settings import SettingError, Settings

FOLDER = ".places"
VISIBLE = "CUDA_VISIBLE_DEVICES"
POLL_S = 0.1
JOBLIB, RAY, LOCAL = "JoblibLauncher", "RayLauncher", "LocalLauncher"  # the last is submitit's, on this machine


class StoppedWaitingError(Exception):
    """The run was asked to stop while it waited for a place."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What one run takes.

    Attributes:
        cores: How many.
        gpus: How many.
        gpu: Which, where `device=cuda:N` names it; None where any will do.
    """

    cores: int
    gpus: int = 0
    gpu: int | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the runs of a sweep share.

    Attributes:
        cores: Numbers of the cores this process may use.
        gpus: UUIDs of the GPUs it may use, in the order CUDA numbers them.
        folder: Where the locks lie.
        oversubscribed: More runs go on at once than there is room for, because the user asked for it: no places are
            handed out then.
    """

    cores: tuple[int, ...]
    gpus: tuple[str, ...]
    folder: str
    oversubscribed: bool = False


def shared_machine(
    launcher: Mapping[str, Any], runs: Sequence[Settings], sweep: Path, *, oversubscribe: bool
) -> Machine | None:
    """The machine that parallel runs are to share, looked at before any of them starts.

    Args:
        launcher: Configuration of the launcher.
        runs: Settings of the runs.
        sweep: The sweep's folder.
        oversubscribe: Let there be more runs at once than the machine has room for.

    Returns:
        None where runs are not side by side on this machine, or something else (SLURM, a cluster of ray's) places them.

    Raises:
        SettingError: There is no room for so many at once, or not even for one.
    """
    kind = str(launcher["_target_"]).rpartition(".")[2]
    if kind not in (JOBLIB, RAY, LOCAL) or (kind == RAY and launcher["ray"]["init"].get("address")) or not runs:
        return None
    folder = sweep / FOLDER / socket.gethostname()
    machine = Machine(cores=tuple(sorted(os.sched_getaffinity(0))), gpus=visible_gpus(), folder=str(folder))
    setting, asked = _at_once(kind, launcher)
    needs = [need(settings, machine) for settings in runs]
    cores, gpus = max(each.cores for each in needs), max(each.gpus for each in needs)
    room = min(len(machine.cores) // cores, len(machine.gpus) // gpus if gpus else len(runs))
    started = min(asked or len(runs), len(runs))
    if oversubscribe:
        return Machine(**{**vars(machine), "oversubscribed": started > room})
    have = _counted(len(machine.cores), "core") + (f" and {_counted(len(machine.gpus), 'GPU')}" if gpus else "")
    each = f"a run takes {_counted(cores, 'core')}" + (f" and {_counted(gpus, 'GPU')}" if gpus else "")
    if room == 0:
        largest = max(runs, key=lambda run: need(run, machine).cores)
        asks = f"threads={largest.threads}, distributed.nproc={largest.distributed.nproc}, device={largest.device}"
        if largest.execution.parts > 1:
            asks += f", execution.num_workers={largest.execution.parts}"
        raise SettingError(f"{asks}: {each}, and there are {have}; ask for less")
    if asked and started > room:
        raise SettingError(
            f"{setting}={asked}: {each}, and there are {have}, so more than {room} at once would falsify each other's "
            f"times; set it to {room}, or sweep.oversubscribe=true"
        )
    return machine


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _at_once(kind: str, launcher: Mapping[str, Any]) -> tuple[str, int | None]:
    """The setting that says how many runs a launcher starts at once, and its value; None where it is left to us."""
    if kind == JOBLIB:
        jobs = int(launcher["n_jobs"])
        return "hydra.launcher.n_jobs", jobs if jobs > 0 else None
    if kind == RAY and (slots := launcher["ray"]["init"].get("num_cpus")):
        return "hydra.launcher.ray.init.num_cpus", int(slots // (launcher["ray"]["remote"].get("num_cpus") or 1))
    return "", None


def visible_gpus() -> tuple[str, ...]:
    """UUIDs of the GPUs that `CUDA_VISIBLE_DEVICES` leaves; numbers in it count as NVML does, by bus."""
    uuids = [str(device["uuid"]) for device in gpu.devices()]
    if (listed := os.environ.get(VISIBLE)) is None:
        return tuple(uuids)
    found = []
    for entry in filter(None, (text.strip() for text in listed.split(","))):
        if entry.isdecimal():
            named = uuids[int(entry) : int(entry) + 1]
        else:  # a UUID may be shortened; parts of a GPU (MIG) are not among the devices and stand for themselves
            named = [uuid for uuid in uuids if uuid.startswith(entry)] or ([entry] if entry.startswith("MIG-") else [])
        if not named:
            break  # as CUDA reads it: what follows an entry that is none is not there either
        found += named
    return tuple(found)


def need(settings: Settings, machine: Machine) -> Need:
    """What a run takes of a machine."""
    ranks, device = settings.distributed.nproc, settings.device
    cores = max(settings.threads, settings.execution.parts) * ranks
    if device == "auto":
        device = "cuda" if machine.gpus and "cuda" in ENGINES[settings.physics.name].capabilities.devices else "cpu"
    if device == "cpu":
        return Need(cores=cores)
    number = device.partition(":")[2]
    return Need(cores=cores, gpus=ranks, gpu=int(number) if number else None)


@contextlib.contextmanager
def placed(machine: Machine | None, settings: Settings, stopped: Callable[[], bool]) -> Iterator[dict[str, Scalar]]:
    """Hold a place for a run: this process, and the workers it starts meanwhile, keep to its cores and GPUs.

    Args:
        machine: What is shared; None where nothing is.
        settings: Settings of the run.
        stopped: Whether waiting has become pointless.

    Yields:
        What the bundle's `extra` says about it.

    Raises:
        StoppedWaitingError: It became pointless.
    """
    if machine is None:
        yield {}
        return
    if machine.oversubscribed:
        yield {"oversubscribed": True}
        return
    with _place(machine, need(settings, machine), stopped) as (cores, gpus):
        affinity, visible = os.sched_getaffinity(0), os.environ.get(VISIBLE)
        os.sched_setaffinity(0, cores)
        # Under device=cuda:N the number must go on meaning the same device.
        if gpus and ":" not in settings.device:
            os.environ[VISIBLE] = ",".join(gpus)
        elif gpus:
            os.environ[VISIBLE] = ",".join(machine.gpus)
        try:
            facts: dict[str, Scalar] = {"oversubscribed": False, "cores": ",".join(map(str, cores))}
            yield {**facts, **({"gpu_uuids": ",".join(gpus)} if gpus else {})}
        finally:
            os.sched_setaffinity(0, affinity)
            os.environ.pop(VISIBLE, None)
            if visible is not None:
                os.environ[VISIBLE] = visible


def clear(machine: Machine | None) -> None:
    """Take away the locks, once all runs have ended."""
    if machine is not None:
        shutil.rmtree(Path(machine.folder).parent, ignore_errors=True)


@contextlib.contextmanager
def _place(
    machine: Machine, wanted: Need, stopped: Callable[[], bool]
) -> Iterator[tuple[Sequence[int], Sequence[str]]]:
    folder = Path(machine.folder)
    folder.mkdir(parents=True, exist_ok=True)
    gpus = machine.gpus if wanted.gpu is None else machine.gpus[wanted.gpu : wanted.gpu + 1]
    with contextlib.ExitStack() as held:
        # Whoever is first in line waits for room; the others for their turn. So a run that needs much is not passed
        # over for ever, and two that hold half of what they need cannot wait for each other.
        with contextlib.ExitStack() as line:
            _wait(lambda: _take(line, folder, ["line"], 1), stopped)
            cores = _wait(lambda: _take(held, folder, machine.cores, wanted.cores), stopped)
            # A device=cuda:N that is not there is for the worker to refuse.
            mine = _wait(lambda: _take(held, folder, gpus, min(wanted.gpus, len(gpus))), stopped)
        yield cores, mine


def _take(held: contextlib.ExitStack, folder: Path, names: Sequence[Any], count: int) -> list[Any] | None:
    """Lock so many of these; all or none."""
    with contextlib.ExitStack() as locks:
        taken: list[Any] = []
        for name in names:
            if len(taken) == count:
                break
            lock = FileLock(folder / f"{name}.lock")
            with contextlib.suppress(Timeout):
                lock.acquire(blocking=False)
                locks.callback(lock.release)
                taken.append(name)
        if len(taken) < count:
            return None
        held.push(locks.pop_all())
        return taken


def _wait(attempt: Callable[[], list[Any] | None], stopped: Callable[[], bool]) -> list[Any]:
    while (taken := attempt()) is None:
        if stopped():
            raise StoppedWaitingError
        time.sleep(POLL_S)
    return taken
