"""Writing a video that every browser plays, frame by frame: H.264, 4:2:0, its index in front.

ffmpeg does it, a program of its own that comes with the package imageio-ffmpeg: one wheel serves every Python, the
licence of its H.264 encoder (GPL) stays on its side of a pipe, and a crash of it is an exit status. That package's own
`write_frames` looks at no exit status and loses ffmpeg's reason, so that the pipe is ours. Importing this imports
nothing heavy.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("imageio-ffmpeg", "pillow")
"""Distributions that write a video and what stands in it."""
INSTALL = "pip install 'benchmark-app[video]'"
PARTIAL = ".partial"
"""End of the name a video has until it is complete; it begins with a dot."""
STALLED_S = 60.0
"""An encoder that takes nothing for so long takes nothing any more."""
CLOSING_S = 120.0
"""ffmpeg has encoded all but the last frames by then; what it still does is to move the index to the front."""


class VideoError(OSError):
    """A video could not be written; the message is one line that says which and why, and there is no such file."""


@contextmanager
def open_video(path: str | os.PathLike[str], fps: float) -> Iterator[Callable[[np.ndarray], None]]:
    """Write a video.

    Args:
        path: The file to write; one that is there already is replaced once the new one is complete.
        fps: Frames per second.

    Yields:
        What takes the next frame: uint8 `[height, width, 3]`, RGB, all of one size. An odd width or height is filled
        up with a row of black, since colours are stored for two by two pixels.

    Raises:
        VideoError: There is no encoder, it failed, the file cannot be written, or there was no frame.
        ValueError: A frame is not as the first.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}{PARTIAL}")
    encoder = _Encoder(path, partial, fps)
    try:
        yield encoder.write
        encoder.finish()
        _put_in_place(partial, path)
    except BaseException:
        encoder.close()
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    finally:
        encoder.close()


class _Encoder:
    """ffmpeg, started with the first frame, which says the size."""

    def __init__(self, path: Path, partial: Path, fps: float) -> None:
        self._path, self._partial, self._fps = path, partial, fps
        self._shape: tuple[int, ...] = ()
        self._process: subprocess.Popen[bytes] | None = None
        self._told: IO[bytes] | None = None

    def write(self, frame: np.ndarray) -> None:
        if self._process is None:
            self._start(frame)
        if frame.shape != self._shape or frame.dtype.name != "uint8":
            raise ValueError(f"frame: expected uint8 {list(self._shape)}, got {frame.dtype} {list(frame.shape)}")
        assert self._process is not None
        assert self._process.stdin is not None
        view = (frame if frame.flags.c_contiguous else frame.copy()).data.cast("B")
        pipe = self._process.stdin.fileno()
        try:
            while view:
                if not select.select((), (pipe,), (), STALLED_S)[1]:
                    raise VideoError(f"{self._path}: the encoder has taken no frame for {STALLED_S:.0f} s")
                view = view[_write_some(pipe, view) :]
        except BrokenPipeError:  # it has ended, and said why
            raise self._failed() from None

    def finish(self) -> None:
        """Have the file completed.

        Raises:
            VideoError: It is not complete.
        """
        if self._process is None:
            raise VideoError(f"{self._path}: no frame was drawn, so that there is nothing to show")
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            status = self._process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            raise VideoError(f"{self._path}: the encoder did not end within {CLOSING_S:.0f} s") from None
        if status != 0 or not self._partial.stat().st_size:
            raise self._failed()

    def close(self) -> None:
        """End ffmpeg, if it still runs, and let go of it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):
                process.communicate()
        if self._told is not None:
            self._told.close()

    def _start(self, frame: np.ndarray) -> None:
        if frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"frame: expected uint8 [height, width, 3], got {list(frame.shape)}")
        self._shape = frame.shape
        program = find_encoder(self._path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._partial.touch()  # says why it cannot be written in the system's own words
        except OSError as error:
            raise VideoError(f"{self._path}: cannot be written ({error.strerror})") from error
        self._told = tempfile.TemporaryFile()  # noqa: SIM115  # read when ffmpeg has failed
        command = [program, *_options(self._fps, frame.shape[1], frame.shape[0]), str(self._partial)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._told, bufsize=0
            )
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        except OSError as error:
            why = f"the encoder {program} cannot be started: {error.strerror}"
            raise VideoError(f"{self._path}: cannot be written ({why})") from error

    def _failed(self) -> VideoError:
        """What ffmpeg said last before it gave up."""
        assert self._process is not None
        assert self._told is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._told.seek(0)
        lines = self._told.read().decode(errors="replace").splitlines()
        why = _reason([line.strip() for line in lines if line.strip()])
        return VideoError(f"{self._path}: cannot be written ({why or f'ffmpeg ended with {self._process.poll()}'})")


def _write_some(pipe: int, view: memoryview) -> int:
    """Write as much as there is room for; bytes written."""
    try:
        return os.write(pipe, view)
    except BlockingIOError:  # a little room was no room for anything
        return 0


def find_encoder(path: Path | None = None) -> str:
    """The program ffmpeg; `IMAGEIO_FFMPEG_EXE` names another.

    Args:
        path: The video it is wanted for, to say so in the error.

    Raises:
        VideoError: There is none.
    """
    try:
        import imageio_ffmpeg

        program: str = imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError, OSError) as error:
        which = f"{path}: cannot be written " if path is not None else ""
        why = f"the encoder is missing: {' '.join(str(error).split())}; type: {INSTALL}"
        raise VideoError(f"{which}({why})" if which else why) from error
    return program


def _options(fps: float, width: int, height: int) -> list[str]:
    rate = Fraction(fps).limit_denominator(100_000)
    # Browsers take a video's word for which colours its numbers are; without it they guess by the size.
    told = "setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=tv"
    return [
        *("-y", "-nostdin", "-loglevel", "error"),
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", f"{width}x{height}"),
        *("-framerate", f"{rate.numerator}/{rate.denominator}", "-i", "pipe:0"),
        *("-vf", f"pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,{told}"),
        # One thread and no long look ahead: memory stays within some dozen frames.
        *("-c:v", "libx264", "-preset", "veryfast", "-crf", "24", "-threads", "1"),
        *("-movflags", "+faststart", "-f", "mp4"),
    ]


def _reason(lines: list[str]) -> str:
    """The line that says what went wrong: the system's own words where they are among them."""
    for line in lines:
        if "No space left" in line:
            return "No space left on device"
    return lines[-1] if lines else ""


def _put_in_place(partial: Path, path: Path) -> None:
    """Give the complete file its name, so that it is on disk whole or not at all.

    Raises:
        VideoError: It cannot be.
    """
    try:
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise VideoError(f"{path}: cannot be written ({error.strerror})") from error
