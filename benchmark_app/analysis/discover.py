"""Which files a person means by the paths they give: files, folders and globs."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# A run directory says so by its manifest; these folders of it hold thousands of JSON files and never a bundle.
MANIFEST = "run.json"
_NO_BUNDLES = {"journal", "checkpoints", "logs", "nan_dump", "startup_profile"}


class LoadError(ValueError):
    """A path that leads to no file; one line that names it."""


@dataclass(frozen=True)
class Found:
    """A candidate.

    Args:
        path: The file.
        named: True if the person named this very file, so that it has to be a bundle.
    """

    path: str
    named: bool


def find(paths: Paths) -> Iterator[Found]:
    """All candidates, each once, in the order of the paths, sorted below each.

    A folder stands for the `*.json` files in it and below it, hidden ones and links to folders left out. A glob (`**`
    reaches any depth) stands for what it matches: for its files, and for the folders as if they were given.

    Raises:
        LoadError: A path does not exist, a glob matches nothing, or there is no path at all.
    """
    seen: set[tuple[int, int]] = set()
    for found in _candidates([paths] if isinstance(paths, (str, os.PathLike)) else paths):
        try:
            status = os.stat(found.path)
        except (OSError, ValueError):  # gone meanwhile, or a dangling link: reading it says what is wrong
            yield found
            continue
        same = (status.st_dev, status.st_ino)
        if (stat.S_ISREG(status.st_mode) or found.named) and (same not in seen or status.st_ino == 0):
            seen.add(same)
            yield found


def _candidates(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Found]:
    empty = True
    for given in paths:
        empty = False
        text = os.fspath(given)
        if "\0" in text or text == "":
            raise LoadError(f"{text!r}: give the path of a file or folder")
        if os.path.lexists(text):
            yield from _below(text) if os.path.isdir(text) else [Found(text, True)]
        elif glob.has_magic(text):
            matches = sorted(glob.iglob(text, recursive=True))
            if not matches:
                raise LoadError(f"{text}: matches no file; check the pattern")
            for match in matches:
                yield from _below(match) if os.path.isdir(match) else [Found(match, False)]
        else:
            raise LoadError(f"{text}: no such file or folder")
    if empty:
        raise LoadError("no path given; name files, folders or globs")


def _below(folder: str) -> Iterator[Found]:
    for parent, folders, names in os.walk(folder):
        pruned = _NO_BUNDLES if MANIFEST in names else set()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in pruned)
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith("."):
                yield Found(os.path.join(parent, name), False)
