"""USD as text: prims, their metadata and values. Nothing is imported."""

from __future__ import annotations

from collections.abc import Iterable


def schemas(names: list[str]) -> list[str]:
    """Metadata of a prim that these API schemas are applied to; nothing of none."""
    listed = ", ".join(f'"{name}"' for name in names)
    return [f"prepend apiSchemas = [{listed}]"] if names else []


def prim(head: str, metadata: list[str], body: list[str]) -> list[str]:
    """Lines of a prim, such as `def Xform "World"`."""
    opened = [f"{head} (", *_indented(metadata), ")"] if metadata else [head]
    return [*opened, "{", *_indented(body), "}"]


def vector(values: Iterable[float]) -> str:
    """A tuple of numbers, each with all its digits."""
    return "(" + ", ".join(repr(float(value)) for value in values) + ")"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]
