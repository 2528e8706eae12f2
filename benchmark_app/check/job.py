"""What a checking process is told to do. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass

FILES = "files"
"""The place of what needs no engine."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a process is to do.

    Attributes:
        task: Name or module of the task.
        config_dir: A folder of the user's, with the Hydra group `task`; None: none.
        place: `files`, or an engine.
        device: Torch device.
        what: `check`; `golden`, to record; `chance`, to measure random actions.
    """

    task: str
    config_dir: str | None
    place: str
    device: str
    what: str
