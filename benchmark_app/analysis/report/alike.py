"""Sentences that differ in their numbers only, put into one: a hundred runs on a busy machine are one warning."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")  # not the one in a name, such as H200 or GPU-12


def shape(sentence: str) -> tuple[str, int]:
    """A sentence without its numbers, and how many it has: the same for all that differ in them only."""
    return _NUMBER.subn("#", sentence)


def merged(sentences: Iterable[str]) -> str:
    """One sentence for several of the same shape; where their numbers differ, from the smallest to the largest.

    `1.2 of 2 cores were busy` and `1.7 of 2 cores were busy` are `1.2 to 1.7 of 2 cores were busy`.
    """
    sentences = list(sentences)
    places = list(zip(*(_NUMBER.findall(sentence) for sentence in sentences), strict=True))

    def told(_: re.Match[str]) -> str:
        ordered = sorted(places.pop(0), key=float)
        return ordered[0] if float(ordered[0]) == float(ordered[-1]) else f"{ordered[0]} to {ordered[-1]}"

    return _NUMBER.sub(told, sentences[0])
