"""Showing an environment: windows, videos, and the physics state as numbers."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmark_app.physics.base import SimBackend
from benchmark_app.physics.playback import EnvPlayCapabilities, PhysicsState, PhysicsStateLayout
from benchmark_app.physics.scene import SceneSpec
from benchmark_app.rendering.play_cfg import (
    CameraCfg,
    DebugOverlay,
    DebugOverlayGetter,
    DebugPrimitive,
    PlayRendererCfg,
)

from .cfg import EnvCfg
from .playback_rules import (
    PlayRenderPlan,
    camera_cfg,
    checked_frame,
    current_overlay,
    kept_in_window,
    require_capability,
    require_display,
    require_output,
    require_steps,
    resolve_plan,
)

if TYPE_CHECKING:
    from benchmark_app.rendering.play import PlayRenderer

__all__ = [
    "CameraCfg",
    "DebugOverlayGetter",
    "DebugPrimitive",
    "EnvPlayCapabilities",
    "PhysicsState",
    "PhysicsStateLayout",
    "PlayRenderPlan",
    "Playback",
]


class Playback(ABC):
    """The part of a `TorchEnv` that shows it, by what the engine declares in `play_capabilities`.

    Everything here is cold. What the engine does not declare is refused before anything runs. The pictures are those
    of Newton's renderer, whatever the engine, and have nothing to do with those a task may see.
    """

    _steps: torch.Tensor  # [N] int64, control steps of the running episodes
    _play_renderer: PlayRenderer | None = None
    _captures_frames: bool = False

    if TYPE_CHECKING:  # the task's; only an engine in this process is drawn

        @staticmethod
        def scene(cfg: Any, num_envs: int) -> SceneSpec:
            """The scene an engine is to build."""
            ...

    @property
    @abstractmethod
    def cfg(self) -> EnvCfg:
        """Task settings."""

    @property
    @abstractmethod
    def backend(self) -> SimBackend:
        """The engine."""

    @property
    @abstractmethod
    def num_envs(self) -> int:
        """Rows N."""

    @abstractmethod
    def _require_open(self) -> None:
        """Raise RuntimeError once the environment is closed."""

    @property
    def play_capabilities(self) -> EnvPlayCapabilities:
        """What the engine can show or record."""
        return self.backend.play_capabilities

    # Pictures.

    def init_play_renderer(
        self,
        render_spacing: float | None = None,
        render_offset_mode: str | None = None,
        *,
        headless: bool = False,
        capture: bool = False,
        width: int = 1280,
        height: int = 720,
        camera_kwargs: CameraCfg | Mapping[str, Any] | None = None,
    ) -> None:
        """Make the renderer, or make it anew.

        In a frame each environment has a picture of its own, side by side; in a window all stand in one scene.

        Args:
            render_spacing: Distance between neighbouring environments in a window [m]; None: as the task's extent asks.
            render_offset_mode: `"grid"`, or None, which is the same.
            headless: No window.
            capture: Frames will be captured.
            width: Width of a frame, and of a window [px].
            height: Height, likewise.
            camera_kwargs: The camera, or the arguments of `CameraCfg`; None: as the task is looked at.

        Raises:
            NotImplementedError: The engine does not declare what is asked for.
            ValueError: A value is outside its range, there would be neither window nor capture, the camera names an
                environment that does not exist, or so many pictures do not fit into a frame.
            RuntimeError: The environment is closed, or a window is asked for without a display or without the packages
                that it needs.
        """
        self._require_open()
        if headless and not capture:
            raise ValueError("headless=True, capture=False: nothing would be shown or captured")
        camera = camera_cfg(camera_kwargs)
        if camera is not None and camera.env_index is not None:
            self._require_row(camera.env_index)
        if capture:
            require_capability(self.backend, "capture video frames", "supports_native_video_capture")
        if not headless:
            require_capability(self.backend, "open a window", "supports_native_interactive_renderer")
            if camera is not None:
                require_capability(self.backend, "take a camera profile in its window", "supports_interactive_camera")
            require_display()
        cfg = PlayRendererCfg(
            render_spacing=render_spacing,
            render_offset_mode=render_offset_mode,
            headless=headless,
            capture=capture,
            width=width,
            height=height,
            camera=camera,
        )
        self._drop_play_renderer()
        self._play_renderer = self._make_play_renderer(cfg)
        self._captures_frames = capture

    def _make_play_renderer(self, cfg: PlayRendererCfg) -> PlayRenderer:
        from benchmark_app.rendering.play import PlayRenderer

        scene = self.scene(self.cfg, self.num_envs)
        return PlayRenderer(self.backend, scene, self.cfg.view, cfg, period_s=self.cfg.control_dt)

    def _open_play_video(self, path: str, fps: float) -> AbstractContextManager[Callable[[np.ndarray], None]]:
        from benchmark_app.rendering.mp4 import open_video

        return open_video(path, fps)

    def _drop_play_renderer(self) -> None:
        """Close the renderer, if there is one: before another is made, and before the engine is closed."""
        renderer, self._play_renderer, self._captures_frames = self._play_renderer, None, False
        if renderer is not None:
            renderer.close()

    def render(self, mode: str = "rgb_array") -> np.ndarray:
        """Draw the present state, with a renderer of its own making where there is none yet.

        Args:
            mode: `"rgb_array"`.

        Returns:
            uint8 `[height, width, 3]`, RGB, the caller's.

        Raises:
            ValueError: Another mode.
            NotImplementedError: The engine does not declare `supports_native_video_capture`.
            RuntimeError: The environment is closed.
        """
        if mode != "rgb_array":
            raise ValueError(f"mode={mode!r}: only 'rgb_array' is rendered")
        if not self._captures_frames:
            self.init_play_renderer(headless=True, capture=True)
        return self.capture_play_video_frame()

    def capture_play_video_frame(self) -> np.ndarray:
        """Draw the present state off screen.

        Returns:
            uint8 `[height, width, 3]`, RGB, the caller's.

        Raises:
            RuntimeError: The environment is closed, or the renderer was not made with `capture=True`.
        """
        return self._capture(None, None)

    def _capture(self, physics_state: np.ndarray | None, overlay: DebugOverlay | None) -> np.ndarray:
        self._require_open()
        if not self._captures_frames:
            raise RuntimeError("capture_play_video_frame() before init_play_renderer(capture=True)")
        assert self._play_renderer is not None, "made with the flag"
        return self._play_renderer.capture(physics_state, overlay)

    def _show(self, physics_state: np.ndarray | None, overlay: DebugOverlay | None) -> bool:
        assert self._play_renderer is not None, "made before anything is shown"
        return self._play_renderer.show(physics_state, overlay)

    # Playing.

    def resolve_play_render_plan(
        self, *, play_render_mode: str | None, play_steps: int | None, output_video: str | os.PathLike[str] | None
    ) -> PlayRenderPlan:
        """Decide what a play mode comes down to.

        Args:
            play_render_mode: `"interactive"`, `"record"`, `"none"`, or `"auto"` (or None): interactive where the
                engine has a window and the machine a display, else record.
            play_steps: Control steps. Recording needs them; a window without them runs until it is closed.
            output_video: The video to write. Recording needs it; otherwise it is not used.

        Raises:
            ValueError: Unknown mode, steps that are not a positive number, or recording without steps or output.
            NotImplementedError: The engine does not declare what the mode needs.
            RuntimeError: A window is asked for without a display.
        """
        return resolve_plan(self.backend, play_render_mode, play_steps, output_video)

    def run_playback(
        self,
        *,
        initialize: Callable[[], Any],
        step: Callable[[Any], Any],
        num_steps: int | None,
        output_video: str | os.PathLike[str] | None = None,
        render_spacing: float | None = None,
        render_offset_mode: str | None = None,
        headless: bool | None = None,
        record_video: bool | None = None,
        frame_state_getter: Callable[[], np.ndarray] | None = None,
        camera_kwargs: CameraCfg | Mapping[str, Any] | None = None,
        debug_overlay_getter: DebugOverlayGetter | None = None,
        on_frame: Callable[[int, np.ndarray], np.ndarray | None] | None = None,
    ) -> str | None:
        """Run a rollout and show a frame after each of its steps; what cannot be done is refused before it starts.

        Args:
            initialize: Starts the rollout, and returns what the first `step` gets.
            step: Takes one control step; gets and returns whatever the rollout carries along.
            num_steps: Control steps; None: until the window is closed.
            output_video: The video to write, streamed, at one frame per control step in real time.
            render_spacing: See `init_play_renderer`.
            render_offset_mode: See `init_play_renderer`.
            headless: No window; by default when recording.
            record_video: Write the video; by default if `output_video` is given.
            frame_state_getter: Snapshots `[N, state_width]` to draw instead of the engine's present state.
            camera_kwargs: See `init_play_renderer`.
            debug_overlay_getter: What to draw over each frame, for every environment.
            on_frame: Gets the index and each recorded frame; what it returns, unless None, is recorded instead.

        Returns:
            The finished video's path; None if none was recorded.

        Raises:
            NotImplementedError: The engine does not declare what is asked for.
            ValueError: Recording without a positive number of steps or an output, steps or frames that are not what
                they must be, or an overlay that is not for N environments.
            RuntimeError: The environment is closed, or a window is asked for without a display.
            VideoError: The video cannot be written; there is then no such file.
        """
        record = output_video is not None if record_video is None else record_video
        window = not (record if headless is None else headless)
        require_steps("num_steps", num_steps, optional=not record)
        video = require_output(output_video) if record else None
        if debug_overlay_getter is not None and record:
            require_capability(self.backend, "draw a debug overlay in a video", "supports_debug_overlay")
        if debug_overlay_getter is not None and window:
            require_capability(self.backend, "draw a debug overlay in its window", "supports_interactive_debug_overlay")
        if frame_state_getter is not None:
            require_capability(self.backend, "draw snapshots", "supports_physics_state_playback")
        self.init_play_renderer(
            render_spacing, render_offset_mode, headless=not window, capture=record, camera_kwargs=camera_kwargs
        )
        with nullcontext() if video is None else self._open_play_video(video, 1.0 / self.cfg.control_dt) as write:
            carry = initialize()
            for index in count() if num_steps is None else range(num_steps):
                carry = step(carry)
                physics_state = None if frame_state_getter is None else frame_state_getter()
                overlay = current_overlay(debug_overlay_getter, self.num_envs)
                if write is not None:
                    frame = self._capture(physics_state, overlay)
                    replaced = None if on_frame is None else on_frame(index, frame)
                    write(frame if replaced is None else checked_frame("on_frame's frame", replaced, frame.shape))
                # A closed window ends what only it shows; a video gets its steps.
                if window and not self._show(physics_state, overlay):
                    if write is None:
                        break
                    window = False
        return video

    def run_playback_mode(
        self,
        *,
        play_render_mode: str | None,
        play_steps: int | None,
        output_video: str | os.PathLike[str] | None,
        initialize: Callable[[], Any],
        step: Callable[[Any], Any],
        render_spacing: float | None = None,
        render_offset_mode: str | None = None,
        frame_state_getter: Callable[[], np.ndarray] | None = None,
        camera_kwargs: CameraCfg | Mapping[str, Any] | None = None,
        debug_overlay_getter: DebugOverlayGetter | None = None,
        on_frame: Callable[[int, np.ndarray], np.ndarray | None] | None = None,
        on_plan: Callable[[PlayRenderPlan], None] | None = None,
    ) -> str | None:
        """Resolve a play mode and run it. A window does without what it lacks, with a warning; a video does not.

        Args:
            play_render_mode: See `resolve_play_render_plan`.
            play_steps: See `resolve_play_render_plan`.
            output_video: See `resolve_play_render_plan`.
            initialize: See `run_playback`.
            step: See `run_playback`.
            render_spacing: See `init_play_renderer`.
            render_offset_mode: See `init_play_renderer`.
            frame_state_getter: See `run_playback`.
            camera_kwargs: See `init_play_renderer`; dropped for a window without `supports_interactive_camera`.
            debug_overlay_getter: See `run_playback`; dropped for a window without
                `supports_interactive_debug_overlay`.
            on_frame: See `run_playback`.
            on_plan: Gets the plan before anything else happens.

        Returns:
            The finished video's path; None if none was recorded. In mode `"none"` nothing but `on_plan` is called.

        Raises:
            Errors of `resolve_play_render_plan` and `run_playback`.
        """
        plan = self.resolve_play_render_plan(
            play_render_mode=play_render_mode, play_steps=play_steps, output_video=output_video
        )
        if on_plan is not None:
            on_plan(plan)
        if plan.mode == "none":
            return None
        if plan.mode == "interactive":
            debug_overlay_getter = kept_in_window(
                self.backend, debug_overlay_getter, "debug overlay", "supports_interactive_debug_overlay"
            )
            camera = camera_cfg(camera_kwargs)
            camera_kwargs = kept_in_window(self.backend, camera, "camera profile", "supports_interactive_camera")
        return self.run_playback(
            initialize=initialize,
            step=step,
            num_steps=plan.num_steps,
            output_video=plan.output_video,
            render_spacing=render_spacing,
            render_offset_mode=render_offset_mode,
            headless=plan.headless,
            record_video=plan.record_video,
            frame_state_getter=frame_state_getter,
            camera_kwargs=camera_kwargs,
            debug_overlay_getter=debug_overlay_getter,
            on_frame=on_frame,
        )

    # The physics state.

    def get_physics_state_snapshot(self) -> np.ndarray:
        """The physics state of every row, as numbers that nothing changes later.

        Time is the row's control steps in its running episode times the control step. It and the array are float64:
        float32 values are kept exactly, and time is right however long an episode runs.

        Returns:
            float64 `[N, state_width]`, columns as in `get_physics_state_layout`.

        Raises:
            NotImplementedError: The engine does not declare `supports_physics_state_playback`.
            RuntimeError: The environment is closed.
        """
        self._require_open()
        return self.backend.get_physics_state_snapshot(self._steps.cpu().numpy() * self.cfg.control_dt)

    def get_physics_state_layout(self) -> PhysicsStateLayout:
        """The columns of a snapshot.

        Raises:
            NotImplementedError: The engine does not declare `supports_physics_state_playback`.
        """
        return self.backend.get_physics_state_layout()

    def get_playback_model(self, env_index: int | None = None) -> Any:
        """The engine's own model of one environment, to replay snapshots on; joints are matched by name.

        Args:
            env_index: The environment; None: any, where all have the same model.

        Raises:
            NotImplementedError: The engine does not declare `supports_physics_state_playback`.
            ValueError: There is no such environment.
            RuntimeError: The environment is closed.
        """
        self._require_open()
        if env_index is not None:
            self._require_row(env_index)
        return self.backend.get_playback_model(env_index)

    def get_playback_mocap_state(self, env_index: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the mocap bodies' positions `[nmocap, 3]` [m] and orientations `[nmocap, 4]` (xyzw).

        Raises:
            NotImplementedError: The engine does not declare `supports_mocap_playback`, and may have such bodies.
            ValueError: There is no such environment.
            RuntimeError: The environment is closed.
        """
        self._require_open()
        self._require_row(env_index)
        return self.backend.get_playback_mocap_state(env_index)

    def get_scene_visual_model_file(self) -> str | None:
        """Path of the file that shows what the scene looks like; None where there is none."""
        return self.backend.get_scene_visual_model_file()

    def _require_row(self, env_index: int) -> None:
        if not 0 <= env_index < self.num_envs:
            raise ValueError(f"env_index={env_index}: must be from 0 to {self.num_envs - 1}")
