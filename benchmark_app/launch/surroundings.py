"""What the supervisor measures around the workers of a workflow: the machine's conditions, and what they use of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Sequence
from typing import Any

from benchmark_app.journal import Event
from benchmark_app.journal.events import Conditions, ResourceSample, WorkerExited, WorkerFacts
from benchmark_app.profiling.host import conditions, gpu, other_load, rules
from benchmark_app.profiling.host.cgroup import OomWatch
from benchmark_app.profiling.host.resources import ResourceSampler
from benchmark_app.settings import Settings

from .placement import visible_gpus
from .ranks import Ended

GPU_WINDOW_S = 1.0  # NVML tells the load of at most so long ago
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)  # the second through a shell


class Surroundings:
    """Watches one workflow from before its first worker to after its last.

    Args:
        settings: Settings of the run.
        workflow: Its name.
    """

    def __init__(self, settings: Settings, workflow: str) -> None:
        self._settings = settings
        self._threads = _threads(settings, workflow)
        self._start: dict[str, Any] = {}
        self._used: list[str] | None = None  # UUIDs, as soon as a worker has said
        self._found_threads: int | None = None
        self._gpu_sampler: gpu.GpuSampler | None = None
        self._sampler: ResourceSampler | None = None
        self._oom: OomWatch | None = None
        self._uncollected_s = 0.0

    def before(self) -> Conditions:
        """Read the conditions before the first worker is started; the GPUs' can wait until it has been."""
        others, self._mark = other_load.watch.before()
        self._start = conditions.read_host(others)
        return self._told("start", self._start, rules.warnings_before(self._met()))

    def started(self, pids: Sequence[int]) -> None:
        """Begin to watch the processes of a worker, which has just been started: it imports, and uses no GPU yet."""
        if self._settings.device != "cpu" and self._gpu_sampler is None:
            self._start |= conditions.read_gpus(own=pids)
            self._gpu_sampler = gpu.GpuSampler()
        self._sampler = ResourceSampler(pids, self._gpu_sampler)
        self._oom = OomWatch(pids[0])

    def saw(self, events: Iterable[Event]) -> list[Conditions]:
        """Take in what a worker says.

        Returns:
            The conditions of the GPUs before it, once it has said which it uses.
        """
        facts = next((event for event in events if isinstance(event, WorkerFacts)), None)
        if facts is None or self._used is not None:
            return []
        threads = facts.extra.get("threads")
        self._found_threads = threads if isinstance(threads, int) else None
        self._used = _used(facts, self._settings.distributed.nproc)
        if self._gpu_sampler is None:
            return []
        self._gpu_sampler.watch(device["uuid"] for device in facts.cuda_devices)
        # NVML tells the load of the last second. Right after the spawn an earlier worker of ours may still have
        # used the device in it; by now this one has imported everything, and computed nothing.
        loads = {device["uuid"]: device["util_pct"] for device in conditions.read_gpus(self._used)["gpus"]}
        self._start["gpus"] = [
            {**device, "util_pct": loads.get(device["uuid"])} for device in _only(self._start["gpus"], self._used)
        ]
        reading = {name: self._start[name] for name in ("gpu_driver", "gpus")}
        return [self._told("start", reading, rules.gpu_warnings_before(self._met()))]

    def sample(self, now: float) -> ResourceSample | None:
        """Look at what the worker uses; None where there is nothing to tell yet, or any more."""
        seen = self._sampler.sample() if self._sampler is not None else None
        return None if seen is None else ResourceSample(t=now, **vars(seen))

    def exited(self, ended: Sequence[Ended]) -> list[WorkerExited]:
        """How the processes of a worker ended, rank 0's last."""
        told, now = [], time.monotonic()
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.look_at_group()
            # What was killed before its parent could collect it is ours all the same.
            self._uncollected_s += max(0.0, sampler.cpu_s - sum(each.cpu_s or 0.0 for each in ended))
        memory = self._oom.found() if self._oom is not None else ""
        for rank, each in reversed(list(enumerate(ended))):
            killed = each.exit_code in KILLED and not each.killed_by_us
            told.append(
                WorkerExited(
                    t=now,
                    rank=rank,
                    **vars(each),
                    out_of_memory=memory if killed else "",
                    group_peak_gb=sampler.group_peak_gb if sampler is not None else None,
                )
            )
        return told

    def after(self) -> Conditions:
        """Read the conditions after the last worker, and say what happened since `before`."""
        end = conditions.read_host()
        mark = other_load.mark(self._uncollected_s)
        other_load.watch.begin()
        if self._gpu_sampler is not None:
            end |= conditions.read_gpus(self._used)
        both = self._mark is not None and mark is not None
        during: dict[str, Any] = {
            "seconds": round(mark.t - self._mark.t, 3) if both else None,  # type: ignore[union-attr]
            "others": conditions.load_of(other_load.between(self._mark, mark)) if both else None,  # type: ignore[arg-type]
            "threads_asked": self._settings.threads,
            "threads": self._found_threads,
            **conditions.growth(self._start, end),
        }
        if self._gpu_sampler is not None:
            during |= {
                "gpus_lost": sorted(self._gpu_sampler.lost),
                "gpus_slowed": self._gpu_sampler.slowed,
                "gpu_samples": self._gpu_sampler.samples,
            }
        return self._told("end", end, rules.warnings_after(self._met(end, during)), during)

    def _met(self, end: dict[str, Any] | None = None, during: dict[str, Any] | None = None) -> rules.Met:
        return rules.Met(threads=self._threads, start=self._start, end=end or {}, during=during or {})

    def _told(
        self, at: str, reading: dict[str, Any], warnings: list[str], during: dict[str, Any] | None = None
    ) -> Conditions:
        return Conditions(t=time.monotonic(), at=at, reading=reading, warnings=warnings, during=during or {})


def problems(settings: Settings, workflow: str) -> list[str]:
    """What is wrong with the conditions now, a sentence each; the GPUs are those the settings seem to mean."""
    others, _ = other_load.watch.before()
    reading = conditions.read_host(others)
    met = rules.Met(threads=_threads(settings, workflow), start=reading, end={}, during={})
    if settings.device != "cpu":
        meant = _meant(settings)
        reading |= conditions.read_gpus(meant)
        if rules.gpu_warnings_before(met):
            time.sleep(GPU_WINDOW_S)  # a worker of ours may have used it a moment ago
            reading |= conditions.read_gpus(meant)
    return rules.warnings_before(met) + rules.gpu_warnings_before(met)


def _threads(settings: Settings, workflow: str) -> int:
    """CPU threads a workflow takes, of all ranks together."""
    return settings.threads * (settings.distributed.nproc if workflow == "training" else 1)


def _meant(settings: Settings) -> list[str]:
    """UUIDs of the devices a run is going to use, as far as can be told before it is asked."""
    first = int(settings.device.partition(":")[2] or 0)
    return list(visible_gpus()[first : first + settings.distributed.nproc])


def _used(facts: WorkerFacts, ranks: int) -> list[str]:
    """UUIDs of the devices a worker computes on: rank r of several on the r-th."""
    kind, _, index = facts.device.partition(":")
    first = int(index or 0)
    return [device["uuid"] for device in facts.cuda_devices[first : first + ranks]] if kind == "cuda" else []


def _only(devices: list[dict[str, Any]], uuids: list[str]) -> list[dict[str, Any]]:
    wanted = {gpu.plain_uuid(uuid) for uuid in uuids}
    return [device for device in devices if gpu.plain_uuid(device["uuid"]) in wanted]
