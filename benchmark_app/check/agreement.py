"""Whether engines say that they simulate the same robot. Light: it compares what they told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import SkipTest

from benchmark_app.bundle.equivalence import fact_differences

from .findings import require


def engines_agree_on_the_robot(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Links, masses, inertias, joints and gravity read back from the engines are the same.

    Args:
        facts: By engine, `RobotFacts` as plain data.
    """
    if len(facts) < 2:
        raise SkipTest("takes two engines; name another interpreter by --python ENGINE=PATH")
    (first, one), *others = facts.items()
    for second, other in others:
        differences = fact_differences(one, other)
        told = ", ".join(f"{row['fact']} ({row['reference']} and {row['physics']})" for row in differences[:3])
        more = f" and {len(differences) - 3} facts more" if len(differences) > 3 else ""
        require(not differences, f"{first} and {second} differ in {told}{more}; compare the robot's files")
    return f"{', '.join(facts)}: {len(one['links'])} links, {len(one['joints'])} joints"
