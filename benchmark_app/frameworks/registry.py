"""Which RL libraries there are, and how to get at one. Light: the parent process asks it too, without torch."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from . import rsl_rl, skrl
    from .base import Adapter

    # The type checker proves here that each adapter module keeps the contract.
    _ADAPTERS: tuple[Adapter, ...] = (rsl_rl, skrl)


@dataclass(frozen=True)
class Framework:
    """One RL library.

    Attributes:
        module: Adapter module; importing it imports the library.
        distribution: Name the library is installed under.
    """

    module: str
    distribution: str


FRAMEWORKS: dict[str, Framework] = {
    "rsl_rl": Framework("benchmark_app.frameworks.rsl_rl", "rsl-rl-lib"),
    "skrl": Framework("benchmark_app.frameworks.skrl", "skrl"),
}


def installed_version(name: str) -> str | None:
    """Version of a known library in this interpreter, None if it is not installed. Imports nothing of it."""
    try:
        return importlib.metadata.version(FRAMEWORKS[name].distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def load_adapter(name: str) -> Adapter:
    """Import a library and its adapter.

    Raises:
        KeyError: The name is not in `FRAMEWORKS`.
        ImportError: The library is not installed, or broken.
    """
    with single_process():
        return cast("Adapter", importlib.import_module(FRAMEWORKS[name].module))


@contextmanager
def single_process() -> Iterator[None]:
    """Hide a launcher's `WORLD_SIZE` from a library that would answer it by joining a process group.

    skrl does so when it is imported, rsl_rl when its runner is built; here one worker is one training.
    """
    hidden = {key: os.environ.pop(key) for key in ("WORLD_SIZE", "RANK", "LOCAL_RANK") if key in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
