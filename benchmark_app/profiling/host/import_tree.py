"""The import-time tree of a worker, read from what `python -X importtime` printed into its log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmark_app.bundle.write import write_text_file
from benchmark_app.profiling.speedscope import Stack, write

_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| ( *)(\S+)")
SHOWN_S = 0.001
"""Modules that took less, with all they import, are left out of the text."""


@dataclass
class Module:
    """One import.

    Attributes:
        name: Of the module.
        own_s: Time in the module itself [s].
        total_s: Time in it and in what it imports [s].
        imports: What it was the first to import, in order.
    """

    name: str
    own_s: float
    total_s: float
    imports: list[Module] = field(default_factory=list)


def read_tree(lines: Iterable[str]) -> list[Module]:
    """The imports nobody else caused, each with those it caused, in order.

    Python prints a module once it is there, so after what it imported, with two spaces more for every level.
    """
    waiting: dict[int, list[Module]] = {}
    for line in lines:
        # Others may have written to the same file, into the middle of a line.
        if (found := _LINE.search(line)) is None:
            continue
        own, total, indent, name = found.groups()
        level = len(indent) // 2
        module = Module(name, int(own) / 1e6, int(total) / 1e6, waiting.pop(level + 1, []))
        waiting.setdefault(level, []).append(module)
    # Levels above the first that nobody took: the process ended in the middle of an import.
    return [module for level in sorted(waiting) for module in waiting[level]]


def write_tree(log: Path, text: Path, speedscope: Path) -> bool:
    """Write the tree a worker's log holds, as text and for https://www.speedscope.app.

    Returns:
        Whether it held any.

    Raises:
        OSError: The log cannot be read, or a file not be written.
    """
    with log.open(encoding="utf-8", errors="replace") as stream:
        tree = read_tree(stream)
    if tree:
        write_text_file("\n".join(_text(tree)) + "\n", text)
        write(speedscope, "imports", {"imports": _samples(tree, ())})
    return bool(tree)


def _text(tree: list[Module]) -> Iterator[str]:
    total = sum(module.total_s for module in tree)
    yield f"Imports, {total:.3f} s in all, as python -X importtime times them; slowest first, in each level."
    yield f"Under a profiler: compare them with each other. Left out is what takes less than {1e3 * SHOWN_S:g} ms."
    yield ""
    yield "  total s    own s  module"
    yield from _branch(tree, 0)


def _branch(modules: list[Module], level: int) -> Iterator[str]:
    for module in sorted(modules, key=lambda each: -each.total_s):
        if module.total_s >= SHOWN_S:
            yield f"{module.total_s:9.3f} {module.own_s:8.3f}  {'  ' * level}{module.name}"
            yield from _branch(module.imports, level + 1)


def _samples(modules: list[Module], above: Stack) -> Iterator[tuple[Stack, float]]:
    for module in modules:
        here = (*above, module.name)
        yield from _samples(module.imports, here)
        yield here, module.own_s
