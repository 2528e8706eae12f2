"""An append-only store of results by commit and machine: JSON lines, one per bundle.

Writers take turns by a lock beside the file. Each adds whole lines, and takes back what it wrote where that fails. A
line that a crash cut off is passed over by readers and removed by the next writer. No whole line is ever changed: a run
that is added again with other content, such as another commit, gets another line, and its last line counts.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

import filelock
import polars as pl

from benchmark_app.analysis.loading import Broken, Note, bundles
from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.table import COLUMNS, Row, frame, row_of, run_key
from benchmark_app.bundle.check import BundleError

_FORMAT = 1
_LOCK_SECONDS = 60.0
_SHA = re.compile(r"[0-9a-f]{7,64}")
_TIME = pl.Datetime("us", "UTC")
_EXTRA: dict[str, Any] = {"added_utc": _TIME, "commit_time_utc": _TIME}
_FACTS = {name: kind for name, kind in (COLUMNS | _EXTRA).items() if name not in METRICS}
_PYTHON = {pl.String: str, pl.Int64: int, pl.Boolean: bool}

Key = tuple[str, ...]


class HistoryError(ValueError):
    """A store that cannot be read or written, or a commit that is none; one line that names it."""


@dataclass(frozen=True)
class History:
    """What a store holds.

    Args:
        runs: One row per run with the columns of `Results.runs`, and `added_utc` and `commit_time_utc` (null where git
            did not know the commit), in the order in which the runs were first added.
        dropped: What was passed over, one line each.
    """

    runs: pl.DataFrame
    dropped: list[str]


@dataclass(frozen=True)
class Added:
    """What `add` did.

    Args:
        new: Runs that were not in the store.
        replaced: Runs that were, with other content.
        known: Runs that were, and nothing new of them.
        without_commit: Runs among all of these that name no commit, and so are no part of a history of commits.
        broken: Files that should be bundles and are none.
        notes: What to know about others, such as a copy of a run that is already there.
    """

    new: int
    replaced: int
    known: int
    without_commit: int
    broken: list[Broken]
    notes: list[Note]


def read(store: str | os.PathLike[str]) -> History:
    """Read a store.

    Raises:
        HistoryError: It does not exist or cannot be read.
    """
    dropped: list[str] = []
    return History(frame(_entries(Path(store), dropped).values(), _EXTRA), dropped)


def add(paths: Iterable[str], store: str | os.PathLike[str], *, commit: str | None = None) -> Added:
    """Add runs to a store, which is made if it does not exist. A run that is in it already is left alone.

    Args:
        paths: Files, folders and globs.
        store: The file.
        commit: Commit the runs are of, instead of the one their bundles tell.

    Raises:
        HistoryError: `commit` is no commit's name, or the store cannot be read or written.
        LoadError: A path that leads to no file.
    """
    if commit is not None and not _SHA.fullmatch(commit):
        raise HistoryError(f"--commit {commit}: give its 7 to 64 hexadecimal digits, as `git rev-parse` prints them")
    store = Path(store)
    broken: list[Broken] = []
    notes: list[Note] = []
    rows: dict[Key, Row] = {}
    for path, bundle in bundles(paths, broken, notes, []):
        try:
            row = row_of(path, bundle.workflow, bundle)
        except BundleError as error:
            broken.append(Broken(path, str(error)))
            continue
        if commit is not None:
            row |= {"commit": commit, "dirty": False}
        rows[run_key(bundle, bundle.workflow)] = row
    times = {commit: _commit_time(commit) for commit in {row["commit"] for row in rows.values()} if commit}
    for row in rows.values():
        row |= {"commit_time_utc": times.get(row["commit"])}
    try:
        with filelock.FileLock(f"{store}.lock", timeout=_LOCK_SECONDS):
            known = _entries(store, []) if store.exists() else {}
            fresh = {key: row for key, row in rows.items() if key not in known or not _same(row, known[key])}
            _append(store, fresh)
    except filelock.Timeout:
        raise HistoryError(f"{store}: another process has held {store}.lock for {_LOCK_SECONDS:.0f} s") from None
    except OSError as error:
        raise HistoryError(f"{store}: cannot be written ({error.strerror or error})") from None
    replaced = sum(key in known for key in fresh)
    without_commit = sum(row["commit"] is None for row in rows.values())
    return Added(len(fresh) - replaced, replaced, len(rows) - len(fresh), without_commit, broken, notes)


def _append(store: Path, rows: Mapping[Key, Row]) -> None:
    """Add lines and bring them to the disk, or leave the store as it was."""
    made = not store.exists()
    if made and not rows:
        return
    now = datetime.now(UTC)
    text = "".join(f"{_line(key, row | {'added_utc': now})}\n" for key, row in rows.items())
    with open(store, "a+b", buffering=0) as file:
        end = _mend(file)
        try:
            data = memoryview(text.encode())
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            if made:
                store.unlink()
            raise


def _mend(file: FileIO) -> int:
    """Remove a last line that was cut off, or close one that lacks only its end; return where the store ends then."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    last = file.readall().rpartition(b"\n")[2]
    if last and _is_json(last):
        end += file.write(b"\n")
    elif last:
        end = file.truncate(end - len(last))
    return end


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _line(key: Key, row: Row) -> str:
    run = {name: row.get(name) for name in _FACTS}
    for name, value in run.items():
        if isinstance(value, datetime):
            run[name] = value.isoformat()
    metrics = {name: row[name] for name in METRICS if row.get(name) is not None}
    return json.dumps({"format": _FORMAT, "key": key, "run": run, "metrics": metrics}, allow_nan=False)


def _same(row: Row, known: Row) -> bool:
    """True if two rows differ in nothing but when and from where they were added, and what git knew by then."""
    names = COLUMNS.keys() - {"path"}
    return all(row.get(name) == known.get(name) for name in names)


def _entries(store: Path, dropped: list[str]) -> dict[Key, Row]:
    """The last line of every run, in the order of their first."""
    try:
        data = store.read_bytes()
    except OSError as error:
        raise HistoryError(f"{store}: cannot be read ({error.strerror or error})") from None
    entries: dict[Key, Row] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            key, row = _parse(line)
        except (ValueError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else "not a line of JSON; it was cut off, or damaged"
            dropped.append(f"{store}, line {number}: {reason}")
            continue
        entries[key] = row
    return entries


def _parse(line: bytes) -> tuple[Key, Row]:
    """One line as the key of its run and its row.

    Raises:
        ValueError: It is not what `_line` writes.
    """
    content = json.loads(line)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"not a line of format {_FORMAT}")
    key, run, metrics = (content.get(name) for name in ("key", "run", "metrics"))
    if not isinstance(key, list) or not isinstance(run, dict) or not isinstance(metrics, dict):
        raise ValueError("lacks key, run or metrics")
    row: Row = {name: _fact(name, run.get(name), kind) for name, kind in _FACTS.items()}
    for name in METRICS.keys() & metrics.keys():
        value = metrics[name]
        if not isinstance(value, float) or not math.isfinite(value):
            raise ValueError(f"metrics.{name} is not a finite float")
        row[name] = value
    return tuple(map(str, key)), row


def _fact(name: str, value: Any, kind: Any) -> Any:
    """A value of a line as its column wants it."""
    if value is None:
        return None
    if type(value) is not (str if kind == _TIME else _PYTHON[kind]):
        raise ValueError(f"run.{name} is not what its column holds")
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise ValueError(f"run.{name} is beyond 64 bits")
    if type(value) is str:
        value.encode()  # a lone surrogate is no text, and raises
    return datetime.fromisoformat(value).astimezone(UTC) if kind == _TIME else value


def _commit_time(commit: str) -> datetime | None:
    """When a commit was made, as the repository around the current folder knows it; None where it does not."""
    if not _SHA.fullmatch(commit):
        return None
    try:
        shown = subprocess.run(
            ["git", "show", "--no-patch", "--format=%cI", commit],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return datetime.fromisoformat(shown.stdout.strip()).astimezone(UTC)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
