"""Repeated runs as tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.repeats import Repeats
from benchmark_app.analysis.writers.wording import printable

_HEADS = ("", "median", "min", "max", "unit", "between runs", "inside a run")


def write_text(found: Sequence[Repeats]) -> str:
    """A table for every configuration: the metrics that have a better end, with their spread."""
    lines = [line for one in found for line in _table(one)]
    lines.append("between runs, inside a run: standard deviation over the mean; of other metrics see the JSON")
    return "\n".join(map(printable, lines)) + "\n"


def title(one: Repeats) -> str:
    """What was repeated, in a line."""
    told = one.identity
    envs = None if told["num_envs"] is None else f"{told['num_envs']} environments"
    cache = None if told["kernel_cache"] is None else f"{told['kernel_cache']} kernel cache"
    words = [told["workflow"], told["task"], told["framework"], told["physics"], envs, told["device_kind"], cache]
    words += [f"seed {told['seed']}", told["settings"]]
    return " · ".join(str(word) for word in words if word)


def _table(one: Repeats) -> list[str]:
    runs = ", ".join(f"{number} {status}" for status, number in one.status.items())
    rows = [
        [
            *(name, f"{spread.median:.4g}", f"{spread.minimum:.4g}", f"{spread.maximum:.4g}", METRICS[name].unit),
            *(_percent(spread.cv), _percent(spread.within_cv)),
        ]
        for name, spread in one.spreads.items()
        if METRICS[name].direction is not None and _told(name, one.identity["workflow"])
    ]
    if not rows:
        return [f"{title(one)}: {runs}", ""]
    widths = [max(len(row[column]) for row in [_HEADS, *rows]) for column in range(len(_HEADS))]
    return [f"{title(one)}: {runs}", *(_line(row, widths) for row in [_HEADS, *rows]), ""]


def _told(name: str, workflow: str) -> bool:
    """Whether a metric stands in the table: phases of the start are for runs of the start."""
    return workflow == "startup" or METRICS[name].group != "start-up" or name == "startup_time_s"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = row
    cells = [
        cell.ljust(width) if head == "unit" else cell.rjust(width)
        for head, cell, width in zip(_HEADS[1:], numbers, widths[1:], strict=True)
    ]
    return "  " + "  ".join([name.ljust(widths[0]), *cells]).rstrip()


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}".replace("%", " %")
