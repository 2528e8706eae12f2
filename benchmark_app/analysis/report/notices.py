"""What a reader should know before believing a number: conditions first, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmark_app.analysis.report.groups import Group, Row

BUSY_BELOW = 85.0  # % of one core: a worker that computes all the time gets more, unless others take their share
FEW_SEEDS = 3  # below this no difference is significant

Level = Literal["stop", "warn", "note"]


@dataclass(frozen=True)
class Notice:
    """A warning, and whom it concerns.

    Args:
        level: `stop` for results that are no measurement, `warn` for what distorts or limits them, `note` for the rest.
        title: What is the case.
        detail: What it means for the reader.
        rows: The runs; empty if it concerns the report as a whole.
    """

    level: Level
    title: str
    detail: str
    rows: Sequence[Row] = ()


def find_notices(rows: Sequence[Row], groups: Sequence[Group], conditions: Mapping[str, Sequence[Row]]) -> list[Notice]:
    """All warnings, the gravest first.

    Args:
        rows: The runs of the report; each with its bundle under `bundle`.
        groups: The same runs in groups.
        conditions: Sentence of a `conditions.json` → the runs it was written for.
    """
    found = [*_by_run(rows), *(_condition(text, concerned) for text, concerned in conditions.items())]
    found += [*_untold(rows, conditions), *_about_all(rows), *_about_groups(groups)]
    return sorted(found, key=lambda notice: ("stop", "warn", "note").index(notice.level))


def _by_run(rows: Sequence[Row]) -> Iterable[Notice]:
    rules: list[tuple[Level, Callable[[Row], Any], str, str]] = [
        (
            "stop",
            lambda row: row["synthetic"],
            "made by a stand-in worker",
            "Nothing was simulated or learned in them; they test the program around a run, and measure nothing.",
        ),
        (
            "warn",
            lambda row: row["status"] != "completed",
            "did not complete",
            "They are listed with their reason and enter no statistic.",
        ),
        (
            "warn",
            lambda row: row["perturbed"],
            "slowed down by what watched them",
            "A profiler or debugger was attached. They are listed, and enter no statistic.",
        ),
        (
            "warn",
            lambda row: _extra(row, "smoke"),
            "made to see that things work",
            "Smoke runs are cut short on purpose: what they learned and scored says nothing about a library.",
        ),
        (
            "warn",
            _starved,
            f"got less than {BUSY_BELOW:.0f} % of a core",
            "A worker on the CPU computes all the time. Something else used the machine, or it waited for the disk: "
            "rates are low and noisy.",
        ),
        (
            "warn",
            lambda row: _extra(row, "equal_terms") is False,
            "not on equal terms with the other libraries",
            "A native setting replaced part of the shared description, or the library only approximates it.",
        ),
        (
            "note",
            lambda row: row["kernel_cache"] == "cold",
            "compiled their kernels first",
            "Their start-up holds the compilation. They are kept apart from runs with a warm kernel cache.",
        ),
        (
            "note",
            lambda row: _extra(row, "resumed_iterations"),
            "continued from a checkpoint",
            "Their curves and rates are those of the continued part alone.",
        ),
        (
            "note",
            lambda row: _extra(row, "steady_state") is False,
            "not steady",
            "Iterations of the second half took another time than those of the first, or the search for the end of the "
            "warm-up found none. A longer run, or a longer warm-up, tells more.",
        ),
        (
            "note",
            _serialized,
            "timed with the device drained at every boundary",
            "serialized_synchronized shows where the time goes. On a GPU it takes more of it than in production.",
        ),
    ]
    for level, concerns, what, detail in rules:
        concerned = [row for row in rows if concerns(row)]
        if concerned:
            verb = (
                ""
                if what.startswith(("did", "got", "compiled", "continued"))
                else "was "
                if len(concerned) == 1
                else "were "
            )
            yield Notice(level, f"{len(concerned)} of {_count(len(rows), 'run')} {verb}{what}", detail, concerned)


def _about_all(rows: Sequence[Row]) -> Iterable[Notice]:
    machines = sorted({row["machine"] for row in rows})
    if len(machines) > 1:
        yield Notice(
            "warn",
            f"Results of {len(machines)} machines: {_some(machines)}",
            "They stand in separate tables and charts, and are not compared with each other.",
        )
    commits = sorted({str(row["commit"])[:10] for row in rows if row["commit"]})
    if len(commits) > 1:
        yield Notice(
            "warn",
            f"Results of {len(commits)} commits: {_some(commits)}",
            "They are averaged as if the code had not changed. Report one commit's folder, or use compare.",
        )
    dirty = [row for row in rows if row["dirty"]]
    if dirty:
        yield Notice(
            "note",
            f"{len(dirty)} of {_count(len(rows), 'run')} ran code with uncommitted changes",
            "Their commit alone does not say what was run.",
        )


def _about_groups(groups: Sequence[Group]) -> Iterable[Notice]:
    trained = [group for group in groups if group.identity["workflow"] == "training" and group.counted]
    few = [group for group in trained if len({row["seed"] for row in group.counted}) < FEW_SEEDS]
    if few:
        yield Notice(
            "warn",
            f"Fewer than {FEW_SEEDS} seeds in {len(few)} of {_count(len(trained), 'training group')}",
            "Seeds differ more than libraries often do. With so few, no difference in what was learned is significant.",
        )
    timed = [group for group in groups if group.identity["workflow"] != "training" and group.counted]
    single = [group for group in timed if len(group.counted) < FEW_SEEDS]
    if single:
        yield Notice(
            "note",
            f"Fewer than {FEW_SEEDS} runs in {len(single)} of {_count(len(timed), 'other group')}",
            "Their rates have wide intervals or none, and no leader is named among them with confidence.",
        )


def _condition(text: str, rows: Sequence[Row]) -> Notice:
    return Notice("warn", text, "Recorded by the run itself, of the conditions it met.", rows)


def _untold(rows: Sequence[Row], conditions: Mapping[str, Sequence[Row]]) -> Iterable[Notice]:
    """Bundles that travelled without the file that says which warnings they had."""
    told = {id(row) for concerned in conditions.values() for row in concerned}
    concerned = [row for row in rows if _extra(row, "conditions.warnings") and id(row) not in told]
    if concerned:
        title = f"{len(concerned)} of {_count(len(rows), 'run')} met bad conditions"
        yield Notice("warn", title, "Their conditions.json, which says what was wrong, is not beside them.", concerned)


def _starved(row: Row) -> bool:
    """True for a loop of ours on the CPU whose worker did not get a core to itself."""
    if row["producer"] != "benchmark_app":  # Isaac Lab's mean holds a first sample that is 0 whatever the load
        return False
    if row["device_kind"] != "cpu" or row["status"] != "completed" or row["workflow"] == "startup":
        return False
    used = (row["bundle"].get("resources") or {}).get("cpu_util_pct", {}).get("mean", 0.0)
    return bool(0.0 < used < BUSY_BELOW)


def _serialized(row: Row) -> bool:
    timing = (row["bundle"].get("runtime") or {}).get("environment_step_timing") or {}
    return timing.get("measurement_mode") == "serialized_synchronized"


def _extra(row: Row, key: str) -> Any:
    return (row["bundle"].get("extra") or {}).get(key)


def _some(names: Sequence[str], most: int = 4) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
