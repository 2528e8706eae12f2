"""What a bundle says of its video, from the journals of a recording that can end in any way."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from bundle_events import play_work, run

from benchmark_app.bundle.build import build_bundle
from benchmark_app.bundle.schema import PlayBundle
from benchmark_app.bundle.video import last_video, video_extra
from benchmark_app.journal.events import (
    Event,
    Failed,
    Refused,
    RunClosed,
    StopRequested,
    VideoSaved,
    VideosPlanned,
    WorkerExited,
    WorkerSpawned,
)

PLANNED = VideosPlanned(t=1.0, count=2, renderer="newton", reason="rendering=none draws nothing")
CLOSED = RunClosed(t=9.0, end_time_utc="")


def play() -> list[Event]:
    return run(play_work(), workflow="play")


def saved(t: float, name: str, **changes: Any) -> VideoSaved:
    values = {"episodes": 4, "frames": 50, "seconds": 2.0, "cut": False, "iteration": None} | changes
    return VideoSaved(t=t, path=f"videos/{name}.mp4", **values)


def exited(code: int, **changes: Any) -> WorkerExited:
    return WorkerExited(t=8.0, exit_code=code, **changes)


def test_where_none_was_asked_for_nothing_is_said() -> None:
    bundle = build_bundle(play())
    assert isinstance(bundle, PlayBundle)
    assert bundle.video_path is None
    assert not [key for key in bundle.extra or {} if key.startswith("video")]


def test_the_last_complete_video_is_the_bundles_and_nothing_else_changes() -> None:
    recording = [PLANNED, saved(2.0, "a"), saved(3.0, "b", cut=True, frames=60), exited(0), CLOSED]
    with_video, without = build_bundle(play(), recording), build_bundle(play())
    assert isinstance(with_video, PlayBundle)
    assert isinstance(without, PlayBundle)
    assert with_video.video_path == "videos/b.mp4"
    extra = dict(with_video.extra or {})
    told = {key: extra.pop(key) for key in list(extra) if key.startswith("video")}
    assert told == {
        "videos": 2,
        "video_renderer": "newton",
        "video_renderer_reason": "rendering=none draws nothing",
        "video_episodes": 4,
        "video_frames": 60,
        "video_seconds": 2.0,
        "video_cut": True,
    }
    rest = asdict(with_video) | {"video_path": None, "extra": extra}
    assert json.dumps(rest, sort_keys=True) == json.dumps(asdict(without), sort_keys=True)


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (
            [Failed(t=5.0, error="VideoError: a.mp4: cannot be\nwritten"), exited(1)],
            "a.mp4: cannot be written",
        ),
        ([Refused(t=5.0, message="checkpoint=x: cannot be played"), exited(2)], "checkpoint=x: cannot be played"),
        ([exited(-9)], "the worker was killed by SIGKILL before it finished its work"),
        (
            [exited(-9, out_of_memory="the kernel ended it")],
            "the worker was killed by SIGKILL before it finished its work:",
        ),
        ([exited(1, last_words="OSError: no space")], "OSError: no space"),
        ([StopRequested(t=5.0, reason="stopped by SIGINT"), exited(-9)], "stopped by SIGINT"),
    ],
)
@pytest.mark.parametrize("before", [0, 1])
def test_why_there_is_no_further_video_is_told_in_a_line(ending: list[Event], reason: str, before: int) -> None:
    spawned = WorkerSpawned(t=1.5, pid=1, command=[], log="")
    recording = [PLANNED, spawned, *[saved(2.0, "a")][:before], *ending, CLOSED]
    extra = video_extra(recording)
    assert str(extra["video_lost"]).startswith(reason)
    assert extra["videos"] == before
    assert last_video(recording) == (f"videos/{'a'}.mp4" if before else None)


def test_a_supervisor_that_was_killed_meanwhile_is_the_reason() -> None:
    assert video_extra([PLANNED])["video_lost"] == "the supervisor ended while it was recorded (killed, or power loss)"
    assert video_extra([PLANNED, CLOSED])["video_lost"] == "its recording was not started"
