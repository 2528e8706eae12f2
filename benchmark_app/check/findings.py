"""What a check found. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import SkipTest

OK, FAILED, UNCHECKED = "ok", "failed", "not checked"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        place: Where it looked: `files`, or an engine's name.
        check: Its name, in words.
        claim: What must hold, in a sentence.
        verdict: `ok`, `failed` or `not checked`.
        text: What was looked at, what is wrong and what to do about it, or why it could not be judged here: one line.
    """

    place: str
    check: str
    claim: str
    verdict: str
    text: str


def judge(place: str, check: Callable[..., str | None], *subject: Any) -> Finding:
    """Run a check.

    Args:
        place: Where it looks.
        check: The check; its docstring's first line is the claim.
        *subject: What it is given.
    """
    try:
        verdict, text = OK, check(*subject) or ""
    except SkipTest as reason:
        verdict, text = UNCHECKED, str(reason)
    except AssertionError as error:
        verdict, text = FAILED, str(error)
    except Exception as error:  # a task is anyone's code and may fail in any way
        verdict, text = FAILED, f"{type(error).__name__}: {error}"
    return Finding(place=place, check=title(check), claim=_claim(check), verdict=verdict, text=one_line(text))


def title(check: Callable[..., Any]) -> str:
    """A check's name, in words."""
    return check.__name__.replace("_", " ")


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def require(holds: bool, remedy: str) -> None:
    """Fail the check unless something holds.

    Args:
        holds: Whether it does.
        remedy: What is wrong and what to do, in one line.
    """
    if not holds:
        raise AssertionError(remedy)


def _claim(check: Callable[..., Any]) -> str:
    return (check.__doc__ or "").strip().partition("\n")[0]
