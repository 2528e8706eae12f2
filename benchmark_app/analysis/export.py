"""The table of runs, and copies of bundles, for other programs."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from benchmark_app.analysis.files import write_file
from benchmark_app.analysis.identity import IDENTITY
from benchmark_app.analysis.metrics import metrics_of
from benchmark_app.analysis.table import run_key
from benchmark_app.bundle.read import LoadedBundle, read_bundle_file
from benchmark_app.bundle.schema import BUNDLES, SCHEMA_VERSION
from benchmark_app.bundle.write import write_bundle_file

# Columns of the Markdown tables beside those in which the runs differ.
_ALWAYS = ("status", "seed")


def write_csv(runs: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write the whole table as CSV (UTF-8, RFC 4180 quoting; an empty field is a missing value).

    Texts are written as they are: a spreadsheet may take one that begins with `=` for a formula.
    """
    write_file(path, runs.write_csv())


def write_parquet(runs: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write the whole table as Parquet, with the types of its columns."""
    # Into memory first: polars takes a file that it could not finish for written, and its errors are not OSError.
    table = io.BytesIO()
    runs.write_parquet(table)
    write_file(path, table.getvalue())


def write_markdown(runs: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write `markdown` to a file."""
    write_file(path, markdown(runs))


def markdown(runs: pl.DataFrame) -> str:
    """One table per workflow: what its runs differ in, and the metrics that can be better or worse.

    What all runs of a workflow have in common stands above its table.
    """
    parts = [runs.filter(pl.col("workflow") == workflow) for workflow in BUNDLES]
    return "\n\n".join(_section(part) for part in parts if part.height) + "\n"


def _section(runs: pl.DataFrame) -> str:
    workflow = runs["workflow"][0]
    shared = {name: runs[name][0] for name in IDENTITY if runs[name].n_unique() == 1 and name != "workflow"}
    differing = [name for name in IDENTITY if name not in shared and name != "workflow"]
    metrics = [m for m in metrics_of(workflow) if m.direction is not None and runs[m.name].null_count() < runs.height]
    heads = [*(IDENTITY[name].title for name in differing), *(name.capitalize() for name in _ALWAYS)]
    heads += [f"{metric.title} [{metric.unit}]" if metric.unit else metric.title for metric in metrics]
    names = [*differing, *_ALWAYS, *(metric.name for metric in metrics)]
    rule = ["---"] * (len(differing) + len(_ALWAYS)) + ["---:"] * len(metrics)
    rows = [[_cell(row[name]) for name in names] for row in runs.iter_rows(named=True)]
    facts = "; ".join(f"{IDENTITY[name].title}: {_cell(value)}" for name, value in shared.items() if _tells(value))
    table = [_line(heads), _line(rule), *map(_line, rows)]
    return "\n".join([f"## {workflow}", "", facts, "", *table])


def _tells(value: object) -> bool:
    return value is not None and value is not False and value != ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: object) -> str:
    """A value as the text of a table's cell: data, never markup."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return str(value)
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return re.sub(r"([\\`*_{}\[\]<>#!|~&])", r"\\\1", text)


def write_isaaclab(paths: Sequence[str], folder: str | os.PathLike[str]) -> list[Path]:
    """Copy bundles to where Isaac Lab's harness (`tools/odin`) finds them.

    It takes, in a run's folder, the first file by name that matches `benchmark_*.json`, parses to an object and has a
    `schema_version`. A play would hide the training beside it, so every bundle gets a folder of its own, and the name
    Isaac Lab itself would give it: `benchmark_<workflow>_<task>_<time>_<8 hex digits>.json`, here with the start in
    UTC, and digits that depend on the run alone, so that exporting again replaces the same file.

    The copies are complete bundles of schema 1.4, also of files that were older.

    Args:
        paths: Bundle files.
        folder: Where to; made if it does not exist.

    Returns:
        The files that were written.

    Raises:
        BundleError: A file is no bundle.
        OSError: A file cannot be written.
    """
    return [_copy(read_bundle_file(path), Path(folder)) for path in paths]


def _copy(loaded: LoadedBundle, folder: Path) -> Path:
    run, workflow = loaded.bundle.run, loaded.workflow
    key = "\0".join(run_key(dataclasses.asdict(loaded.bundle), workflow))
    digits = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    path = folder / f"{_name(run.run_id)}-{digits}"
    path.mkdir(parents=True, exist_ok=True)
    path /= f"benchmark_{workflow}_{_name(run.task)}_{_stamp(run.start_time_utc)}_{digits}.json"
    write_bundle_file(dataclasses.replace(loaded.bundle, schema_version=SCHEMA_VERSION), path)
    return path


def _name(text: str) -> str:
    """A text as a part of a file name, on any system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:80] or "unnamed"


def _stamp(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC) if time.tzinfo is not None else time
    except (ValueError, OverflowError):
        return _name(text)
    return time.strftime("%Y-%m-%d_%H-%M-%S-%f")
