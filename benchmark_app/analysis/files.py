"""Files the verbs write: whole or not at all, and never over a result."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from benchmark_app.analysis.other_files import is_equivalence

_MOST_BYTES = 100 * 2**20  # a larger file was not written by a run


class TargetError(ValueError):
    """A file that must not be written; one line that names it and says what to give instead."""


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all, replacing an older one in one step. A link stays one.

    Args:
        path: The file.
        content: Bytes, or text to be written as UTF-8; what UTF-8 cannot hold becomes `?`.

    Raises:
        OSError: It cannot be written; an older one is intact, and nothing is left beside it.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_target(option: str, path: str | os.PathLike[str], *suffixes: str) -> None:
    """Refuse a file that a mistyped option would destroy.

    Args:
        option: What was typed before the path, such as `--csv`.
        path: The file to be written.
        suffixes: How its name may end, in small letters; the first one is named.

    Raises:
        TargetError: The name ends otherwise, or the file holds what a run wrote.
    """
    if Path(path).suffix.lower() not in suffixes:
        raise TargetError(f"{option} {path}: expected a name that ends in {suffixes[0]}")
    if is_result(path):
        raise TargetError(f"{option} {path}: is a result of a run, and would be lost; give another name")


def has_format(path: str | os.PathLike[str], name: str) -> bool:
    """True for a file that says of itself that it is of this format: one of those that may be replaced by a newer one.

    Args:
        path: The file.
        name: What stands in its `format`.
    """
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _MOST_BYTES:
            return False
        content = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == name


def is_result(path: str | os.PathLike[str]) -> bool:
    """True for a file that a run wrote, by its content: a bundle, manifest, equivalence result, journal or episodes."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _MOST_BYTES:
            return False
        data = Path(path).read_bytes()
        lines = data.splitlines()
        content = json.loads(lines[0] if Path(path).suffix.lower() == ".jsonl" and lines else data)
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(content, dict):
        return False
    marks = ({"schema_version", "run"}, {"started_utc", "workflows"}, {"kind", "t"}, {"index", "return", "success"})
    return is_equivalence(content) or any(keys <= content.keys() for keys in marks)
