"""Whether engines say that they simulate the same robot. Light: it compares what they told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from unittest import SkipTest

from .findings import require

RELATIVE, ABSOLUTE = 1e-3, 1e-5


def engines_agree_on_the_robot(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Links, masses, inertias, joints and gravity read back from the engines are the same.

    Args:
        facts: By engine, `RobotFacts` as plain data.
    """
    if len(facts) < 2:
        raise SkipTest("takes two engines; name another interpreter by --python ENGINE=PATH")
    (first, one), *others = facts.items()
    for second, other in others:
        both = f"{first} and {second}"
        for part in ("joints", "links"):
            names = [[entry["name"] for entry in robot[part]] for robot in (one, other)]
            require(names[0] == names[1], f"{both} have different {part}: {names[0]} and {names[1]}; compare the files")
            for a, b in zip(one[part], other[part], strict=True):
                for key in a:
                    same = a[key] == b[key] or _close(a[key], b[key])
                    what = f"{key} of {a['name']}"
                    require(same, f"{both} differ in {what}: {a[key]} and {b[key]}; compare the robot's files")
        for key in ("gravity", "physics_dt"):
            require(_close(one[key], other[key]), f"{both} differ in {key}: {one[key]} and {other[key]}")
    return f"{', '.join(facts)}: {len(one['links'])} links, {len(one['joints'])} joints"


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple):
        # Of an inertia or a position, the largest part decides what a small one may be off by.
        size = max(map(abs, one), default=0.0)
        pairs = zip(one, other, strict=True)
        return all(math.isclose(a, b, rel_tol=RELATIVE, abs_tol=max(ABSOLUTE, RELATIVE * size)) for a, b in pairs)
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return False
