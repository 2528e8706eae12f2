"""Profilers inside the worker: they watch its loop and leave a file beside the bundle (`profiling.tool`)."""

from __future__ import annotations

import cProfile
import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark_app.profiling.tools import CPROFILE, TORCH

_PR_SET_PTRACER = 0x59616D61  # <linux/prctl.h>
_ANYONE = ctypes.c_ulong(-1)

Step = Callable[[], None]


@contextmanager
def watched(tool: str, path: Path, *, skip: int, window: int, cuda: bool) -> Iterator[Step]:
    """Run a loop under a profiler.

    Args:
        tool: One of `profiling.tools.TOOLS`.
        path: The file it leaves, written whole or not at all, also if the loop raises.
        skip: Leading iterations that a trace leaves out.
        window: Iterations a trace covers: every one is megabytes of events.
        cuda: Trace the GPU, too.

    Yields:
        What to call after every iteration.
    """
    if tool == CPROFILE:
        with _cprofile(path):
            yield _nothing
    elif tool == TORCH:
        with _torch(path, skip, window, cuda) as step:
            yield step
    else:  # py-spy looks from outside
        yield _nothing


def _nothing() -> None:
    pass


@contextmanager
def _cprofile(path: Path) -> Iterator[None]:
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        _write(path, lambda part: profile.dump_stats(part))


@contextmanager
def _torch(path: Path, skip: int, window: int, cuda: bool) -> Iterator[Step]:
    from torch import profiler

    kinds = [profiler.ProfilerActivity.CPU, *([profiler.ProfilerActivity.CUDA] if cuda else [])]
    # One iteration before the window is traced and thrown away, because the first is slowed by the tracing's own start.
    plan = profiler.schedule(wait=skip, warmup=1, active=window, repeat=1)
    trace = profiler.profile(
        activities=kinds,
        schedule=plan,
        on_trace_ready=lambda ready: _write(path, ready.export_chrome_trace),
    )
    with trace:
        yield trace.step


def _write(path: Path, write: Callable[[str], object]) -> None:
    """Write a file whole or not at all; what keeps it from that goes to the log, where the supervisor points to."""
    part = path.with_name(f".{path.name}.tmp")
    try:
        write(str(part))
        os.replace(part, path)
    except OSError as error:  # a disk that is full: the policy and the figures are worth more than the profile
        print(f"{path.name} could not be written: {error.strerror}", file=sys.stderr)
    finally:
        part.unlink(missing_ok=True)


def allow_looking() -> None:
    """Allow this user's processes to read this one's memory: Yama lets only a parent, and py-spy is a sibling."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANYONE, 0, 0, 0)
