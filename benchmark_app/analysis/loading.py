"""Many bundles in one table: ours and Isaac Lab's, whatever their file names."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import polars as pl

from benchmark_app.analysis.discover import Found, LoadError, Paths, find
from benchmark_app.analysis.fast_read import read_fast
from benchmark_app.analysis.other_files import Equivalence, is_equivalence, unfinished
from benchmark_app.analysis.table import Row, frame, row_of, run_key
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.read import read_bundle_file, workflow_of
from benchmark_app.bundle.schema import BUNDLES

__all__ = ["Broken", "LoadError", "Note", "RawBundle", "Results", "Unfinished", "bundles", "load", "read_raw"]

_OUR_NAMES = {f"{workflow}.json" for workflow in BUNDLES}
# Far beyond any bundle (a million iterations write 90 MB), and small enough to read without filling the memory.
_MAX_BYTES = 100 * 2**20


@dataclass(frozen=True)
class Broken:
    """A file that should be a bundle and is none.

    Args:
        path: The file.
        reason: What is wrong, in one line.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return _one_line(f"{self.path}: {self.reason}")


@dataclass(frozen=True)
class Note:
    """What a reader should know about a file that was loaded, or passed over, or about a run without one.

    Args:
        path: The file, or the folder of the run.
        text: One line.
    """

    path: str
    text: str

    def __str__(self) -> str:
        return _one_line(f"{self.path}: {self.text}")


@dataclass(frozen=True)
class Unfinished(Note):
    """A run that is going on or was killed, and has no bundle of something it planned; `path` is its folder."""


class RawBundle(dict[str, Any]):
    """The JSON object of one bundle, checked against the schema. Fields that have a default may be absent.

    Attributes:
        workflow: The workflow its content says it is of.
        warnings: What a reader should know, one line each.
    """

    def __init__(self, content: dict[str, Any], workflow: str, warnings: tuple[str, ...] = ()) -> None:
        super().__init__(content)
        self.workflow = workflow
        self.warnings = warnings


@dataclass(frozen=True)
class Results:
    """What was loaded.

    Args:
        runs: One row per bundle, in the order of the paths: the identity, what describes the run, and one Float64
            column per metric of the registry, null where it was not measured (`benchmark_app.analysis.table`). Runs
            that were interrupted or crashed are in it, with their status.
        broken: Files that should be bundles and are none.
        notes: What to know about others: fields of a newer schema, copies of a run that is already there, runs that
            have not ended, equivalence results that were named.
        equivalences: Results of equivalence runs, which are no bundles and have no metrics.
        files: Path in `runs` → its file, where a name with bytes that are no text makes the two differ.
    """

    runs: pl.DataFrame
    broken: list[Broken]
    notes: list[Note]
    equivalences: list[Equivalence] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    _whole: WeakValueDictionary[str, RawBundle] = field(
        default_factory=WeakValueDictionary, init=False, repr=False, compare=False
    )

    def bundle(self, path: str) -> RawBundle:
        """One bundle in full, with its curves and profiles; kept only while someone holds it.

        Args:
            path: Its file, as in the column `path`.

        Raises:
            BundleError: It is no longer there, or no longer a bundle.
        """
        bundle = self._whole.get(path)
        if bundle is None:
            bundle = self._whole[path] = read_raw(self.file(path))
        return bundle

    def file(self, path: str) -> str:
        """The file of a row.

        Args:
            path: Its column `path`.
        """
        return self.files.get(path, path)


def load(paths: Paths, *, series: bool = False) -> Results:
    """Load bundles into one table.

    Below a folder, and among what a glob matches, a JSON file that is no bundle is passed over. A broken one is listed
    and never fatal, and so is a file that was named and is none. Two files that hold the same run count once.

    Args:
        paths: Files, folders and globs.
        series: Also load the curves of trainings (`reward_series`, `ep_length_series`, `success_series`; lists of
            Float64 with one value per iteration, null where they were not kept).

    Raises:
        LoadError: A path that does not exist, a glob that matches nothing, or no path at all.
    """
    rows: list[Row] = []
    broken: list[Broken] = []
    notes: list[Note] = []
    equivalences: list[Equivalence] = []
    files: dict[str, str] = {}
    for path, bundle in bundles(paths, broken, notes, equivalences):
        try:
            row = row_of(path, bundle.workflow, bundle, series=series)
        except BundleError as error:
            broken.append(Broken(path, _one_line(str(error))))
            continue
        rows.append(row)
        if row["path"] != path:
            files[row["path"]] = path
    return Results(frame(rows, series=series), broken, notes, equivalences, files)


def bundles(
    paths: Paths, broken: list[Broken], notes: list[Note], equivalences: list[Equivalence]
) -> Iterator[tuple[str, RawBundle]]:
    """The bundles among files, folders and globs, each run once, with their paths.

    Args:
        paths: Files, folders and globs.
        broken: Receives the files that should be bundles and are none.
        notes: Receives what to know about the others.
        equivalences: Receives the results of equivalence runs.

    Raises:
        LoadError: A path that leads to no file.
    """
    seen: dict[tuple[str, ...], str] = {}
    for found in find(paths):
        try:
            bundle = _read(found.path, passes_over=not found.named and os.path.basename(found.path) not in _OUR_NAMES)
        except BundleError as error:
            broken.append(Broken(found.path, _one_line(str(error))))
            continue
        if not isinstance(bundle, RawBundle):
            _look_at_other(found, bundle, notes, equivalences)
            continue
        notes += [Note(found.path, _one_line(warning)) for warning in bundle.warnings]
        first = seen.setdefault(run_key(bundle, bundle.workflow), found.path)
        if first != found.path:
            notes.append(Note(found.path, _one_line(f"the same run as {first}, counted once")))
            continue
        yield found.path, bundle


def read_raw(path: str) -> RawBundle:
    """Read one bundle file of any name: at once where it is right beyond doubt, else by the strict reader.

    Raises:
        BundleError: The file cannot be read, is too large, is no JSON, or breaks the schema.
    """
    bundle = _read(path, passes_over=False)
    if not isinstance(bundle, RawBundle):
        raise BundleError("", "an equivalence result, not a bundle")
    return bundle


def _look_at_other(found: Found, content: object, notes: list[Note], equivalences: list[Equivalence]) -> None:
    """Keep what a JSON file that is no bundle says about runs."""
    if is_equivalence(content):
        equivalences.append(Equivalence(found.path, content))
        if found.named:
            notes.append(Note(found.path, "the result of an equivalence run, which has no metrics; `report` shows it"))
    elif text := unfinished(found.path, content):
        notes.append(Unfinished(os.path.dirname(found.path) or ".", text))


def _read(path: str, *, passes_over: bool) -> RawBundle | object:
    """Read a bundle, or another JSON file: an equivalence result, or where allowed whatever is no bundle."""
    data = _bytes(path)
    content = read_fast(data)
    if content is not None:
        return RawBundle(content, workflow_of(content))
    is_json, other = _parse(data)
    if is_equivalence(other):
        return other
    if passes_over and is_json and not (isinstance(other, dict) and "schema_version" in other and "run" in other):
        return other
    loaded = read_bundle_file(path)
    return RawBundle(dataclasses.asdict(loaded.bundle), loaded.workflow, loaded.warnings)


def _bytes(path: str) -> bytes:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("", "not a regular file")  # a pipe would keep us waiting
        if status.st_size > _MAX_BYTES:
            size = status.st_size / 2**20
            raise BundleError("", f"{size:.0f} MiB, more than the {_MAX_BYTES // 2**20} MiB a bundle may have")
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BundleError("", f"cannot be read: {error.strerror or error}") from None


def _parse(data: bytes) -> tuple[bool, object]:
    """Whether a file is JSON, and what stands in it."""
    try:
        return True, json.loads(data)
    except (ValueError, RecursionError):
        return False, None


def _one_line(text: str) -> str:
    """The text in one line, with what no terminal should receive as escapes."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in line)
