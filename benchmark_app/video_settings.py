"""The settings of videos: whether they can be recorded, and what they come down to."""

from __future__ import annotations

import math
from dataclasses import replace

from benchmark_app.execution.cfg import is_gymnasium
from benchmark_app.rendering.camera import MOST_PIXELS, CameraSpec
from benchmark_app.rendering.catalogue import NO_COMPANION, NONE, TURNS_ALONG
from benchmark_app.rendering.grid import arrange
from benchmark_app.rendering.play_cfg import seen_from
from benchmark_app.settings import Settings

DRAWS_FOR_NONE = "newton"
"""The renderer of the videos of a run without one: it draws every engine's state, on every device."""
MOST_ENVS, MOST_SECONDS, MOST_FPS = 1024, 86400.0, 240.0


def records(s: Settings, workflow: str) -> bool:
    """Whether a workflow leaves videos."""
    return (workflow == "play" and s.play.video) or (workflow == "training" and s.training.video_interval > 0)


def video_renderer(s: Settings) -> str:
    """Who draws the videos of a run."""
    return DRAWS_FOR_NONE if s.rendering.name == NONE else s.rendering.name


def video_rows(s: Settings) -> int:
    """Episodes a video shows."""
    return max(1, min(s.video.envs, s.play.episodes))


def frame_stride(s: Settings) -> int:
    """Control steps from one frame to the next."""
    return max(1, math.ceil(1.0 / (s.video.fps * s.task.control_dt) - 1e-6))


def video_view(s: Settings) -> CameraSpec:
    """The camera: the task's, or in its place the one that was asked for, which stands still."""
    view, video = s.task.view, s.video
    if video.camera_position is not None and video.camera_target is not None:
        view = seen_from(view, tuple(video.camera_position), tuple(video.camera_target))  # type: ignore[arg-type]
    return view if video.camera_fov is None else replace(view, fov=video.camera_fov)


def video_problems(s: Settings) -> list[str]:
    """What is wrong with `video.*` and with what asks for videos."""
    found = []
    for key, wanted, workflow in (
        ("play.video=true", s.play.video, "play"),
        (f"training.video_interval={s.training.video_interval}", s.training.video_interval > 0, "training"),
    ):
        if wanted and workflow not in s.workflow.steps:
            found.append(
                f"{key}: workflow={s.workflow.name} does no {workflow}; leave it out, or choose another workflow"
            )
    if not found and any(records(s, workflow) for workflow in s.workflow.steps):
        found += _elsewhere(s)
    video = s.video
    for key, value, most in (
        ("envs", video.envs, MOST_ENVS),
        ("seconds", video.seconds, MOST_SECONDS),
        ("fps", video.fps, MOST_FPS),
    ):
        if not 0 < value <= most:
            found.append(f"video.{key}={value}: must be greater than 0 and at most {most:g}")
    if 0 < video.fps * video.seconds < 2:
        found.append(f"video.fps={video.fps}: no two frames in video.seconds={video.seconds:g}; set more")
    for key in ("width", "height"):
        value = getattr(video, key)
        if not 16 <= value <= MOST_PIXELS or value % 2:
            found.append(f"video.{key}={value}: must be an even number from 16 to {MOST_PIXELS}")
    if (video.camera_position is None) != (video.camera_target is None):
        lacks = "camera_target" if video.camera_target is None else "camera_position"
        found.append(f"video.{lacks}=null: a camera needs both; set video.{lacks}=[X,Y,Z]")
    for key in ("camera_position", "camera_target"):
        point = getattr(video, key)
        if point is not None and (len(point) != 3 or not all(map(math.isfinite, point))):
            found.append(f"video.{key}={point}: must be three finite numbers, such as [3.0,-3.0,2.0]")
    return found or _view_problems(s)


def _elsewhere(s: Settings) -> list[str]:
    """Why the worker of a recording would have no engine to draw."""
    asked = "play.video=true" if s.play.video else f"training.video_interval={s.training.video_interval}"
    if is_gymnasium(s.task.module):
        return [
            f"{asked}: task={s.task.name} is made of Gymnasium's environments and has no engine to draw; leave it out"
        ]
    for key in ("python", "address"):
        if (value := getattr(s.execution, key)) is not None:
            return [f"{asked}: execution.{key}={value} has the engine elsewhere, not to be drawn; leave one out"]
    return []


def _view_problems(s: Settings) -> list[str]:
    """What keeps the camera or the grid of pictures from being made."""
    try:
        video_view(s)
    except ValueError as error:
        return [f"video.camera_{error}"]
    if not (records(s, "play") or records(s, "training")):
        return []
    view = video_view(s)
    if view.link is not None and not view.turns and video_renderer(s) in TURNS_ALONG:
        still = "video.camera_position=[X,Y,Z] and video.camera_target=[X,Y,Z]"
        return [f"video.camera_position=null: {NO_COMPANION}: set {still}"]
    try:
        arrange(video_rows(s), s.video.width, s.video.height)
    except ValueError as error:
        return [f"video.envs={s.video.envs}: {error}; show fewer, or set video.width and video.height"]
    return []
