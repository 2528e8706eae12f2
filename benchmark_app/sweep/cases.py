"""The cases of a sweep: a folder per configuration, named by it, with one run directory per attempt.

<sweep>/cartpole-skrl-newton_mjwarp-seed1-3fa9c2d41b/case.json
                                                     attempt-1/    a run directory
                                                     attempt-2/    the newest counts

Of a configuration that is repeated, every repeat is a case of its own: `…-3fa9c2d41b-repeat1`, `-repeat2`, …
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark_app.bundle.write import write_json_file
from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.settings import Settings

FILE = "case.json"
ATTEMPT = re.compile(r"attempt-([1-9]\d*)")
# Where and how a run is supervised; two runs that differ in nothing else do the same.
NOT_PART = ("run", "sweep", "presets", "repeats")
HASH_DIGITS = 10
LONGEST_PREFIX = 80


@dataclass(frozen=True, kw_only=True)
class Case:
    """One configuration of a sweep.

    Attributes:
        name: Name of its folder.
        settings: What its runs are given.
        record: How it was composed.
        repeat: Which repeat of its configuration it is, from 1; 0 where that is made once.
    """

    name: str
    settings: Settings
    record: HydraRecord
    repeat: int = 0

    @classmethod
    def of(cls, settings: Settings, record: HydraRecord) -> Case:
        """Name the case of checked settings, and make the settings mean the same from any folder."""
        name = name_of(settings)
        program = settings.worker.program
        worker = dataclasses.replace(settings.worker, program=program and os.path.abspath(program))
        # One report is written for the whole sweep.
        run = dataclasses.replace(settings.run, root=os.path.abspath(settings.run.root), report=False)
        return cls(name=name, settings=dataclasses.replace(settings, worker=worker, run=run), record=record)

    def again(self, number: int) -> Case:
        """This case as one of several repeats."""
        kept = [text for text in self.record.overrides if text.lstrip("+").partition("=")[0] != "repeats"]
        # Repeating what this one did is to make it once.
        record = dataclasses.replace(self.record, overrides=[*kept, "repeats=1"])
        return dataclasses.replace(self, name=f"{self.name}-repeat{number}", record=record, repeat=number)

    def write(self, sweep: Path) -> None:
        """Make the case's folder in a sweep, and write down there what its runs are given.

        Raises:
            OSError: It cannot be written.
        """
        folder = sweep / self.name
        folder.mkdir(exist_ok=True)
        content = {
            "settings": self.settings.to_plain(),
            "record": dataclasses.asdict(self.record),
            "repeat": self.repeat,
        }
        write_json_file(content, folder / FILE)

    @classmethod
    def read(cls, folder: Path) -> Case:
        """Read a case back from its folder.

        Raises:
            OSError: It cannot be read.
        """
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        settings, record = Settings.from_plain(content["settings"]), HydraRecord(**content["record"])
        return cls(name=folder.name, settings=settings, record=record, repeat=content["repeat"])


def name_of(settings: Settings) -> str:
    """Name of a case: what a person looks for first, then a hash of everything that decides what is run."""
    s = settings
    readable = f"{s.task.name}-{s.framework.name}-{s.physics.name}-seed{s.seed}"
    readable = re.sub(r"[^\w.-]+", "_", readable, flags=re.ASCII)[:LONGEST_PREFIX].lstrip(".-")
    return f"{readable}-{_hash(settings)}"


def _hash(settings: Settings) -> str:
    plain: dict[str, Any] = {key: value for key, value in settings.to_plain().items() if key not in NOT_PART}
    plain["worker"] = {key: value for key, value in plain["worker"].items() if key != "debug"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def attempts(folder: Path) -> dict[int, Path]:
    """The attempts in a case's folder, by number, in their order. Whatever else lies there is none of ours."""
    return {number: path for number, path in _numbered(folder) if path.is_dir()}


def next_attempt(folder: Path) -> int:
    """Number of the next attempt of a case: above everything that bears one."""
    return max((number for number, _ in _numbered(folder)), default=0) + 1


def attempt(folder: Path, number: int) -> Path:
    """Path of an attempt of a case."""
    return folder / f"attempt-{number}"


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted((int(match[1]), folder / name) for name in names if (match := ATTEMPT.fullmatch(name)))
