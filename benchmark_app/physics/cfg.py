"""Settings every engine has: `physics.*`. This module is light: nothing is imported for it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class EngineCfg:
    """`physics=`: the physics engine. Each engine has a subclass with its own settings.

    Attributes:
        name: The one typed as `physics=NAME`.
        allow: Names of warnings that mean wrong physics and are to be counted, but not to fail the run.
    """

    name: str
    allow: list[str] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Every setting that cannot work, as `key=value: what is allowed`."""
        from .catalogue import ENGINES

        known = sorted(ENGINES[self.name].warnings)
        return [
            f"allow={self.allow}: {name} is no warning of {self.name}; known: {', '.join(known)}"
            for name in self.allow
            if name not in known
        ]

    def keywords(self) -> dict[str, Any]:
        """The engine's own settings, keyword arguments of its class."""
        plain = dataclasses.asdict(self)
        return {name: value for name, value in plain.items() if name != "name"}


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> list[str]:
    """The problem of a value that is not among those allowed."""
    return [] if value in allowed else [f"{name}={value}: must be one of {', '.join(map(str, allowed))}"]


def at_least(name: str, value: float | None, least: float) -> list[str]:
    """The problem of a number that is too small; None is no number and fine."""
    return [] if value is None or value >= least else [f"{name}={value}: must be at least {least}"]
