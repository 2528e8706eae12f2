"""What an interpreter is and has installed.

Standard library only and free of imports from this package: to look at another interpreter, this file is run there.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Collection
from dataclasses import asdict, dataclass

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter.

    Attributes:
        python: Its version, major and minor.
        versions: Version by distribution, for those that were asked for; None: not installed.
    """

    python: tuple[int, int]
    versions: dict[str, str | None]


def this_interpreter(distributions: Collection[str]) -> Interpreter:
    """Look the distributions up here."""
    return Interpreter(sys.version_info[:2], {name: _version(name) for name in distributions})


def other_interpreter(python: str, distributions: Collection[str]) -> Interpreter:
    """Look them up in another interpreter, in a process of its own that imports nothing of them.

    Raises:
        OSError: The program cannot be started.
        subprocess.SubprocessError: It is no Python interpreter, or does not answer.
    """
    # -P: as the worker will be started.
    command = [python, "-P", __file__, *distributions]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=TIMEOUT_S
        )
    except subprocess.CalledProcessError as error:
        told = f"exit status {error.returncode}"
        raise subprocess.SubprocessError(f"{told}: it is no Python interpreter, or one older than 3.11") from None
    except subprocess.TimeoutExpired:
        raise subprocess.SubprocessError(f"no answer within {TIMEOUT_S:.0f} s") from None
    try:
        facts = json.loads(done.stdout)
        return Interpreter(tuple(facts["python"]), facts["versions"])
    except (ValueError, TypeError, KeyError):
        raise subprocess.SubprocessError("it ran, and is no Python interpreter") from None


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    print(json.dumps(asdict(this_interpreter(sys.argv[1:]))))
