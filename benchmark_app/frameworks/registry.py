"""Getting at a library by the settings that name it (`conf/framework/*.yaml`). Light: the parent process does so too.

A library is a package of two modules: `translation` (`mapping.Translation`; imports nothing heavy) and `adapter`
(`base.Adapter`; imports torch and the library).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from .base import Adapter
    from .mapping import Translation


def load_translation(module: str) -> Translation:
    """Import the light half of a library's package.

    Raises:
        ImportError: There is no such package.
    """
    return cast("Translation", importlib.import_module(f"{module}.translation"))


def load_adapter(module: str, world_size: int = 1) -> Adapter:
    """Import a library and its adapter.

    Args:
        module: The library's package.
        world_size: Processes that train one policy together.

    Raises:
        ImportError: There is no such package, or the library is not installed, or broken.
    """
    with ranks_of(world_size):
        return cast("Adapter", importlib.import_module(f"{module}.adapter"))


@contextmanager
def ranks_of(world_size: int) -> Iterator[None]:
    """Hide a launcher's `WORLD_SIZE` from a library that would answer it by joining a process group.

    skrl does so when it is imported, rsl_rl when its runner is built. Only where the supervisor itself started several
    ranks are the variables its own, and meant for the library.
    """
    if world_size > 1:
        yield
        return
    hidden = {key: os.environ.pop(key) for key in ("WORLD_SIZE", "RANK", "LOCAL_RANK") if key in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
