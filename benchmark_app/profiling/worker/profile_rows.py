"""From a cProfile of one start-up phase to the rows of the bundle.

A row is a function of ours, or a function of somebody else's that ours call directly. Of the latter only those calls
count that come from our code: what an engine spends in `isinstance` is the engine's, and shows in the row of the call
that led there.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import benchmark_app

Function = tuple[str, int, str]
"""File, line and name, as in pstats; the file of a built-in is `~`."""

_ROOTS = sorted({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}, key=len, reverse=True)
# What takes the profile is no part of it.
_MEASURING = tuple(str(Path(__file__).with_name(name)) for name in ("flame.py", "startup.py"))


@dataclass(frozen=True)
class Spent:
    """What a function took, of the calls that count.

    Attributes:
        own: Time in the function itself [s].
        cumulative: Time in it and in what it calls [s].
        calls: Number of calls.
        share: What it is ranked by [s]: of our functions their own time, of others the cumulative time.
    """

    own: float
    cumulative: float
    calls: int
    share: float


def rows(profile: cProfile.Profile, *, count: int, patterns: Sequence[str] | None, own: Iterable[str]) -> list[Any]:
    """The rows of a phase: `name`, `own_time_s`, `cum_time_s`, `calls`; the most expensive first.

    Args:
        profile: Taken of the phase.
        count: How many functions are kept where there are no patterns.
        patterns: Functions to keep instead, all that match one (`fnmatch`, case counts); a pattern that nothing
            matches is a row of zeros.
        own: Modules that are ours beside this package, such as the task's.
    """
    found: dict[str, Spent] = {}
    for function, spent in attributed(profile, _folders(own)).items():
        name = label(*function)
        found[name] = _together(found[name], spent) if name in found else spent
    ranked = sorted(found, key=lambda name: (-found[name].share, name))
    if patterns is None:
        return [_row(name, found[name]) for name in ranked[:count]]
    kept = [name for name in ranked if any(fnmatchcase(name, pattern) for pattern in patterns)]
    missed = [text for text in dict.fromkeys(patterns) if not any(fnmatchcase(name, text) for name in kept)]
    return [_row(name, found[name]) for name in kept] + [_row(text, Spent(0.0, 0.0, 0, 0.0)) for text in missed]


def attributed(profile: cProfile.Profile, folders: Sequence[Path]) -> dict[Function, Spent]:
    """What our functions took, and what the calls from them to others took.

    Args:
        profile: Taken while only code of ours was running when it began.
        folders: Where our code lies.
    """
    stats: dict[Function, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    found: dict[Function, Spent] = {}
    for function, (_, calls, own, cumulative, callers) in stats.items():
        if function[0] in _MEASURING or "_lsprof.Profiler" in function[2]:
            continue
        if _ours(function[0], tuple(folders)):
            found[function] = Spent(own, cumulative, calls, own)
            continue
        ours = [told for caller, told in callers.items() if _ours(caller[0], tuple(folders))]
        total = [sum(told[index] for told in ours) for index in (1, 2, 3)]
        # Calls without a caller come from the code that was running when the profile began, which is ours.
        if (direct := calls - sum(told[1] for told in callers.values())) > 0:
            total[0] += direct
            total[1] += max(0.0, own - sum(told[2] for told in callers.values()))
            total[2] += max(0.0, cumulative - sum(told[3] for told in callers.values()))
        if total[0]:
            # Calls inside one another are counted once for each caller; all together they cannot take longer than it.
            within = min(total[2], cumulative)
            found[function] = Spent(min(total[1], own), within, int(total[0]), within)
    return found


def _together(a: Spent, b: Spent) -> Spent:
    """Two functions of one name, such as the lambdas of a module."""
    return Spent(a.own + b.own, a.cumulative + b.cumulative, a.calls + b.calls, a.share + b.share)


def _row(name: str, spent: Spent) -> dict[str, Any]:
    return {"name": name, "own_time_s": spent.own, "cum_time_s": spent.cumulative, "calls": spent.calls}


def _folders(modules: Iterable[str]) -> list[Path]:
    """Where our package lies, and modules that count as ours."""
    folders = [Path(benchmark_app.__file__).parent]
    for name in (f"{benchmark_app.__name__}.tasks", *modules):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            # A module of a package brings its folder; one that stands alone, perhaps among installed ones, itself.
            folders.append(Path(file).parent if "." in name or Path(file).stem == "__init__" else Path(file))
    return folders


@lru_cache(maxsize=16384)
def _ours(file: str, folders: tuple[Path, ...]) -> bool:
    if not file or file.startswith(("~", "<")) or file in _MEASURING:
        return False
    return any(Path(file).is_relative_to(folder) for folder in folders)


def label(file: str, line: int, function: str) -> str:
    """`package.module:function`, the full dotted path below the folder Python imports it from."""
    if file == "~":
        return function
    if file.startswith("<"):  # the import system, or code made at run time
        return f"{file.strip('<>').removeprefix('frozen ')}:{function}"
    path = Path(file)
    for root in (*_ROOTS, str(Path(benchmark_app.__file__).parents[1])):
        if root and path.is_relative_to(root):
            path = path.relative_to(root)
            break
    return ".".join(path.with_suffix("").parts).lstrip("/.") + f":{function}"
