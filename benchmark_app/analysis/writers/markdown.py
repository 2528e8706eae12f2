"""A comparison for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmark_app.analysis.comparison import Comparison, Group
from benchmark_app.analysis.writers import wording

_BOLD = ("improved", "regressed")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&@])")


def write_markdown(comparison: Comparison, advice: Sequence[str] = ()) -> str:
    """Summary first, then what regressed or improved, and all other tables folded away."""
    lines = [f"### Benchmark: {text(comparison.new)} against {text(comparison.base)}", ""]
    lines += [wording.summary(comparison).capitalize() + ".", ""]
    for group in comparison.groups:
        changed = [one for one in group.metrics if one.judgement.verdict in _BOLD]
        if changed:
            lines += [text(wording.title(comparison, group)), "", *_table(comparison, group, changed=True), ""]
    if comparison.groups:
        lines += ["<details><summary>All metrics</summary>", ""]
        for group in comparison.groups:
            remarks = [f"- {text(remark)}" for remark in wording.remarks(group)]
            lines += [
                text(wording.title(comparison, group)),
                "",
                *_table(comparison, group, changed=False),
                "",
                *remarks,
                "",
            ]
        lines += ["</details>", ""]
    lines += [f"- {text(line)}" for line in wording.refusals(comparison)]
    lines += [f"- {text(note)}" for note in comparison.notes]
    if advice:
        lines += ["", "```sh", *(wording.printable(line).replace("```", "") for line in advice), "```"]
    return "\n".join(lines).rstrip() + "\n"


def text(value: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return _MARKUP.sub(r"\\\1", wording.printable(value))


def _table(comparison: Comparison, group: Group, *, changed: bool) -> list[str]:
    heads = wording.headings(comparison)
    lines = [_row(heads), _row(["---", *["---:"] * (len(heads) - 2), "---"])]
    for result in group.metrics:
        word = result.judgement.verdict
        if changed and word not in _BOLD:
            continue
        cells = [text(cell) for cell in wording.row(result)]
        lines.append(_row([*cells[:-1], f"**{cells[-1]}**" if word in _BOLD else cells[-1]]))
    return lines


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
