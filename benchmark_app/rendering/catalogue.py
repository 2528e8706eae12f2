"""Every renderer in a table. Nothing is imported for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Renderer:
    """One renderer.

    Attributes:
        title: What it is, for a person.
        missing: Why it cannot be chosen, "" if it can.
    """

    title: str
    missing: str = ""


NOT_YET = "is not in this release: its name is reserved for result files"

RENDERERS: dict[str, Renderer] = {
    "none": Renderer(title="No camera, no video"),
    "newton": Renderer(title="Newton's Warp renderer", missing=NOT_YET),
    "ovrtx": Renderer(title="NVIDIA's RTX renderer as a library", missing=NOT_YET),
    "isaacsim_rtx": Renderer(title="The RTX renderer inside Isaac Sim", missing=NOT_YET),
}
"""Renderer name (`rendering=NAME`), in the words of the result files, to what is known of it."""
