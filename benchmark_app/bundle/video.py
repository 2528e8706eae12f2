"""The videos of a workflow, from the journals of their recording: where the last one is, or why there is none.

They are recorded by a process of their own after the measured ones, so that none of this can change how the run is
judged, nor any of its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmark_app.bundle.pick import every, first, in_order, last
from benchmark_app.bundle.status import ending
from benchmark_app.journal.events import (
    Event,
    Failed,
    Refused,
    RunClosed,
    Scalar,
    StopRequested,
    VideoSaved,
    VideosPlanned,
    WorkerExited,
)

LOST = "video_lost"


def last_video(events: Iterable[Event]) -> str | None:
    """Path of the last complete video, relative to the bundle; None: there is none."""
    saved = last(in_order(events), VideoSaved)
    return None if saved is None else saved.path


def video_extra(events: Iterable[Event]) -> dict[str, Scalar]:
    """Scalars for `extra`; none where no video was asked for."""
    events = in_order(events)
    planned, saved = first(events, VideosPlanned), every(events, VideoSaved)
    if planned is None:
        return {}
    found: dict[str, Scalar] = {"video_renderer": planned.renderer, "videos": len(saved)}
    if planned.reason:
        found["video_renderer_reason"] = planned.reason
    if saved:
        newest = saved[-1]
        found |= {
            "video_episodes": newest.episodes,
            "video_frames": newest.frames,
            "video_seconds": newest.seconds,
            "video_cut": newest.cut,
        }
    if len(saved) < planned.count:
        found[LOST] = " ".join(_why(events).split())
    return found


def _why(events: list[Event]) -> str:
    """What kept the rest from being recorded."""
    refused, failed, stop = first(events, Refused), first(events, Failed), first(events, StopRequested)
    exited = last(events, WorkerExited)
    if refused is not None:
        return refused.message
    if stop is not None:  # what the worker then says is how it found out
        return stop.reason
    if failed is not None:
        return failed.error.removeprefix("VideoError: ")
    if exited is not None:
        return ending(exited)
    if first(events, RunClosed) is None:
        return "the supervisor ended while it was recorded (killed, or power loss)"
    return "its recording was not started"
