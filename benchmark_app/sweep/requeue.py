"""Going on after an interruption: handing a job back to be queued again, and continuing from the last checkpoint."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Iterable
from pathlib import Path

from benchmark_app.checkpoint_card import CardError, iterations_done
from benchmark_app.journal.events import Scalar
from benchmark_app.launch.run_directory import CHECKPOINTS
from benchmark_app.launch.signals import WARNINGS
from benchmark_app.settings import Settings

from .state import COMPLETED, state_of_run


def hand_back() -> None:
    """Give the job to the launcher to be queued again, by the handler it set for the scheduler's warning.

    Returns only where the launcher has none. submitit asks SLURM for another start of the same job.

    Raises:
        SystemExit: How submitit ends the job.
        Exception: It was not queued again: too often already, or SLURM would not.
    """
    for number in WARNINGS:
        handler = signal.getsignal(number)
        if callable(handler):
            handler(int(number), None)


def continued(settings: Settings, earlier: Iterable[Path]) -> tuple[Settings, dict[str, Scalar]]:
    """The settings of a run that goes on where earlier attempts of the same case ended.

    Args:
        settings: Those of the case.
        earlier: The attempts' folders.

    Returns:
        The settings, with the checkpoint to continue from where there is one, and what the bundle's `extra` says.
    """
    folders = list(earlier)
    ended = [state_of_run(folder).status for folder in folders]
    facts: dict[str, Scalar] = {
        "attempt": len(folders) + 1,
        "interruptions": sum(status not in (COMPLETED, "refused") for status in ended),
    }
    if settings.run.requeue and (checkpoint := _newest(settings, folders)) is not None:
        settings = dataclasses.replace(settings, checkpoint=str(checkpoint))
    return settings, facts


def _newest(settings: Settings, folders: Iterable[Path]) -> Path | None:
    """The checkpoint with the most iterations behind it that still leaves some to be measured."""
    if "training" not in settings.workflow.steps:
        return None
    most = settings.agent.iterations - settings.training.least_warmup
    found: dict[int, Path] = {}
    for folder in folders:
        # The card is written once the checkpoint is complete.
        for card in sorted(folder.joinpath(CHECKPOINTS).glob("*.json")):
            checkpoint = card.with_suffix("")
            try:
                done = iterations_done(checkpoint)
            except CardError:
                continue
            if 0 < done < most and checkpoint.is_file():
                found[done] = checkpoint
    return found[max(found)] if found else None
