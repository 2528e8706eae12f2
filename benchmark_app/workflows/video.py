"""Recording videos of a policy: the first evaluation episodes, one in each picture, until the last of them ends.

It is a process of its own after the measured ones: nothing here is timed, and nothing of it reaches a number.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark_app.envs.state import TorchEnvState
from benchmark_app.envs.torch_env import TorchEnv
from benchmark_app.frameworks.base import Checkpoint, CheckpointRefused, Policy
from benchmark_app.journal.events import VideoSaved
from benchmark_app.rendering.mp4 import open_video
from benchmark_app.rendering.play import PlayRenderer
from benchmark_app.rendering.play_cfg import PlayRendererCfg
from benchmark_app.rendering.thumbnail import remove_thumbnail, write_thumbnail
from benchmark_app.settings import Settings
from benchmark_app.video_settings import frame_stride, video_renderer, video_view

from . import RefusedError
from .play import act
from .session import Session

FOLDER = "videos"
ANNOUNCED_S = 1.0
"""The picture that announces a video is the frame so far into it: robots no longer stand as they were put."""
LAST_FRAME_S = 0.5
"""The last frame stays so long, so that one sees how the episode ended."""


def run(session: Session) -> None:
    """Record every video asked for, one after the other.

    Raises:
        RefusedError: The checkpoint cannot be played by this library on this task.
        VideoError: A video cannot be written; those before it are complete.
    """
    env = session.open(with_framework=True)
    settings, video = session.settings, session.settings.video
    renderer = PlayRenderer(
        env.backend,
        env.scene(settings.task, settings.num_envs),
        video_view(settings),
        PlayRendererCfg(headless=True, capture=True, width=video.width, height=video.height),
        name=video_renderer(settings),
    )
    try:
        for take in session.takes:
            if session.link.stop_requested:
                return
            session.journal.append(_record(session, env, renderer, take))
    finally:
        renderer.close()


def _record(session: Session, env: TorchEnv, renderer: PlayRenderer, take: dict[str, Any]) -> VideoSaved:
    settings = session.settings
    checkpoint = Checkpoint(path=Path(take["checkpoint"]), trusted=settings.admission.trusted)
    try:
        policy = session.adapter.policy(env, settings.agent, session.native_config, checkpoint)
    except CheckpointRefused as error:
        raise RefusedError(str(error)) from error
    name = f"{FOLDER}/{take['name']}.mp4"
    path = session.directory / name
    film = _Film(settings, env, renderer, stopped=lambda: session.link.stop_requested)
    try:
        with open_video(path, film.fps) as write:
            film.shoot(policy, write)
            write_thumbnail(film.announcing, path)  # before the video has its name, so that whoever finds it finds this
    except BaseException:
        remove_thumbnail(path)
        raise
    return VideoSaved(
        t=time.monotonic(),
        path=name,
        episodes=settings.num_envs,
        frames=film.frames,
        seconds=film.frames / film.fps,
        cut=film.cut,
        iteration=take["iteration"],
    )


class _Film:
    """A rollout of the first evaluation episodes, one in each row, and its frames.

    Attributes:
        fps: Frames per second, at which the video runs as fast as the robots did.
        frames: Frames so far.
        cut: An episode went on when the video was as long as it may be.
        announcing: The frame that announces the video.
    """

    announcing: np.ndarray

    def __init__(
        self, settings: Settings, env: TorchEnv, renderer: PlayRenderer, *, stopped: Callable[[], bool]
    ) -> None:
        self._settings, self._env, self._renderer, self._stopped = settings, env, renderer, stopped
        self._stride = frame_stride(settings)
        self.fps = 1.0 / (self._stride * settings.task.control_dt)
        self.frames, self.cut = 0, False
        rows = settings.num_envs
        self._ended = [""] * rows
        self._returns = torch.zeros(rows, device=env.device)
        self._steps = torch.zeros(rows, dtype=torch.int64, device=env.device)

    def shoot(self, policy: Policy, write: Callable[[np.ndarray], None]) -> None:
        """Play and draw.

        Args:
            policy: Who acts.
            write: Takes each frame.

        Raises:
            RuntimeError: The run was asked to stop.
        """
        env, most = self._env, max(1, round(self._settings.video.seconds * self.fps))
        env.seed_episodes(self._settings.seed, self._settings.num_envs)
        observations, _ = env.reset()
        env.drain_episodes()
        step = 0
        self._draw(write)
        while not all(self._ended):
            if self._stopped():
                raise RuntimeError("the run was asked to stop while the video was recorded")
            if self.frames >= most:
                self.cut = True
                return
            state = env.step(act(policy, observations, self._settings.play.policy_batch))
            self._count(state)
            observations = state.obs
            step += 1
            if step % self._stride == 0 or all(self._ended):
                self._draw(write)
        for _ in range(min(round(LAST_FRAME_S * self.fps), most - self.frames)):
            self._keep(self._last, write)

    def _count(self, state: TorchEnvState) -> None:
        """Take in a step: what the rows that still played got, and which of them ended."""
        playing = torch.tensor([not ended for ended in self._ended], device=self._env.device)
        self._returns += state.reward * playing
        self._steps += playing
        episodes = self._env.drain_episodes()
        told = [""] * len(episodes) if episodes.success is None else episodes.success.tolist()
        words = {True: "success", False: "failure", "": "end"}
        for row, success in zip(episodes.rows.tolist(), told, strict=True):
            self._ended[row] = words[success]

    def _draw(self, write: Callable[[np.ndarray], None]) -> None:
        captions = None
        if self._settings.video.overlay:
            numbers = zip(self._steps.tolist(), self._returns.tolist(), self._ended, strict=True)
            captions = [
                f"episode {row}  step {steps}  return {value:.2f}  {ended}".rstrip()
                for row, (steps, value, ended) in enumerate(numbers)
            ]
        self._last = self._renderer.capture(captions=captions)
        self._keep(self._last, write)

    def _keep(self, frame: np.ndarray, write: Callable[[np.ndarray], None]) -> None:
        if self.frames <= ANNOUNCED_S * self.fps:
            self.announcing = frame
        self.frames += 1
        write(frame)
