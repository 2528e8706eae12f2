"""Where files of the package lie. Light: nothing is imported for it."""

from __future__ import annotations

from pathlib import Path


def conf_dir() -> Path:
    """Return the folder of the configuration: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"
