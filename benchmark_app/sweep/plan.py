"""What a sweep is to run: every combination composed and checked before anything starts."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.settings import SettingError, Settings, UnsupportedError

from .cases import Case

Compose = Callable[[list[str]], tuple[Settings, HydraRecord]]


@dataclass(frozen=True, kw_only=True)
class Member:
    """One combination of a sweep.

    Attributes:
        overrides: The settings that make it, as they would be typed.
        case: What is run; None where it cannot be.
        status: planned, refused (it cannot work), or skipped (a suite's combination that something in it does not
            support, or that is not installed here).
        reason: Why it is not planned.
    """

    overrides: list[str]
    case: Case | None
    status: str = "planned"
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a sweep was asked for.

    Attributes:
        members: Every combination once, in the order they were asked for.
        merged: How many were the same as an earlier one.
    """

    members: list[Member]
    merged: int

    @property
    def cases(self) -> list[Case]:
        """What can be run."""
        return [member.case for member in self.members if member.case is not None]


def make_plan(combinations: list[list[str]], compose: Compose, *, suite: bool) -> Plan:
    """Compose and check every combination.

    Args:
        combinations: The settings of each.
        compose: Composes and checks one; raises `SettingError` where it cannot work.
        suite: They are a suite's: what is not supported is skipped then, and no fault of whoever typed it.
    """
    members: list[Member] = []
    seen: dict[str, Member] = {}
    distinct = list(dict.fromkeys(map(tuple, combinations)))
    for index, overrides in enumerate(map(list, distinct)):
        _show(index, len(distinct))
        try:
            settings, record = compose(overrides)
        except SettingError as error:
            skipped = suite and isinstance(error, UnsupportedError)
            status = "skipped" if skipped else "refused"
            members.append(Member(overrides=overrides, case=None, status=status, reason=str(error)))
            continue
        case = Case.of(settings, record)
        earlier = seen.setdefault(case.name, member := Member(overrides=overrides, case=case))
        if earlier is member:
            members.append(member)
        elif earlier.case is None or earlier.case.settings != case.settings:
            reason = (
                f"differs from {case.name} in run.*, sweep.*, repeats or worker.debug only, and they make no other case"
            )
            members.append(Member(overrides=overrides, case=None, status="refused", reason=reason))
    _show(len(distinct), len(distinct))
    return Plan(members=members, merged=len(combinations) - len(members))


def repeated(plan: Plan) -> Plan:
    """The plan with every combination as often as its `repeats` say.

    In turn, A B A B and not A A B B: what drifts on the machine meanwhile then meets all of them alike.
    """
    members: list[Member] = []
    most = max((case.settings.repeats for case in plan.cases), default=1)
    for number in range(1, most + 1):
        for member in plan.members:
            if member.case is None or member.case.settings.repeats == 1:
                members += [member] if number == 1 else []
            elif number <= member.case.settings.repeats:
                members.append(dataclasses.replace(member, case=member.case.again(number)))
    return dataclasses.replace(plan, members=members)


def _show(done: int, total: int) -> None:
    """Tell a person at a terminal how many are checked; a tenth of a second each adds up."""
    if total > 1 and sys.stderr.isatty():
        sys.stderr.write("\r\033[K" if done == total else f"\r\033[Kchecking {done + 1}/{total}")
        sys.stderr.flush()
