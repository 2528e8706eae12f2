"""The verb `validate`: judge result files, one line each."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.equivalence import FORMAT
from benchmark_app.bundle.equivalence_schema import read_equivalence_file
from benchmark_app.bundle.read import read_bundle_file
from benchmark_app.bundle.schema import BUNDLES

_EQUIVALENCE = "equivalence.json"
_OUR_NAMES = {_EQUIVALENCE, *(f"{workflow}.json" for workflow in BUNDLES)}


def validate_paths(paths: list[str]) -> int:
    """Judge files, and the results in folders and all that is below them; hidden folders are skipped.

    Returns:
        Exit status: 0 all valid, 1 at least one invalid, 2 a path that does not exist or a folder without results.
    """
    status = 0
    if not paths:
        status = _error("validate: no path given, expected files or folders")
    for name in paths:
        path = Path(name)
        if path.is_dir():
            files = results_in(path)
            if not files:
                status = _error(f"error {path}: no result in this folder")
        elif path.is_file():
            files = [path]
        else:
            files = []
            status = _error(f"error {path}: no such file or folder")
        for file in files:
            status = max(status, _judge(file))
    return status


def results_in(folder: Path) -> list[Path]:
    """The results below a folder, sorted: JSON files that say they are one, or that have the name of ours."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        candidates = (Path(parent, name) for name in sorted(names) if name.endswith(".json"))
        found += [path for path in candidates if path.is_file() and (path.name in _OUR_NAMES or _claims(path))]
    return found


def _claims(path: Path) -> bool:
    """True if a file holds an object that presents itself as a result, whatever else is wrong with it."""
    content = _content(path)
    return ("schema_version" in content and "run" in content) or content.get("format") == FORMAT


def _content(path: Path) -> dict[str, Any]:
    """The object in a file, an empty one where there is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _judge(path: Path) -> int:
    try:
        if path.name == _EQUIVALENCE or _content(path).get("format") == FORMAT:
            _print(f"ok {path} (equivalence {read_equivalence_file(path).version})")
            return 0
        loaded = read_bundle_file(path)
    except BundleError as error:
        _print(f"invalid {path}: {error}")
        return 1
    for warning in loaded.warnings:
        _print(f"warning {path}: {warning}", sys.stderr)
    _print(f"ok {path} ({loaded.workflow} {loaded.bundle.schema_version})")
    return 0


def _error(message: str) -> int:
    _print(message, sys.stderr)
    return 2


def _print(line: str, stream: TextIO | None = None) -> None:
    """Print a line even where the terminal's encoding lacks a character of a file's name."""
    stream = stream if stream is not None else sys.stdout
    encoding = stream.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
