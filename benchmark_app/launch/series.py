"""Our own learning curves as a TensorBoard file, under one set of tags whatever the library, so that runs overlay.

Written by the parent from the worker's journal: the measured process has nothing to do with it.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from benchmark_app.journal import Event
from benchmark_app.journal.events import Iteration

from .records import record

FOLDER = "series"


class SeriesWriter:
    """Writes one point per training iteration and tag; the step is the number of environment steps so far.

    Args:
        folder: Where the event file goes; made with the first iteration.
        first_step: Environment steps done before this run, by the training it continues.
    """

    def __init__(self, folder: Path, first_step: int = 0) -> None:
        self._folder = folder
        self._frames = first_step
        self._file: BinaryIO | None = None
        self._broken = False

    def load(self) -> None:
        """Import what writing needs, early: later it would take a core from the measured process."""
        importlib.import_module("tensorboard.compat.proto.event_pb2")

    def show(self, events: Iterable[Event]) -> None:
        """Take in new events of the worker."""
        iterations = [event for event in events if isinstance(event, Iteration)]
        if not iterations or self._broken:
            return
        try:
            if self._file is None:
                self._open()
            for iteration in iterations:
                self._frames += iteration.frames
                self._write(time.time() - time.monotonic() + iteration.t, dict(points(iteration)))
            if self._file is not None:
                self._file.flush()
        except OSError:
            self._broken = True  # a full disk; the journal, which has room set aside, holds every value

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> None:
        from tensorboard.compat.proto.event_pb2 import Event as Record

        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = open(self._folder / "events.out.tfevents.series", "wb")  # noqa: SIM115 (closed in close)
        self._append(Record(wall_time=time.time(), file_version="brain.Event:2"))

    def _write(self, wall_time: float, values: dict[str, float]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event as Record
        from tensorboard.compat.proto.summary_pb2 import Summary

        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        self._append(Record(wall_time=wall_time, step=self._frames, summary=summary))

    def _append(self, message: Any) -> None:
        if self._file is not None:
            self._file.write(record(message.SerializeToString()))


def points(iteration: Iteration) -> Iterator[tuple[str, float]]:
    """Tag and value of everything one iteration says; what it does not say is left out."""
    for tag, value in (
        ("learning/return", iteration.reward),
        ("learning/episode_length", iteration.ep_length),
        ("learning/success_rate", iteration.success_rate),
        ("speed/total_fps", _rate(iteration.frames, iteration.iteration_s)),
        ("speed/collection_fps", _rate(iteration.frames, iteration.collection_s)),
        ("time/iteration_s", iteration.iteration_s),
        ("time/collection_s", iteration.collection_s),
        ("time/learning_s", iteration.learning_s),
    ):
        if value is not None:
            yield tag, value


def _rate(frames: int, seconds: float) -> float | None:
    return frames / seconds if seconds > 0 else None
