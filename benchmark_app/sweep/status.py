"""The verb `status`: a sweep in progress or past, read from its folder, here or on any machine that sees it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmark_app.launch.heartbeat import is_live
from benchmark_app.launch.run_directory import LOCK as RUN_LOCK
from benchmark_app.launch.run_directory import MANIFEST
from benchmark_app.refusal import refuse
from benchmark_app.settings import SettingError

from .record import FILE, LOCK, Entry, Record
from .state import PLANNED, RUNNING, State, state_of_case, state_of_run
from .table import counts, table


def status(arguments: list[str]) -> int:
    """Show where every run of a sweep stands; see `--help`.

    Returns:
        Exit status: 0, or 2 where there is no sweep and no run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app status",
        description="Show a sweep in progress or past: what is planned, running (with its last sign of life and its "
        "rate), completed, failed or lost. Reads the folder only, so any machine that sees it will do.",
    )
    parser.add_argument("folder", metavar="DIR", help="the folder of a sweep, or of one run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(arguments)
    folder = Path(args.folder)
    if not args.folder or not folder.is_dir():
        return refuse(f"status {args.folder!r}: no such folder")
    try:
        record, states = _look(folder)
    except SettingError as error:
        return refuse(str(error))
    live = is_live(folder, LOCK)
    if args.json:
        print(json.dumps(_plain(record, states, live=live), indent=2))
        return 0
    print("\n".join(table(record)))
    for case, state in states.items():
        if state.status == RUNNING:
            print(f"  {case}: {_sign_of_life(state)}")
    running = "running" if live else record.status if record.status != RUNNING else "its process is gone"
    print(f"{counts(record)} · sweep {running}" if (folder / FILE).is_file() else counts(record))
    return 0


def _look(folder: Path) -> tuple[Record, dict[str, State]]:
    """The record of a sweep, brought up to date in memory, with the states of its cases.

    Raises:
        SettingError: There is neither a sweep nor a run.
    """
    if not (folder / FILE).is_file():
        if not ((folder / MANIFEST).is_file() or (folder / RUN_LOCK).is_file()):
            raise SettingError(f"{folder}: holds no sweep ({FILE}) and no run ({MANIFEST})")
        entry = Entry(case=folder.resolve().name, overrides=[])
        state = state_of_run(folder)
        entry.take(state, folder)
        return Record(options=[], overrides=[], launcher="", cases=[entry]), {entry.case: state}
    record = Record.read(folder)
    states = {entry.case: state_of_case(folder / entry.case) for entry in record.current if entry.case}
    for entry in record.current:
        found = states.get(entry.case)
        # What was refused before it began left nothing in its folder; the record knows.
        if found is not None and (found.run is not None or entry.status in (PLANNED, RUNNING)):
            entry.take(found, folder)
    return record, states


def _sign_of_life(state: State) -> str:
    where = (
        "" if state.beat is None else f", process {state.beat.pid} on {state.beat.host}, {state.beat.age_s:.0f} s ago"
    )
    return f"{state.progress}{where}"


def _plain(record: Record, states: dict[str, State], *, live: bool) -> dict[str, Any]:
    """What `--json` prints: sweep.json as it would be now, and of what is running the sign of life and the rate."""
    cases = []
    for entry in record.current:
        state = states.get(entry.case, State(status=entry.status))
        beat = None if state.beat is None else dataclasses.asdict(state.beat)
        progress = None if state.progress is None else dataclasses.asdict(state.progress)
        cases.append({**vars(entry), "heartbeat": beat, "progress": progress})
    total = dict(Counter(entry.status for entry in record.current))
    return {"command": record.command, **vars(record), "live": live, "counts": total, "cases": cases}
