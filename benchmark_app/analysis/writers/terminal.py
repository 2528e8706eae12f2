"""A comparison as tables of plain text, in colour where the terminal has any."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark_app.analysis.comparison import Comparison, Group
from benchmark_app.analysis.writers import wording

_MANY = 8  # groups beyond which only changes are listed
_COLOURS = {"improved": "\033[32m", "regressed": "\033[31m", "underpowered": "\033[33m", "not comparable": "\033[35m"}
_RESET = "\033[0m"


def write_terminal(comparison: Comparison, advice: Sequence[str] = (), *, colour: bool = False) -> str:
    """Tables by workload, then what could not be compared, notes, advice and a summary."""
    brief = len(comparison.groups) > _MANY
    lines: list[str] = []
    for group in comparison.groups:
        lines += _table(comparison, group, brief, colour)
    after = wording.refusals(comparison)
    after += [f"note: {note}" for note in comparison.notes]
    if brief:
        after.append(f"note: {len(comparison.groups)} workloads: only changes are listed; --format json has everything")
    after += [*advice, wording.summary(comparison)]
    return "\n".join([*lines, *map(wording.printable, after)]) + "\n"


def _table(comparison: Comparison, group: Group, brief: bool, colour: bool) -> list[str]:
    results = [one for one in group.metrics if not brief or one.judgement.verdict in ("improved", "regressed")]
    if not results:
        return []
    rows = [[wording.printable(cell) for cell in wording.row(result)] for result in results]
    heads = wording.headings(comparison)
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads) - 1)]
    lines = [_line(heads, widths, heads[-1])]
    for row, result in zip(rows, results, strict=True):
        word = result.judgement.verdict
        verdict = f"{wording.MARKS[word]} {row[-1]}"
        lines.append(
            _line(row, widths, f"{_COLOURS[word]}{verdict}{_RESET}" if colour and word in _COLOURS else verdict)
        )
    remarks = [f"  note: {remark}" for remark in wording.remarks(group)]
    return [wording.printable(wording.title(comparison, group)), *lines, *map(wording.printable, remarks), ""]


def _line(row: Sequence[str], widths: Sequence[int], verdict: str) -> str:
    first, *numbers = (cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True))
    return "  " + "  ".join([first.strip().ljust(widths[0]), *numbers, verdict])
