"""Reading the small files of /proc and /sys. What is not there, or not ours to read, is None: unknown, never zero.

Standard library only.
"""

from __future__ import annotations

from pathlib import Path


def text(path: Path) -> str | None:
    """Content without surrounding space; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return None


def integer(path: Path) -> int | None:
    """A file that holds one integer; None if it cannot be read or holds something else (`max`)."""
    return as_integer(text(path))


def as_integer(value: str | None) -> int | None:
    """A text as an integer; None for anything else."""
    try:
        return int(value) if value is not None else None
    except ValueError:
        return None


def table(path: Path) -> dict[str, int]:
    """Lines of `name number`, as in /proc/vmstat or a cgroup's `cpu.stat`; lines of another form are left out."""
    found = {}
    for line in (text(path) or "").splitlines():
        name, _, value = line.partition(" ")
        number = as_integer(value.strip())
        if number is not None:
            found[name] = number
    return found


def folders(path: Path) -> list[Path]:
    """What a folder holds, by name; nothing if it cannot be read."""
    try:
        return sorted(path.iterdir())
    except OSError:
        return []
