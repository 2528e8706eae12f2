"""Writing result files so that they are complete or absent, also across a crash or a power cut."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmark_app.bundle.check import BundleError, check_record, refuse
from benchmark_app.bundle.schema import SCHEMA_VERSION, Bundle


def write_bundle_file(bundle: Bundle, path: str | Path) -> None:
    """Check a bundle and write it to `path`, replacing an older file in one step.

    Raises:
        BundleError: The bundle breaks the schema; nothing was written.
        OSError: The file could not be written; an older one is intact.
    """
    if not isinstance(bundle, Bundle):
        refuse("", "a bundle", bundle)
    check_record(bundle)
    if bundle.schema_version != SCHEMA_VERSION:
        raise BundleError("schema_version", f"expected {SCHEMA_VERSION!r}, got {bundle.schema_version!r}")
    write_json_file(dataclasses.asdict(bundle), path)


def write_json_file(obj: Any, path: str | Path) -> None:
    """Write `obj` as JSON to `path`: atomic (a reader sees the old or the new file, whole) and durable (on the disk).

    Raises:
        ValueError: `obj` holds NaN or Infinity.
        TypeError: `obj` holds something JSON has no form for.
        OSError: The file could not be written; an older one is intact and no temporary file is left.
    """
    _write_whole((json.dumps(obj, indent=2, allow_nan=False) + "\n").encode(), Path(path))


def write_json_lines(objects: Iterable[Any], path: str | Path) -> None:
    """Write objects as JSON, one a line, to `path`: as `write_json_file` does, with the same errors."""
    lines = (json.dumps(obj, allow_nan=False) + "\n" for obj in objects)
    _write_whole("".join(lines).encode(), Path(path))


def write_text_file(text: str, path: str | Path) -> None:
    """Write a text to `path` in UTF-8: as `write_json_file` does, with the same OSError."""
    _write_whole(text.encode(), Path(path))


def _write_whole(data: bytes, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # a signal's exception must not leave half a file behind either
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Bring the renaming itself to the disk."""
    if os.name == "nt":
        return  # Windows opens no folders
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
