"""What a person sees while a run goes on: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from typing import TextIO

from benchmark_app.checkpoint_card import iterations_left
from benchmark_app.journal import Event
from benchmark_app.journal.events import (
    Conditions,
    EngineWarned,
    Episode,
    Iteration,
    LoopStarted,
    Phase,
    Steps,
    VideoSaved,
)
from benchmark_app.settings import Settings

PLAIN_PERIOD_S = 10.0
STARTING = {
    "": "importing",
    "python_imports": "reading the task",
    "task_config": "starting the engine",
    "app_launch": "building the environment (compiling kernels on the first run)",
    "env_creation": "first step (compiling kernels on the first run)",
    "first_step": "ready",
}


class Progress:
    """Shows where a workflow stands.

    Args:
        stream: Where to write; a terminal gets one line that changes, anything else a line now and then.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._live = stream.isatty()
        self._name = ""
        self._text = ""
        self._shown = ""
        self._shown_at = 0.0
        self._done = 0

    def checking(self, checkpoint: str) -> None:
        """A checkpoint is looked at before anything is made; only a person at a terminal need wait for that."""
        if self._live:
            self._put(f"\r\033[K{f'checking {checkpoint}'[: shutil.get_terminal_size().columns - 1]}")

    def begin(self, workflow: str, settings: Settings, *, part: str = "") -> None:
        """A worker was started, for a part of the workflow where it has several."""
        self._name = f"{workflow} ({part.replace('_', ' ')})" if part else workflow
        self._total = {
            "training": iterations_left(settings) if workflow == "training" else 0,
            "runtime": settings.runtime.all_steps,
            "play": settings.play.episodes,
            # Each part rolls out twice: as it is, and perturbed.
            "equivalence": 2 * (settings.equivalence.steps or settings.task.max_episode_steps),
        }.get(workflow, 0)
        self._done = 0
        self._warned: set[str] = set()
        self._frames = 0
        self._frames_per_step = settings.num_envs
        self._started = 0.0
        self._rate_from = 0.0
        self._reward: float | None = None
        self._text = STARTING[""]
        self._write(force=True)

    def show(self, events: Iterable[Event]) -> None:
        """Take in new events of the worker."""
        for event in events:
            if isinstance(event, Phase):
                self._text = STARTING.get(event.name, event.name)
            elif isinstance(event, LoopStarted):
                self._started = event.t
            elif isinstance(event, Iteration):
                self._advance(event.t, event.index + 1, event.frames, event.reward)
            elif isinstance(event, Steps):
                count = len(event.step_s)
                frames = sum(event.frames) if event.frames else count * self._frames_per_step
                self._advance(event.t, self._done + (0 if self._name == "play" else count), frames, None)
            elif isinstance(event, Episode):
                self._done += 1
            elif isinstance(event, VideoSaved):
                self._done += 1
                self._text = f"recorded {event.path}"
        self._write()

    def _advance(self, t: float, done: int, frames: int, reward: float | None) -> None:
        self._done, self._reward = done, reward
        self._frames += frames
        elapsed = max(1e-9, t - self._started)
        parts = [f"{done}/{self._total}", f"{self._frames / elapsed:,.0f} steps/s"]
        if self._name == "training":
            parts[0] = f"iteration {parts[0]}"
            parts.append("no episode finished yet" if reward is None else f"mean return {reward:.2f}")
        elif self._name == "play":
            parts[0] = f"episode {parts[0]}"
        if 0 < done < self._total:
            left = elapsed / done * (self._total - done)
            if left >= 1:
                parts.append(f"{int(left) // 60}:{int(left) % 60:02d} left")
        self._text = "  ".join(parts)

    def warned(self, event: EngineWarned) -> None:
        """The engine said something that means wrong physics; each warning is shown once."""
        if event.name in self._warned:
            return
        self._warned.add(event.name)
        allowed = ", allowed" if event.allowed else ""
        text = f"{self._name:<9} engine warning {event.name} ({event.meaning}{allowed}): {event.line}"
        self._put(f"\r\033[K{text}\n" if self._live else f"{text}\n")
        self._shown = ""

    def conditions(self, met: Conditions) -> None:
        """The machine is not as a measurement wants it; what is found afterwards, the summary tells."""
        for warning in met.warnings if met.at == "start" else ():
            text = f"{'warning':<9} {warning}"
            self._put(f"\r\033[K{text}\n" if self._live else f"{text}\n")
            self._shown = ""

    def stopping(self, name: str, grace_s: float) -> None:
        """The worker was asked to stop."""
        self._text = f"{name}: stopping at the next step, at the latest in {grace_s:g} s"
        self._write(force=True)

    def end(self) -> None:
        """The worker ended."""
        if self._live:
            self._put("\r\033[K")
        elif self._done:
            self._write(force=True)

    def _write(self, *, force: bool = False) -> None:
        line = f"{self._name:<9} {self._text}"
        now = time.monotonic()
        due = self._live or force or now - self._shown_at >= PLAIN_PERIOD_S
        if line == self._shown or not due:
            return
        self._shown, self._shown_at = line, now
        if self._live:
            self._put(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}")
        else:
            self._put(f"{line}\n")

    def _put(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None  # the reader is gone; the run goes on
