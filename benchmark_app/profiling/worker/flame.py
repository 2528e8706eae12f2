"""Where the main thread is, again and again: the samples of a flame graph.

A timer's signal and not a thread takes them: from Python 3.12 on cProfile, which runs in the same pass, counts the
calls of all threads as those of one.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import FrameType

from benchmark_app.profiling.speedscope import Stack, write

PERIOD_S = 0.002


class Sampler:
    """Samples the main thread's stack, phase by phase.

    Each stack counts for the wall time since the sample before it. While native code keeps the interpreter to itself
    none can be taken; the first one after it stands for all of that time.
    """

    def __init__(self) -> None:
        self._phases: dict[str, list[tuple[Stack, float]]] = {}
        self._samples: list[tuple[Stack, float]] = []
        self._names: dict[tuple[str, str], str] = {}
        self._at = 0.0
        self._previous: object = None

    def start(self, phase: str) -> None:
        """Sample from now on; the main thread calls it."""
        self._samples = self._phases.setdefault(phase, [])
        self._previous = signal.signal(signal.SIGALRM, self._sample)
        signal.siginterrupt(signal.SIGALRM, False)  # native code sees no interrupted calls
        self._at = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, PERIOD_S, PERIOD_S)

    def stop(self) -> None:
        """Sample no more."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._previous)  # type: ignore[arg-type]  # as it was given

    def write(self, path: Path) -> None:
        """Write every phase as a profile of its own, for https://www.speedscope.app."""
        path.parent.mkdir(exist_ok=True)
        write(path, "start-up, under cProfile", self._phases)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        now = time.perf_counter()
        stack: list[str] = []
        while frame is not None:
            code = frame.f_code
            # The import system's own frames would hide who imports whom.
            if not code.co_filename.startswith("<frozen importlib"):
                stack.append(self._name(code.co_filename, code.co_qualname))
            frame = frame.f_back
        self._samples.append((tuple(reversed(stack)), now - self._at))
        self._at = now

    def _name(self, file: str, function: str) -> str:
        if (name := self._names.get((file, function))) is None:
            name = f"{function} ({os.path.join(*Path(file).parts[-3:])})" if file else function
            self._names[file, function] = name
        return name
