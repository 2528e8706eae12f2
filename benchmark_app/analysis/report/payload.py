"""Everything the page shows, as plain JSON values: runs, groups, their statistics, and what is drawn of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import benchmark_app
from benchmark_app.analysis.history import History
from benchmark_app.analysis.loading import Results, Unfinished
from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.other_files import Equivalence
from benchmark_app.analysis.report import costs
from benchmark_app.analysis.report.alike import merged, shape
from benchmark_app.analysis.report.beside import Beside, embed_file, look_beside
from benchmark_app.analysis.report.curves import CURVES, draw_curves, read_curve
from benchmark_app.analysis.report.equivalences import describe_equivalence, in_order
from benchmark_app.analysis.report.groups import DIMENSIONS, Group, Row, group_runs, standings
from benchmark_app.analysis.report.notices import Notice, find_notices
from benchmark_app.analysis.report.over_commits import draw_history
from benchmark_app.analysis.report.over_time import OverTime, Point, read_over_time
from benchmark_app.analysis.report.wording import HEADLINES, LEADS, LOADS, NOTES, RANKINGS, RUN_COLUMNS, THROUGHPUTS
from benchmark_app.bundle.check import BundleError

_MEDIA_EACH, _MEDIA_ALL = 2_000_000, 4_000_000  # bytes of pictures and videos the file may carry; the rest are links


@dataclass(frozen=True)
class Selection:
    """The runs of a report.

    Args:
        rows: Rows of the table of runs, oldest first, each with its bundle under `bundle`.
        left_out: Path and reason of every file that is not among them, and what to know about some that are.
        older: How many more runs there were, older than these.
        equivalences: Results of equivalence runs.
        unfinished: How many runs are going on, or were killed; `left_out` tells where.
    """

    rows: list[Row]
    left_out: list[tuple[str, str]]
    older: int
    equivalences: list[Equivalence] = field(default_factory=list)
    unfinished: int = 0

    @property
    def empty(self) -> bool:
        """True if there is nothing to report."""
        return not self.rows and not self.equivalences


def select_runs(results: Results, last: int) -> Selection:
    """The newest runs, with their bundles. Stand-ins are left out where real runs are among them.

    Args:
        results: What was loaded.
        last: How many runs at most.
    """
    left_out = [(broken.path, broken.reason) for broken in results.broken]
    shown = {found.path for found in results.equivalences}
    left_out += [(note.path, note.text) for note in results.notes if note.path not in shown]
    rows = sorted(results.runs.to_dicts(), key=lambda row: (str(row["start_time_utc"]), row["path"]))
    if any(row["synthetic"] for row in rows) and not all(row["synthetic"] for row in rows):
        mixed = "made by a stand-in worker (synthetic): never shown among real runs; report its folder alone"
        left_out += [(row["path"], mixed) for row in rows if row["synthetic"]]
        rows = [row for row in rows if not row["synthetic"]]
    chosen = []
    for row in rows[-last:]:
        try:
            chosen.append(row | {"bundle": results.bundle(row["path"]), "path": results.file(row["path"])})
        except BundleError as error:  # it went away, or changed, since it was loaded
            left_out.append((row["path"], str(error)))
    unfinished = sum(isinstance(note, Unfinished) for note in results.notes)
    return Selection(chosen, left_out, max(0, len(rows) - last), results.equivalences, unfinished)


def build_payload(
    selection: Selection, *, folder: Path, title: str, command: str, history: History | None = None
) -> dict[str, Any]:
    """What the page's script reads.

    Args:
        selection: The runs; not empty.
        folder: Where the report will lie; links to runs are relative to it.
        title: Heading of the report.
        command: The line that makes this report.
        history: Results by commit, to be drawn as well.
    """
    rows = selection.rows
    groups = group_runs(rows)
    marks = standings(groups)
    beside = list(map(_beside, rows))
    series = {id(row): read_over_time(_path(row)) for row in rows}
    index_of = {id(row): index for index, row in enumerate(rows)}
    group_of = {id(row): index for index, group in enumerate(groups) for row in group.rows}
    media = _Media(folder)
    started = {group.identity["task"] for group in groups if group.identity["workflow"] == "startup"}
    return {
        "title": title,
        "facts": facts_of(selection),
        "made": f"Made by benchmark_app {benchmark_app.__version__} on {_now()} with: {command}",
        "dimensions": [{"key": key, "title": title} for key, title in DIMENSIONS.items()],
        "metrics": {
            name: {"title": m.title, "unit": m.unit, "better": m.direction, "help": m.description}
            for name, m in METRICS.items()
        },
        "headlines": HEADLINES,
        "rankings": RANKINGS,
        "throughputs": THROUGHPUTS,
        "columns": RUN_COLUMNS,
        "curves": {name: {"title": title, "axis": axis} for name, (title, axis) in CURVES.items()},
        "parts": [{"key": key, "title": title, "slot": slot} for slot, (key, title) in enumerate(costs.PARTS.items())],
        "phases": [{"key": key, "title": title} for key, title in costs.PHASES.items()],
        "loads": [{"key": key, "title": title, "axis": axis} for key, (title, axis) in LOADS.items()],
        "leads": LEADS,
        "notes": NOTES,
        "notices": [_notice(notice, index_of) for notice in find_notices(rows, groups, conditions_of(rows))],
        "machines": _machines(rows),
        "software": _software(rows),
        "groups": [_group(index, group, marks, started, series) for index, group in enumerate(groups)],
        "runs": [
            _run(index, row, found, group_of[id(row)], series[id(row)].load, media)
            for index, (row, found) in enumerate(zip(rows, beside, strict=True))
        ],
        "history": _rounded(draw_history(history, groups)) if history is not None else [],
        "equivalences": [_equivalence(found, folder) for found in in_order(selection.equivalences)],
        "broken": [{"path": path, "reason": reason} for path, reason in selection.left_out],
    }


def conditions_of(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """What runs recorded of bad conditions: each sentence, and the runs that have it beside their bundle.

    Sentences that differ in their numbers only are one.
    """
    found: dict[tuple[str, int], list[tuple[str, Row]]] = {}
    for row in rows:
        for text in _beside(row).conditions:
            found.setdefault(shape(text), []).append((text, row))
    return {merged(text for text, _ in told): [row for _, row in told] for told in found.values()}


def facts_of(selection: Selection) -> list[str]:
    """What the report is about, in a line: how many runs, tasks, libraries, engines, machines, and when they ran."""
    rows = selection.rows
    facts = [_count(len(rows), "run")]
    for name, what in (("task", "task"), ("framework", "library"), ("physics", "engine"), ("machine", "machine")):
        distinct = {row[name] for row in rows if row[name] is not None}
        facts += [_count(len(distinct), what)] if distinct else []
    days = sorted({str(row["bundle"]["run"]["start_time_utc"])[:10] for row in rows})
    facts += [days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"] if days else []
    facts += [_count(len(selection.equivalences), "equivalence result")] if selection.equivalences else []
    facts += [f"{_count(selection.unfinished, 'more run')} not ended, or killed"] if selection.unfinished else []
    if selection.older:
        facts.append(f"the newest of {len(rows) + selection.older:,} (--last)")
    return facts


def _equivalence(found: Equivalence, folder: Path) -> dict[str, Any]:
    told = describe_equivalence(found)
    plot = link(told["plot"], folder) if told["plot"] is not None else None
    return told | {"href": link(Path(found.path), folder), "plot": plot}


def _group(
    index: int,
    group: Group,
    marks: Mapping[tuple[int, str], str],
    started: set[str],
    series: Mapping[int, OverTime],
) -> dict[str, Any]:
    stats = {
        name: [*_rounded((stat.value, stat.low, stat.high)), stat.n, marks.get((index, name))]
        for name, stat in group.stats.items()
    }
    bundles = [row["bundle"] for row in group.counted]
    curves = []
    if group.identity["workflow"] == "training":
        read = (read_curve(row["bundle"], series[id(row)].ends) for row in group.counted)
        curves = [curve for curve in read if curve is not None]
    # Every workflow starts, but only where no start-up was run for its own sake do the others' starts add anything.
    own = group.identity["workflow"] == "startup"
    phases = (
        costs.average(map(costs.startup, bundles), costs.PHASES) if own or group.identity["task"] not in started else []
    )
    parts = costs.average(map(costs.breakdown, bundles), costs.PARTS)
    return {
        "id": index,
        "identity": {name: _plain(value) for name, value in group.identity.items()},
        "total": len(group.rows),
        "completed": len(group.counted),
        "stats": stats,
        "curves": _rounded(draw_curves(curves)) if curves else None,
        "breakdown": _rounded(parts) if parts else None,
        "startup": {
            "phases": _rounded(phases),
            "note": f"{group.identity['kernel_cache'] or 'unknown'} kernel cache",
            "functions": _rounded(costs.top_functions(bundles[-1])) or None,
        }
        if phases
        else None,
    }


def _run(
    index: int, row: Row, beside: Beside, group: int, load: Mapping[str, Sequence[Point]], media: _Media
) -> dict[str, Any]:
    extra = row["bundle"].get("extra") or {}
    reason = "; ".join(str(extra[key]) for key in ("reason", "failed_at", "exit_note") if extra.get(key))
    return {
        "id": index,
        "group": group,
        "name": str(row["run_id"]),
        "seed": row["seed"],
        "status": row["status"],
        "start": str(row["bundle"]["run"]["start_time_utc"]),
        "duration": row["bundle"]["run"]["duration_s"],
        "file": str(row["path"]),
        "href": link(_path(row), media.folder),
        "log": link(beside.log, media.folder) if beside.log is not None else None,
        "command": beside.command,
        "tail": beside.tail,
        "reason": reason,
        "perturbed": str(extra.get("perturbed", "")),
        "commit": row["commit"],
        "values": {name: _rounded(row[name]) for name in METRICS if row.get(name) is not None},
        "load": _rounded(load) or None,
        "media": [media.entry(path) for path in beside.media] or None,
    }


class _Media:
    """Pictures and videos, inside the file as long as there is room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._room = _MEDIA_ALL

    def entry(self, path: Path) -> dict[str, Any]:
        """A picture or video as the page shows it: embedded, or a link."""
        entry: dict[str, Any] = {"name": path.name, "href": link(path, self.folder), "source": None, "kind": None}
        size = path.stat().st_size
        if size <= min(_MEDIA_EACH, self._room):
            entry["source"], entry["kind"] = embed_file(path)
            self._room -= size
        return entry


def link(path: Path, folder: Path) -> str | None:
    """Address of a file relative to the folder of the report; None where there is no such thing (another drive)."""
    try:
        relative = os.path.relpath(path.absolute(), folder.absolute())
    except ValueError:
        return None
    plain = quote(os.fsencode(relative.replace(os.sep, "/")))
    return plain if plain.startswith("../") else f"./{plain}"


def _notice(notice: Notice, index_of: Mapping[int, int]) -> dict[str, Any]:
    runs = [index_of[id(row)] for row in notice.rows]
    return {"level": notice.level, "title": notice.title, "detail": notice.detail, "runs": runs}


def _machines(rows: Iterable[Row]) -> list[dict[str, Any]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row["machine"]), []).append(row)
    machines = []
    for name, members in sorted(found.items()):
        hardware = members[-1]["bundle"]["hardware"]
        gpus = Counter(f"{gpu['name']}, {gpu['mem_gb']:.0f} GB" for gpu in hardware["gpu_devices"])
        facts = [
            ("processor", f"{hardware['cpu_name'] or 'unknown'}, {_count(hardware['cpu_count'], 'core')}"),
            ("memory", f"{hardware['ram_gb']:.1f} GB"),
            ("GPU", ", ".join(f"{n} × {gpu}" for gpu, n in gpus.items()) or "none"),
            ("runs", str(len(members))),
        ]
        machines.append({"name": name, "facts": facts})
    return machines


def _software(rows: Iterable[Row]) -> list[tuple[str, list[str]]]:
    found: dict[str, set[str]] = {}
    for row in rows:
        versions = row["bundle"]["versions"] | {
            "benchmark_app": (row["bundle"].get("extra") or {}).get("benchmark_app")
        }
        for name, version in versions.items():
            if isinstance(version, str) and version:
                found.setdefault(name, set()).add(version[:10] if name == "git_commit" else version)
    return [(name.replace("git_", "git "), sorted(versions)) for name, versions in sorted(found.items())]


def _rounded(value: Any) -> Any:
    """Floats of six digits, in whatever holds them: more cannot be seen, and the file would be much larger."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else ", ".join(map(str, value))


def _beside(row: Row) -> Beside:
    return look_beside(_path(row), row["workflow"], row["status"], row["bundle"].get("video_path"))


def _path(row: Row) -> Path:
    return Path(row["path"])


def _count(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
