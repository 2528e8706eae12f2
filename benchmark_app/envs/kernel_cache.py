"""Warp's cache of compiled kernels: where it is, what this process had to compile, and what in it is broken.

Every engine's environment launches kernels, so this is asked once per process and not per engine. Two processes may
compile into one folder: Warp builds beside it and renames, so that an entry appears whole or not at all, and a process
killed while it compiles leaves nothing that is read. A full disk or a power cut can leave a truncated entry, which Warp
1.19 fails to load in every later process.
"""

from __future__ import annotations

import errno
import json
import re
import shutil
import struct
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import warp as wp

FULL = (errno.ENOSPC, errno.EDQUOT)


class KernelCache:
    """The cache of this process, watched from now on.

    Attributes:
        folder: Where Warp keeps its compiled modules: the folder it was given, and in it one for its version.
        compiled: Modules this process has compiled since.
        loads: Modules it has compiled or loaded since: while it does, nothing it times is of use.
    """

    def __init__(self) -> None:
        wp.init()
        self.folder = Path(wp.config.kernel_cache_dir)
        self.compiled = self.loads = 0
        # Only Warp knows whose work an entry is; another process may be filling the same folder.
        wp.config.log_level = min(wp.config.log_level, wp.LOG_INFO)
        wp.set_logger(_Counting(self, wp.get_logger()))

    @contextmanager
    def repairing(self) -> Iterator[None]:
        """Remove broken entries if one of them makes the block fail, and say so.

        Raises:
            RuntimeError: The block failed and there were some; without them a new process will do. Or the cache had no
                room for what the block compiled.
        """
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError) and error.errno in FULL and _of_warp(error):
                raise RuntimeError(
                    f"the kernel cache in {self.folder} is full ({error.strerror}): make room there, or set "
                    "kernel_cache=FOLDER to a folder with more"
                ) from error
            removed = remove_broken(self.folder) if _of_an_entry(error) else []
            if not removed:
                raise
            raise RuntimeError(
                f"the kernel cache {self.folder} held {len(removed)} unreadable entries, as a full disk or a power cut "
                f"leaves them; they were removed: run again ({error})"
            ) from error


def _of_warp(error: Exception) -> bool:
    """Whether it came up in Warp: what a task writes by itself is none of the cache's."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_globals.get("__name__", "").startswith("warp.") for frame in frames)


def _of_an_entry(error: Exception) -> bool:
    """Whether it is what Warp raises for an entry it cannot read: it has no class of its own for that."""
    return isinstance(error, json.JSONDecodeError) or str(error).startswith("Failed to load C")


class _Counting:
    """Warp's logger, overheard."""

    def __init__(self, cache: KernelCache, logger: Any) -> None:
        self._cache = cache
        self._info = logger.info
        self.debug, self.warning, self.error = logger.debug, logger.warning, logger.error

    def info(self, message: str) -> None:
        """Count "Module … load on device … took … ms  (compiled)", or (cached), and pass it on."""
        if message.startswith("Module ") and " load on device " in message:
            self._cache.loads += 1
            self._cache.compiled += message.endswith("(compiled)")
        self._info(message)


def remove_broken(folder: Path) -> list[str]:
    """Remove every entry that cannot be loaded because part of it is missing.

    Returns:
        Their names.
    """
    # Folders a process is still compiling in, or died in, are never read.
    entries = [entry for entry in folder.glob("wp_*") if entry.is_dir() and not re.search(r"_p\d+_t\d+$", entry.name)]
    broken = [entry for entry in entries if any(_truncated(file) for file in entry.iterdir())]
    for entry in broken:
        shutil.rmtree(entry, ignore_errors=True)
    return [entry.name for entry in broken]


def _truncated(file: Path) -> bool:
    if file.suffix == ".meta":
        return not file.read_bytes().rstrip().endswith(b"}")
    if file.suffix in (".o", ".cubin"):
        return not _whole_elf(file)
    return file.suffix == ".ptx" and file.stat().st_size == 0


def _whole_elf(file: Path) -> bool:
    """Whether an ELF-64 file reaches as far as its header says."""
    with file.open("rb") as stream:
        header = stream.read(64)
    if len(header) < 64 or header[:4] != b"\x7fELF":
        return False
    segments, sections = struct.unpack_from("<QQ", header, 0x20)
    segment_size, segment_count, section_size, section_count = struct.unpack_from("<4H", header, 0x36)
    end = max(segments + segment_size * segment_count, sections + section_size * section_count)
    return bool(file.stat().st_size >= end)
