"""The runs of the self-test: fresh processes that do the same, as a user's repeats would."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_app.analysis.loading import Results, load
from benchmark_app.bundle.conditions import read_warnings
from benchmark_app.compose import run_of
from benchmark_app.launch.application import run
from benchmark_app.launch.run_directory import HydraRecord
from benchmark_app.settings import SettingError, Settings
from benchmark_app.sweep.state import state_of_run

LOOPS = ("runtime", "training", "play")
FEWEST, MOST = 6, 12
HOOK_ITERATIONS = 10
Tell = Callable[[str], None]


class StoppedError(Exception):
    """A run did not complete, so that there is nothing to judge; carries the exit status and what to say."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Plan:
    """What is run.

    Attributes:
        settings: Of the runs that are repeated.
        record: How they were composed.
        hooks: The same of a short training that tells what the hooks cost; None where the repeated runs train.
        folder: Where everything goes.
    """

    settings: Settings
    record: HydraRecord
    hooks: tuple[Settings, HydraRecord] | None
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        root = Path(self.settings.run.root).absolute()
        stamp = time.strftime("%Y-%m-%d/%H-%M-%S")
        self.folder = root / f"{stamp}-selftest-{secrets.token_hex(4)}"

    @property
    def workflow(self) -> str:
        """The one that is repeated."""
        return self.settings.workflow.steps[0]


def plan(typed: list[str]) -> Plan:
    """Compose what is run: the default task, or what the settings say.

    Raises:
        HYDRA_ERRORS: It cannot work.
    """
    chosen = [text for text in typed if text.startswith("workflow=")]
    others = [text for text in typed if not text.startswith("workflow=")]
    settings, record = run_of([*(chosen or ["workflow=runtime"]), *others])
    if len(settings.workflow.steps) > 1 or settings.workflow.steps[0] not in LOOPS:
        raise SettingError(f"workflow={settings.workflow.name}: has no steps to time; set one of {', '.join(LOOPS)}")
    if settings.repeats > 1:
        raise SettingError(f"repeats={settings.repeats}: the self-test repeats by itself; say how often with --runs")
    if settings.workflow.steps[0] == "training":
        return Plan(settings, record, None)
    kept = [text for text in others if not text.startswith(("agent.iterations=", "checkpoint="))]
    short = ["workflow=training", f"agent.iterations={HOOK_ITERATIONS}"]
    return Plan(settings, record, run_of([*short, *kept]))


def one(settings: Settings, record: HydraRecord, path: Path) -> None:
    """Make one run; what it prints goes into the log.

    Raises:
        SettingError: Its folder cannot be written.
        StoppedError: It was stopped, refused or crashed.
    """
    log = path.parent / "selftest.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = log.open("a")
    except OSError as error:
        raise SettingError(
            f"run.root={settings.run.root}: cannot be written ({error.strerror}); name another"
        ) from error
    with opened as stream, contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        status = run(settings, path, record)
    if status:
        state = state_of_run(path)
        raise StoppedError(status, f"a run ended {state.status} ({state.reason}); see {log} and {path}")


def repeat(what: Plan, tell: Tell, *, budget_s: float, runs: int | None) -> int:
    """Repeat the run, as often as the time allows.

    Args:
        what: The plan.
        tell: Shows a person where it is.
        budget_s: Time for all of them [s]; at least `FEWEST` are made whatever it takes.
        runs: How many instead; None leaves it to the time.

    Returns:
        How many were made.

    Raises:
        StoppedError: One did not complete.
    """
    begun = time.monotonic()
    made, longest = 0, 0.0
    while made < (runs or MOST):
        if runs is None and made >= FEWEST and time.monotonic() - begun + longest > budget_s:
            break
        started = time.monotonic()
        tell(f"run {made + 1}" + (f" of {runs}" if runs else f", at most {MOST}"))
        one(what.settings, what.record, what.folder / f"repeat-{made + 1}")
        made += 1
        longest = max(longest, time.monotonic() - started)
    return made


def results(what: Plan, made: int) -> Results:
    """The bundles of the repeated runs."""
    return load([what.folder / f"repeat-{number}" / f"{what.workflow}.json" for number in range(1, made + 1)])


def hook_share(path: Path) -> tuple[float, float]:
    """What the hooks cost in a training: the part of an iteration, 0 to 1, and seconds for each step of it."""
    bundle: dict[str, Any] = json.loads((path / "training.json").read_text(encoding="utf-8"))
    share = float(bundle["extra"]["hook_time_fraction"])
    iteration = float(bundle["runtime"]["iteration_time_s"]["mean"])
    steps = bundle["runtime"]["steps_per_iteration"] / bundle["run"]["num_envs"]
    return share, share * iteration / steps


def warnings_in(what: Plan, made: int) -> list[list[str]]:
    """What each run says of the conditions it was made under."""
    return [read_warnings(what.folder / f"repeat-{number}", what.workflow) for number in range(1, made + 1)]
