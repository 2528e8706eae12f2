"""A video is on disk whole or not at all, plays where videos are played, and says in a line why it is not there."""

import os
import subprocess
import sys

import numpy as np
import pytest

from benchmark_app.rendering import mp4
from benchmark_app.rendering.mp4 import VideoError, find_encoder, open_video

WIDTH, HEIGHT = 64, 48


def frame(index, width=WIDTH, height=HEIGHT):
    """A bright square that moves over one colour."""
    picture = np.full((height, width, 3), (200, 100, 0), np.uint8)
    picture[8:24, index : index + 16] = (10, 220, 30)
    return picture


def write(path, count, make=frame, fps=25.0):
    with open_video(path, fps) as take:
        for index in range(count):
            take(make(index))


def decoded(path, width=WIDTH, height=HEIGHT):
    command = [find_encoder(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)


def described(path):
    return subprocess.run([find_encoder(), "-i", str(path)], capture_output=True, text=True, check=False).stderr


@pytest.fixture
def fails_with(tmp_path, monkeypatch):
    """Put a program in the encoder's place that says something and fails."""

    def install(text, status=1):
        program = tmp_path / "ffmpeg"
        program.write_text(f"#!{sys.executable}\nimport sys\nsys.stderr.write({text!r})\nsys.exit({status})\n")
        program.chmod(0o755)
        monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))

    return install


def test_every_frame_comes_back_in_its_place_and_its_colours(tmp_path):
    path = tmp_path / "a.mp4"
    write(path, 30)
    frames = decoded(path)
    assert len(frames) == 30
    for index, seen in enumerate(frames):
        assert np.abs(seen[40, 60].astype(int) - (200, 100, 0)).max() < 12
        assert np.abs(seen[16, index + 8].astype(int) - (10, 220, 30)).max() < 12
    assert os.listdir(tmp_path) == ["a.mp4"]


def test_it_is_what_browsers_play_with_its_index_in_front(tmp_path):
    path = tmp_path / "a.mp4"
    write(path, 5, fps=50 / 3)
    told = described(path)
    assert "Video: h264" in told
    assert "yuv420p(tv, bt709, progressive), 64x48" in told
    assert "16.67 fps" in told
    content = path.read_bytes()
    assert content[4:8] == b"ftyp"
    assert 0 < content.find(b"moov") < content.find(b"mdat")


def test_an_odd_size_is_filled_up(tmp_path):
    path = tmp_path / "a.mp4"
    write(path, 3, lambda index: frame(index, 63, 47))
    assert decoded(path).shape == (3, 48, 64, 3)


def test_a_file_that_was_there_is_replaced_once_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.mp4"
    path.write_bytes(b"old")
    with open_video(path, 25.0) as take:
        take(frame(0))
        assert path.read_bytes() == b"old"
    assert len(decoded(path)) == 1


def test_what_fails_meanwhile_leaves_no_file(tmp_path):
    def fail():
        with open_video(tmp_path / "a.mp4", 25.0) as take:
            take(frame(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert os.listdir(tmp_path) == []


def test_no_frame_is_no_video(tmp_path):
    with pytest.raises(VideoError, match=r"a\.mp4: no frame was drawn, so that there is nothing to show$"):
        write(tmp_path / "a.mp4", 0)
    assert os.listdir(tmp_path) == []


def test_a_frame_unlike_the_first_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"frame: expected uint8 \[48, 64, 3\], got uint8 \[48, 63, 3\]"):
        write(tmp_path / "a.mp4", 2, lambda index: frame(index, WIDTH - index))
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_said_and_leaves_no_file(tmp_path, fails_with):
    fails_with("[mp4 @ 0x1] x\nav_interleaved_write_frame(): No space left on device\nConversion failed!\n")
    with pytest.raises(VideoError, match=r"v/a\.mp4: cannot be written \(No space left on device\)$"):
        write(tmp_path / "v" / "a.mp4", 200)
    assert os.listdir(tmp_path / "v") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_disk_that_is_really_full_is_said_and_leaves_no_file(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    noise = np.random.default_rng(0)
    try:
        with pytest.raises(VideoError, match=r"cannot be written \(No space left on device\)$"):
            write(disk / "a.mp4", 400, lambda index: noise.integers(0, 255, (240, 320, 3), np.uint8))
        assert os.listdir(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_an_encoder_that_fails_without_a_word_is_told_by_its_exit_status(tmp_path, fails_with):
    fails_with("", 3)
    with pytest.raises(VideoError, match=r"cannot be written \(ffmpeg ended with 3\)$"):
        write(tmp_path / "v" / "a.mp4", 200)


def test_an_encoder_that_takes_nothing_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    monkeypatch.setattr(mp4, "STALLED_S", 0.2)
    with pytest.raises(VideoError, match="the encoder has taken no frame for"):
        write(tmp_path / "a.mp4", 40)
    assert [path.name for path in tmp_path.iterdir()] == ["ffmpeg"]


def test_an_encoder_that_says_it_is_done_and_left_nothing_has_failed(tmp_path, fails_with):
    fails_with("", 0)
    with pytest.raises(VideoError):
        write(tmp_path / "v" / "a.mp4", 1)
    assert os.listdir(tmp_path / "v") == []


def test_an_encoder_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nowhere/ffmpeg")
    with pytest.raises(VideoError, match=r"the encoder /nowhere/ffmpeg cannot be started: No such file or directory"):
        write(tmp_path / "a.mp4", 1)
    assert os.listdir(tmp_path) == []


def test_a_package_that_is_not_there_is_named_with_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(VideoError, match=r"the encoder is missing: .*; type: pip install 'benchmark-app\[video\]'"):
        write(tmp_path / "a.mp4", 1)
    assert os.listdir(tmp_path) == []


def test_a_path_that_cannot_be_written_is_said_in_the_systems_words(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(VideoError, match=r"file/a\.mp4: cannot be written \((Not a directory|File exists)\)"):
        write(tmp_path / "file" / "a.mp4", 1)
