"""Findings as a person reads them."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence

from .claims import Claims
from .findings import FAILED, OK, UNCHECKED, Finding

_MARKS = {OK: "ok", FAILED: "FAILED", UNCHECKED: "not here"}
_MARK, _NAME = 10, 46
_FOLD = 60


def head(claims: Claims) -> str:
    """The line above a task's findings."""
    return f"{claims.entry.name} ({claims.cfg.gym_id}), declared for {', '.join(claims.declaration.engines)}"


def finding_lines(finding: Finding) -> list[str]:
    """A finding: its verdict, its name and what was found; of a failed one also what must hold."""
    start = f"  {_MARKS[finding.verdict]:<{_MARK}}{finding.check:<{_NAME}} "
    indent = " " * (2 + _MARK)
    if finding.verdict == OK:
        return [f"{start}{finding.text}".rstrip()]
    lines = [start.rstrip(), *_wrapped(finding.text, indent)]
    if finding.verdict == FAILED:
        lines += _wrapped(f"must hold: {finding.claim}", indent)
    return lines


def summary(findings: Sequence[Finding]) -> str:
    """The line below them, and what was not looked at."""
    counts = Counter(finding.verdict for finding in findings)
    text = f"{counts[OK]} ok, {counts[FAILED]} failed, {counts[UNCHECKED]} not checkable here"
    places = sorted({finding.place for finding in findings if finding.verdict == FAILED})
    return f"{text}{' (failed: ' + ', '.join(places) + ')' if places else ''}\n"


def _wrapped(text: str, indent: str) -> list[str]:
    width = max(_FOLD, min(120, shutil.get_terminal_size().columns))
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
