"""From a bundle to its row in the table of runs, and from rows to the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import polars as pl

from benchmark_app.analysis.metrics import METRICS, metrics_of
from benchmark_app.bundle.check import BundleError
from benchmark_app.bundle.schema import BUNDLES

Row = dict[str, Any]

_VERSIONS = ("torch", "numpy", "warp", "newton", "mjwarp", "mujoco", "isaaclab", "isaacsim")
_TEXT = pl.String
_FACTS: dict[str, Any] = {
    "path": _TEXT,
    "run_id": _TEXT,
    "status": _TEXT,
    "reason": _TEXT,
    "start_time_utc": pl.Datetime("us", "UTC"),
    "seed": pl.Int64,
    "workflow": _TEXT,
    "task": _TEXT,
    "framework": _TEXT,
    "physics": _TEXT,
    "rendering": _TEXT,
    "presets": _TEXT,
    "num_envs": pl.Int64,
    "budget": pl.Int64,
    "resumed": pl.Int64,
    "ranks": pl.Int64,
    "device_kind": _TEXT,
    "threads": pl.Int64,
    "execution": _TEXT,
    "numerics": _TEXT,
    "settings": _TEXT,
    "overrides": _TEXT,
    "kernel_cache": _TEXT,
    "mode": _TEXT,
    "producer": _TEXT,
    "schema_major": pl.Int64,
    "hardware": _TEXT,
    "host": _TEXT,
    "machine": _TEXT,
    "synthetic": pl.Boolean,
    "perturbed": _TEXT,
    "oversubscribed": pl.Boolean,
    "commit": _TEXT,
    "branch": _TEXT,
    "dirty": pl.Boolean,
    "benchmark_app": _TEXT,
    "framework_version": _TEXT,
    **dict.fromkeys(_VERSIONS, _TEXT),
}
# Column → type: what identifies and describes a run, then one column per metric.
COLUMNS: dict[str, Any] = _FACTS | dict.fromkeys(METRICS, pl.Float64)
# The curves of a training, on request: one value per iteration.
SERIES = {
    "reward_series": "reward",
    "ep_length_series": "ep_length",
    "success_series": "success_rate",
}
_NO_CURVE = {"series_per_iter": None}
_SERIES_TYPE = pl.List(pl.Float64)
_INT64 = 2**63


def row_of(path: str, workflow: str, bundle: Mapping[str, Any], *, series: bool = False) -> Row:
    """The row of a bundle.

    Args:
        path: Its file.
        workflow: What its content says it is of.
        bundle: Its JSON object, checked against the schema; fields with a default may be absent.
        series: Also the columns of `SERIES`.

    Returns:
        Value by column. What was not measured is None, never 0: numbers named in `extra.not_reached`, GPU numbers of a
        run without one, and the ends of curves in which no episode finished.

    Raises:
        BundleError: An integer that is beyond 64 bits.
    """
    row = _facts(path, workflow, bundle) | _metrics(workflow, bundle)
    if series:
        row |= {column: _curve(bundle, name) for column, name in SERIES.items()}
    return row


def frame(rows: Iterable[Row], extra: Mapping[str, Any] | None = None, *, series: bool = False) -> pl.DataFrame:
    """The table of rows; columns a row lacks are null in it.

    Args:
        rows: Values by column.
        extra: Columns beyond `COLUMNS`, with their types.
        series: Whether the columns of `SERIES` are wanted.
    """
    schema = COLUMNS | dict(extra or {}) | (dict.fromkeys(SERIES, _SERIES_TYPE) if series else {})
    rows = list(rows)
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in schema}, schema=schema)


def run_key(bundle: Mapping[str, Any], workflow: str) -> tuple[str, ...]:
    """What a run has and no other: two files with equal keys are copies of one bundle."""
    run = bundle["run"]
    return workflow, run["run_id"], run["start_time_utc"], run["end_time_utc"]


def _facts(path: str, workflow: str, bundle: Mapping[str, Any]) -> Row:
    run, versions, extra = bundle["run"], bundle["versions"], bundle.get("extra") or {}
    timing = (bundle.get("runtime") or {}).get("environment_step_timing") or {}
    hardware, host = _hardware(bundle["hardware"]), bundle["hardware"]["hostname"] or None
    framework = run["framework"] or _text(extra.get("framework"))
    row: Row = {
        "path": path,
        "run_id": run["run_id"],
        "status": run["status"],
        "reason": _text(extra.get("reason")),
        "start_time_utc": _time(run["start_time_utc"]),
        "seed": run["seed"],
        "workflow": workflow,
        "task": run["task"],
        "framework": framework,
        "physics": run["config"]["physics_backend"],
        "rendering": run["config"].get("rendering_backend", "none"),
        "presets": ",".join(sorted(run["config"].get("presets", []))),
        "num_envs": run.get("num_envs") if workflow != "startup" else None,
        "budget": _budget(workflow, bundle, extra),
        "resumed": (_integer(extra.get("resumed_iterations")) or 0) if workflow == "training" else None,
        "ranks": (_integer(extra.get("world_size")) or 1) if workflow == "training" else None,
        "device_kind": _device_kind(bundle, extra),
        "threads": _integer(extra.get("threads")),
        "execution": _text(extra.get("execution")) or "local",
        "numerics": _numerics(extra),
        "settings": _text(extra.get("settings")),
        "overrides": _text(extra.get("native_overrides")) or None,
        "kernel_cache": _text(extra.get("kernel_cache")),
        "mode": timing.get("measurement_mode"),
        "producer": "benchmark_app" if "benchmark_app" in extra else "isaaclab",
        "schema_major": int(bundle["schema_version"].split(".")[0]),
        "hardware": hardware,
        "host": host,
        "machine": f"{host} ({hardware})" if host and hardware else host or hardware,
        "synthetic": bool(extra.get("synthetic", False)),
        "perturbed": _text(extra.get("perturbed") or ""),
        "oversubscribed": extra.get("oversubscribed") is True,
        "commit": versions["git_commit"],
        "branch": versions["git_branch"],
        "dirty": versions["git_dirty"],
        "benchmark_app": _text(extra.get("benchmark_app")),
        "framework_version": _text(extra.get("framework_version")) or _text(versions.get(framework)),
        **{name: versions.get(name) or None for name in _VERSIONS},
    }
    for name, value in row.items():
        if isinstance(value, str):
            row[name] = _clean(value)
        elif type(value) is int and not -_INT64 <= value < _INT64:
            raise BundleError(name, "expected an integer of 64 bits")
    return row


def _metrics(workflow: str, bundle: Mapping[str, Any]) -> Row:
    """Every metric of the workflow; one that is not in the bundle, or only stands there for a number, is None."""
    sections = {section: _section(bundle, section) for section in _SECTIONS[workflow]}
    row: Row = {}
    for name, paths in _SOURCES[workflow].items():
        total = 0.0
        for section, key in paths:
            value = sections[section].get(key)
            if type(value) is not float and type(value) is not int:  # exact: true and false are integers to Python
                row[name] = None
                break
            total += value
        else:
            row[name] = total if math.isfinite(total) else None  # a sum may leave the range of floats
    for gap in _gaps(bundle):
        row |= dict.fromkeys(_below(workflow, gap))
    return row


def _source(path: str) -> tuple[tuple[str, ...], str]:
    """A dotted path as (section, key). The keys of `extra` may hold dots themselves."""
    section, _, key = path.partition(".") if path.startswith("extra.") else path.rpartition(".")
    return tuple(section.split(".")) if section else (), key


_SOURCES = {
    workflow: {metric.name: [_source(path) for path in metric.sources[workflow]] for metric in metrics_of(workflow)}
    for workflow in BUNDLES
}
_SECTIONS = {
    workflow: {section for paths in sources.values() for section, _ in paths} for workflow, sources in _SOURCES.items()
}


@lru_cache(maxsize=1024)
def _below(workflow: str, gap: str) -> tuple[str, ...]:
    """The metrics that stand at a path, or below it."""
    return tuple(
        metric.name
        for metric in metrics_of(workflow)
        if any(path == gap or path.startswith(f"{gap}.") for path in metric.sources[workflow])
    )


def _section(bundle: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    """The object below some keys, empty where there is none."""
    value: Any = bundle
    for name in names:
        value = value.get(name)
        if not isinstance(value, dict):
            return {}
    return value  # type: ignore[no-any-return]  # a mapping, by the loop


def _gaps(bundle: Mapping[str, Any]) -> list[str]:
    """Paths at or below which zeros stand for numbers that were not measured."""
    extra = bundle.get("extra") or {}
    gaps = [gap for gap in str(extra.get("not_reached", "")).split(",") if gap]
    # Isaac Lab writes zeros for a GPU that is not there, and does not say so.
    if not extra.get("gpu_measured", bool(bundle["hardware"]["gpu_devices"])):
        gaps += ["resources.gpu_util_pct", "resources.gpu_mem_gb"]
    # A curve without a point has no end.
    learning = bundle.get("learning") or {}
    return gaps + [
        f"learning.{name}" for name in SERIES.values() if (learning.get(name) or _NO_CURVE)["series_per_iter"] == []
    ]


def _curve(bundle: Mapping[str, Any], name: str) -> pl.Series | None:
    curve = (bundle.get("learning") or {}).get(name)
    values = curve["series_per_iter"] if curve is not None else None
    return pl.Series(values, dtype=pl.Float64) if values else None


def _budget(workflow: str, bundle: Mapping[str, Any], extra: Mapping[str, Any]) -> int | None:
    if workflow == "training":
        budget: int | None = bundle["run"].get("max_iterations")
        return budget
    if workflow == "startup" or bundle["run"]["status"] != "completed":
        return None
    if workflow == "play" and "n_episodes" in extra:
        return _integer(extra["n_episodes"])
    completed: int = bundle["runtime"]["iterations_completed"]
    return completed


def _device_kind(bundle: Mapping[str, Any], extra: Mapping[str, Any]) -> str | None:
    """`cpu` or `cuda`. Isaac Lab does not tell; it takes the GPU where there is one."""
    if "device" in extra:
        return str(extra["device"]).partition(":")[0]
    if "benchmark_app" in extra:
        return None  # the run ended before its worker said
    return "cuda" if bundle["hardware"]["gpu_devices"] else "cpu"


def _numerics(extra: Mapping[str, Any]) -> str | None:
    """Such as `highest` or `high+cudnn_tf32`."""
    if "matmul_precision" not in extra:
        return None
    return "+".join([str(extra["matmul_precision"]), *(n for n in ("cudnn_tf32", "cudnn_benchmark") if extra.get(n))])


def _hardware(hardware: Mapping[str, Any]) -> str | None:
    """Such as `AMD EPYC, 2 cores, NVIDIA H200`."""
    if not hardware["cpu_name"]:
        return None
    return ", ".join(
        [hardware["cpu_name"], f"{hardware['cpu_count']} cores", *(gpu["name"] for gpu in hardware["gpu_devices"])]
    )


def _time(text: str) -> datetime | None:
    """An ISO time in UTC; None for a text that is none, which the schema allows."""
    try:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _integer(value: object) -> int | None:
    return value if type(value) is int else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _clean(text: str) -> str:
    """The text with lone surrogates, which JSON can hold and UTF-8 cannot, as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
