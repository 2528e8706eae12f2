"""Warp's kernel cache: where it is, what was compiled, two processes at once, and entries that are broken.

Each process here compiles this project's own kernels with the real compiler into a folder of its own.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark_app.envs.kernel_cache import remove_broken

pytestmark = pytest.mark.engine

PROGRAM = """
import sys, time
from pathlib import Path
import warp as wp
from benchmark_app.envs import kernels
from benchmark_app.envs.kernel_cache import KernelCache
from benchmark_app.physics.newton import kernels as newton_kernels

cache = KernelCache()
print("ready", flush=True)
while len(sys.argv) > 1 and not Path(sys.argv[1]).exists():
    time.sleep(0.001)
with cache.repairing():
    for module in (kernels, newton_kernels):
        wp.load_module(module, device="cpu")
assert cache.loads == 2, "compiled or found, each was loaded once"
print("compiled", cache.compiled, cache.folder)
"""
MODULES = 2


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        env={**os.environ, "WARP_CACHE_PATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def compiled(folder):
    """Modules a process had to compile, and the folder Warp used."""
    out, err = start(folder).communicate(timeout=120)
    assert "compiled" in out, err
    _, count, used = out.splitlines()[-1].split()
    return int(count), Path(used)


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """A folder into which one process compiled, with what it said."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, *compiled(folder)


@pytest.fixture
def warm(cold, tmp_path):
    folder, _, used = cold
    copy = tmp_path / "cache"
    shutil.copytree(folder, copy)
    return copy, copy / used.relative_to(folder)


def entries(used):
    return sorted(path for path in used.glob("wp_*") if path.is_dir())


def test_a_process_counts_what_it_compiled_and_a_later_one_finds_it(cold):
    folder, count, used = cold
    assert count == len(entries(used)) == MODULES
    assert used.is_relative_to(folder)
    assert compiled(folder) == (0, used)


def test_two_processes_that_compile_at_once_into_an_empty_folder_leave_a_sound_cache(tmp_path):
    go = tmp_path / "go"
    both = [start(tmp_path / "cache", go) for _ in range(2)]
    for process in both:
        while process.stdout.readline() != "ready\n":
            assert process.poll() is None, process.communicate()
    go.touch()
    ended = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    # Each counts its own work, not what the other put into the folder meanwhile.
    counts = [int(out.splitlines()[-1].split()[1]) for out, _ in ended]
    assert all(1 <= count <= MODULES for count in counts)
    count, used = compiled(tmp_path / "cache")
    assert count == 0
    assert len(entries(used)) == MODULES  # no half of a build beside the entries
    assert remove_broken(used) == []


def test_a_process_killed_while_it_compiles_leaves_nothing_that_a_later_one_would_read(tmp_path):
    folder = tmp_path / "cache"
    process = start(folder)
    deadline = time.monotonic() + 120
    while not list(folder.glob("*/wp_*_p*_t*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (left,) = folder.glob("*/wp_*_p*_t*")
    count, used = compiled(folder)
    assert count == MODULES
    assert remove_broken(used) == []
    assert left.exists()  # another process may still be compiling there: it is nobody else's to remove
    assert compiled(folder)[0] == 0


def cut_in_half(file):
    os.truncate(file, file.stat().st_size // 2)


def cut_the_end(file):
    os.truncate(file, file.stat().st_size - 8)


def empty(file):
    os.truncate(file, 0)


DAMAGES = [("*.o", cut_in_half), ("*.o", cut_the_end), ("*.o", empty), ("*.meta", cut_in_half), ("*.meta", empty)]


@pytest.mark.parametrize(("pattern", "damage"), [DAMAGES[1], DAMAGES[4]])
def test_a_truncated_entry_is_named_removed_and_compiled_anew(warm, pattern, damage):
    folder, used = warm
    broken, sound = entries(used)
    (file,) = broken.glob(pattern)
    damage(file)
    process = start(folder)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert (
        f"RuntimeError: the kernel cache {used} held 1 unreadable entries, as a full disk or a power cut leaves them; "
        "they were removed: run again"
    ) in err
    assert entries(used) == [sound]
    assert compiled(folder)[0] == 1


NO_ROOM = """
import builtins, errno, os
usual = builtins.open
def without_room(file, mode="r", *args, **kwargs):
    if "w" in mode:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return usual(file, mode, *args, **kwargs)
builtins.open = without_room
"""


@pytest.mark.parametrize("writer", ["warp", "task"])
def test_a_cache_without_room_is_named_and_other_files_without_room_are_not_taken_for_it(tmp_path, writer):
    before, block, after = PROGRAM.partition("with cache.repairing():\n")
    own = "    open('mine', 'w')\n" if writer == "task" else ""
    done = subprocess.run(
        [sys.executable, "-c", before + NO_ROOM + block + own + after],
        env={**os.environ, "WARP_CACHE_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    full = "OSError: [Errno 28] No space left on device"
    if writer == "warp":
        (used,) = tmp_path.iterdir()
        full = (
            f"RuntimeError: the kernel cache in {used} is full (No space left on device): make room there, or set "
            "kernel_cache=FOLDER to a folder with more"
        )
    assert done.stderr.splitlines()[-1] == full


def test_a_failure_of_another_kind_removes_nothing(warm):
    folder, used = warm
    (file,) = entries(used)[0].glob("*.o")
    cut_in_half(file)
    code = PROGRAM.partition("with cache")[0] + "\nwith cache.repairing():\n    raise ValueError('something else')\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WARP_CACHE_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "ValueError: something else"
    assert len(entries(used)) == MODULES


@pytest.mark.parametrize(("pattern", "damage"), DAMAGES)
def test_only_broken_entries_are_removed(warm, pattern, damage):
    _, used = warm
    one, other = entries(used)
    building = used / f"{one.name}_p1_t2"
    building.mkdir()
    (building / "half.o").write_bytes(b"\x7fELF")
    assert remove_broken(used) == []
    (file,) = other.glob(pattern)
    damage(file)
    assert remove_broken(used) == [other.name]
    assert entries(used) == [one, building]
