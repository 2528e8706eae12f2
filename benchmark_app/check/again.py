"""Running the recorded commands of reference results again. Light: the runs are processes like any other."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import SkipTest

from benchmark_app.catalogue.reference import ReferenceResult, read_reference

from .claims import Claims
from .engines import python_of, why_not
from .findings import Finding, judge
from .reference import the_reference_result_is_got_again
from .runs import find_runs, seed_results

PLACE = "reference"
LAST_LINES = 4


def run_again(claims: Claims, engines: list[str], pythons: dict[str, str], config_dir: str | None) -> Iterator[Finding]:
    """Train and play every recorded result anew, in a temporary folder, and compare.

    Args:
        claims: The task.
        engines: Only results on these; empty: on all.
        pythons: Interpreters by engine.
        config_dir: A folder of the user's, with the Hydra group `task`.
    """
    for result in read_reference(claims.entry.reference):
        if not engines or result.physics in engines:
            yield judge(
                f"{PLACE}: {result.framework} on {result.physics}",
                the_recorded_command_gives_it_again,
                claims,
                result,
                pythons,
                config_dir,
            )


def the_recorded_command_gives_it_again(
    claims: Claims, result: ReferenceResult, pythons: dict[str, str], config_dir: str | None
) -> str:
    """The recorded command gives means within the expected intervals again."""
    python = python_of(result.physics, pythons)
    if reason := why_not(result.physics, result.device, python):
        raise SkipTest(reason)
    with tempfile.TemporaryDirectory(prefix="benchmark_app-") as folder:
        command = [sys.executable, *shlex.split(result.command)[1:], "run.report=false"]
        command.append(f"hydra.{'sweep' if '-m' in command[3:] else 'run'}.dir={Path(folder) / 'runs'}")
        if python != sys.executable:
            command.append(f"worker.python={python}")
        if config_dir is not None:
            command += ["--config-dir", config_dir]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = " | ".join((done.stderr or done.stdout).strip().splitlines()[-LAST_LINES:])
            raise AssertionError(f"{result.command}: ended with exit status {done.returncode}: {said}")
        again = seed_results(find_runs([Path(folder)], claims.entry.name))
    return the_reference_result_is_got_again(result, again)
