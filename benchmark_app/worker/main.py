"""What a worker does, from its first line to its exit status."""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from pathlib import Path

from benchmark_app.journal import JournalWriter
from benchmark_app.journal.events import Failed, Refused
from benchmark_app.parent_link import ParentLink
from benchmark_app.workflows import WORKFLOWS, RefusedError
from benchmark_app.workflows.session import Session

DONE, FAILED, REFUSED = 0, 1, 2


def main(spec_path: Path, fd: int, spawned_at: float) -> int:
    """Run one workflow.

    Args:
        spec_path: File in which the supervisor says what to do.
        fd: This end of the pipe to the supervisor.
        spawned_at: When the supervisor started this process [s, monotonic clock].

    Returns:
        Exit status: 0 the work ended (finished or stopped when asked), 1 it failed, 2 its settings were refused.
    """
    link = ParentLink(fd)
    spec = json.loads(spec_path.read_text(encoding="utf-8"))
    with JournalWriter(Path(spec["journal"])) as journal:
        session = Session(spec=spec, journal=journal, link=link, spawned_at=spawned_at)
        try:
            WORKFLOWS[spec["workflow"]](session)
            session.count_warnings()
        except RefusedError as error:
            journal.append(Refused(t=time.monotonic(), message=str(error)))
            return REFUSED
        except BaseException as error:
            _report(error, journal, link)
            with contextlib.suppress(Exception):  # the engine may be what failed
                session.count_warnings()
            return FAILED
        # The work is over and its journal says so; closing an engine may end the process.
        session.close()
    return DONE


def _report(error: BaseException, journal: JournalWriter, link: ParentLink) -> None:
    """Tell why the work failed, through the journal or, where that cannot be written, through the pipe."""
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0][:1000]
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    try:
        journal.append(Failed(t=time.monotonic(), error=text, where=where))
    except OSError:
        link.last_words(text)
    traceback.print_exception(error)
