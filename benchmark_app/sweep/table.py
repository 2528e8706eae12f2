"""A sweep for a person: one line per run, and for those that failed why, with what their log said last."""

from __future__ import annotations

import shutil
from collections import Counter

from .record import GOOD, Entry, Record

COLUMNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("return", ("play.return", "training.return"), "{:.1f}"),
    ("success", ("play.success_rate", "training.success_rate"), "{:.2f}"),
    ("steps/s", ("training.total_fps", "runtime.collection_fps"), "{:,.0f}"),
    ("first step", ("startup.first_step_s",), "{:.1f} s"),
)
"""Heading, the numbers it shows (the first there is), and how."""
LONGEST_LINE = 200


def table(record: Record) -> list[str]:
    """Every run of a sweep with its status, headline numbers and, where it failed, the reason and the log's end."""
    entries = record.current
    shown = [column for column in COLUMNS if any(name in entry.numbers for entry in entries for name in column[1])]
    head = ["status", "case", *(heading for heading, _, _ in shown)]
    rows = [[entry.status, entry.case or label(entry, record), *_numbers(entry, shown)] for entry in entries]
    widths = [max(len(row[index]) for row in [head, *rows]) for index in range(len(head))]
    lines = [_row(head, widths)]
    for entry, row in zip(entries, rows, strict=True):
        lines.append(_row(row, widths))
        if entry.reason and entry.status != "completed":
            lines.append(f"  {_shortened(entry.reason)}")
        if entry.status not in GOOD:
            lines += [f"  | {_shortened(line)}" for line in entry.log]
    return lines


def counts(record: Record) -> str:
    """How many runs are in which status: `7 completed, 2 crashed`."""
    found = Counter(entry.status for entry in record.current)
    return ", ".join(f"{number} {status}" for status, number in found.most_common()) or "nothing to run"


def label(entry: Entry, record: Record) -> str:
    """What a combination is among the others: the settings that not all of them have."""
    common = set.intersection(*(set(other.overrides) for other in record.current))
    return " ".join(text for text in entry.overrides if text not in common)


def progress_line(number: int, total: int, entry: Entry, record: Record) -> str:
    """What is said as a run begins."""
    line = f"[{number}/{total}] {entry.case}  {label(entry, record)}".rstrip()
    return line[: shutil.get_terminal_size((LONGEST_LINE, 24)).columns]


def _numbers(entry: Entry, columns: list[tuple[str, tuple[str, ...], str]]) -> list[str]:
    cells = []
    for _, names, form in columns:
        value = next((entry.numbers[name] for name in names if name in entry.numbers), None)
        cells.append("" if value is None else form.format(value))
    return cells


def _row(cells: list[str], widths: list[int]) -> str:
    left = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join([*left, *right]).rstrip()


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
