"""Stopping a sweep: a file in its folder, because a signal reaches no other machine and no process of a launcher."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmark_app.bundle.write import write_json_file

FILE = "stop.json"


@dataclass(frozen=True)
class Stop:
    """How a sweep was asked to stop.

    Attributes:
        signal: Number of the signal.
        count: How often; the second time means "now".
    """

    signal: int
    count: int


def ask_to_stop(sweep: Path, stop: Stop) -> None:
    """Let no further case begin, and have those that run stopped.

    Raises:
        OSError: It cannot be written.
    """
    write_json_file({"signal": stop.signal, "count": stop.count}, sweep / FILE)


def asked_to_stop(sweep: Path) -> Stop | None:
    """How a sweep was asked to stop; None while it was not."""
    try:
        said = json.loads((sweep / FILE).read_text(encoding="utf-8"))
        return Stop(int(said["signal"]), int(said["count"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget_stop(sweep: Path) -> None:
    """Begin anew.

    Raises:
        OSError: It cannot be removed.
    """
    (sweep / FILE).unlink(missing_ok=True)
