"""Starting the processes that check, and hearing what they find. Light."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import benchmark_app

from .findings import FAILED, Finding, one_line
from .job import Job

LAST_LINES = 3


def results_of(job: Job, python: str) -> Iterator[dict[str, Any]]:
    """Do a job in a process of its own.

    Args:
        job: What to do.
        python: The interpreter to do it in.

    Yields:
        What the process sends, as it comes; at last a failed finding, where it ended otherwise than it should.
    """
    program = Path(benchmark_app.__file__).parent / "check" / "__main__.py"
    read, write = os.pipe()
    with tempfile.TemporaryFile() as log:
        # -P: the folder the user is in must not shadow modules.
        command = [python, "-P", str(program), json.dumps(asdict(job)), str(write)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, pass_fds=[write]
        )
        os.close(write)
        try:
            with open(read, encoding="utf-8") as lines:
                for line in lines:
                    yield json.loads(line)
            status = process.wait()
        finally:
            if process.poll() is None:  # nobody waits for the rest
                process.kill()
                process.wait()
        if status != 0:
            yield {"finding": asdict(_crash(job, status, log))}


def _crash(job: Job, status: int, log: Any) -> Finding:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()[-LAST_LINES:]
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return Finding(
        place=job.place,
        check="it can be built and checked",
        claim="The task's module and its scene can be loaded, and the engine survives it.",
        verdict=FAILED,
        text=one_line(f"the process ended with {how}: {' | '.join(lines)}"),
    )
