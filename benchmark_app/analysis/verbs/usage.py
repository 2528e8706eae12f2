"""What the verbs' command lines have in common."""

from __future__ import annotations

import argparse
from typing import NoReturn


class UsageError(ValueError):
    """What was typed cannot be carried out; one line."""


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` where argparse would print its usage and end the process."""

    def error(self, message: str) -> NoReturn:
        """Refuse what was typed.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self.prog.removeprefix('python -m benchmark_app ')}: {message}; see {self.prog} --help")
