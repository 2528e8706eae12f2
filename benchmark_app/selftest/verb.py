"""From the command line to what a person reads."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmark_app.analysis.files import has_format
from benchmark_app.analysis.metrics import METRICS
from benchmark_app.analysis.pairing import STARTED, Row
from benchmark_app.analysis.power import CAUTION, Need, Noise, needed
from benchmark_app.analysis.verdict import Question, judge
from benchmark_app.bundle.write import write_json_file, write_text_file
from benchmark_app.explain import HYDRA_ERRORS, explain
from benchmark_app.launch.run_directory import point_latest
from benchmark_app.refusal import refuse

from . import costs, runs

FORMAT, VERSION = "benchmark_app selftest", 1
EFFECTS = (0.05, 0.1)
HEADLINE = "environment_step_time_s"
PLANNED = (HEADLINE, "total_fps", "startup_time_s")
BUDGET_S = 70.0


def selftest(arguments: list[str]) -> int:
    """Measure what this machine's numbers are worth; see `--help`.

    Returns:
        Exit status: 0, 1 if a run failed or the file could not be written, 2 refused, 128 + signal if stopped.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app selftest",
        description="What this machine's numbers are worth: the clock, what measuring costs, how far runs of the same "
        "code lie apart, and how many repeats a difference of 5 % and 10 % needs. It takes up to two minutes (more "
        "where kernels must be compiled first); leave the machine alone meanwhile.",
        epilog="Example: selftest task=ant num_envs=256 --json selftest.json",
    )
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="of the runs; default: workflow=runtime")
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs to make; default: what {BUDGET_S:.0f} s allow")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file, for programs")
    args = parser.parse_intermixed_args(arguments)
    if args.runs is not None and args.runs < 4:
        return refuse(f"selftest: --runs {args.runs}: a spread needs at least 4")
    if args.json is not None and (problem := _unusable(Path(args.json))):
        return refuse(f"selftest: --json {args.json}: {problem}")
    try:
        what = runs.plan(args.settings)
        found = _measure(what, args.runs)
    except HYDRA_ERRORS as error:
        return refuse(explain(error, args.settings))
    except runs.StoppedError as error:
        print(f"benchmark_app: selftest: {error}", file=sys.stderr)
        return error.status
    if args.json is not None:
        try:
            write_json_file(found, args.json)
        except OSError as error:
            print(f"benchmark_app: lost: {args.json} could not be written: {error.strerror}", file=sys.stderr)
            return 1
    return 0


def _unusable(target: Path) -> str:
    """Why a file cannot be written, "" if it can: known before minutes of measuring."""
    if not target.absolute().parent.is_dir():
        return "no such folder"
    if target.exists() and not has_format(target, FORMAT):
        return "exists and is no self-test; remove it, or give another name"
    return ""


def _measure(what: runs.Plan, count: int | None) -> dict[str, Any]:
    """Measure everything, printing each part as it is known.

    Raises:
        StoppedError: A run did not complete.
    """
    begun = time.monotonic()
    clock = costs.measure_clock()
    _say(
        "clock",
        f"{clock.implementation}: step {1e9 * clock.step_s:.0f} ns, a reading takes {1e9 * clock.read_s:.0f} ns",
    )
    back = "none went back" if not clock.backwards else f"{clock.backwards} went back: times are wrong"
    _say("", f"of {clock.readings:,} readings on {clock.cores} cores {back}")
    watching = costs.measure_watching(what.settings.profiling.sample_period_s)
    every = f"every {watching.period_s:g} s"
    _say("sampler", f"{1e3 * watching.look_s:.2f} ms of CPU {every}: {_percent(watching.core_share)} of one core")
    of_hooks = what.folder / "repeat-1"
    if what.hooks is not None:
        _tell("a short training, for the cost of the hooks")
        of_hooks = what.folder / "hooks"
        runs.one(*what.hooks, of_hooks)
    made = runs.repeat(what, _tell, budget_s=BUDGET_S, runs=count)
    point_latest(Path(what.settings.run.root), what.folder)
    share, step_s = runs.hook_share(of_hooks)
    _say("hooks", f"{1e6 * step_s:.1f} us a step: {_percent(share)} of an iteration of training")
    rows = sorted(runs.results(what, made).runs.to_dicts(), key=lambda row: row[STARTED])
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "folder": str(what.folder),
        "workflow": what.workflow,
        "runs": made,
        "clock": dataclasses.asdict(clock),
        "sampler": {**dataclasses.asdict(watching), "core_share": watching.core_share},
        "hooks": {"iteration_share": share, "step_s": step_s},
        "warnings": runs.warnings_in(what, made),
        **_repeatability(what, rows),
        "duration_s": 0.0,
    }
    found["duration_s"] = time.monotonic() - begun
    if warned := [warnings for warnings in found["warnings"] if warnings]:
        _say("warning", f"{len(warned)} of {made} runs were made under bad conditions; the first:")
        for warning in warned[0]:
            _say("", warning)
    _say("results", f"{_short(what.folder)}/ ({found['duration_s']:.0f} s)")
    return found


def _repeatability(what: runs.Plan, rows: list[Row]) -> dict[str, Any]:
    judged = [
        metric
        for name, metric in METRICS.items()
        if metric.direction is not None and all(row[name] is not None for row in rows)
    ]
    _say("A/A", f"{len(rows)} runs of {what.workflow}, each in a fresh process:")
    different = _split(rows, [metric.name for metric in judged])
    # A step is an iteration where nothing learns.
    planned = PLANNED if what.workflow == "training" else (HEADLINE, "startup_time_s")
    names = [name for name in planned if any(metric.name == name for metric in judged)]
    noises = {name: Noise.of([row[name] for row in rows]) for name in names if min(row[name] for row in rows) > 0}
    needs = {}
    for name, noise in noises.items():
        _tell(f"repeats that {name} needs")
        needs[name] = [needed(noise, effect, metrics=len(judged)) for effect in EFFECTS]
    _say("", f"{'':<26}{'between runs':>12}{'planned with':>14}{'for 5 %':>10}{'for 10 %':>10}")
    for name, noise in noises.items():
        cells = "".join(f"{_runs(need):>10}" for need in needs[name])
        _say("", f"{name:<26}{_percent(noise.deviation):>12}{_percent(noise.planned):>14}{cells}")
    odd = "no metric" if not different else ", ".join(different)
    _say("", f"runs 1, 3, 5, … against 2, 4, 6, …: {odd} called different")
    _advise(what, needs)
    return {
        "metrics_judged": len(judged),
        "called_different": different,
        "noise": {
            name: {"values": [row[name] for row in rows], "deviation": noise.deviation, "planned": noise.planned}
            for name, noise in noises.items()
        },
        "needed": {name: [dataclasses.asdict(need) for need in each] for name, each in needs.items()},
    }


def _split(rows: list[Row], names: list[str]) -> list[str]:
    """Metrics that `compare` would call different between every other run and the rest: the same code, in turn."""
    even = rows[: len(rows) // 2 * 2]
    questions = [
        Question(
            [row[name] for row in even[::2]],
            [row[name] for row in even[1::2]],
            METRICS[name].direction or "lower",
            METRICS[name].scale,
            METRICS[name].min_effect,
            "in turn",
        )
        for name in names
    ]
    answers = zip(names, judge(questions), strict=True)
    return [name for name, answer in answers if answer.verdict in ("improved", "regressed")]


def _advise(what: runs.Plan, needs: dict[str, list[Need]]) -> None:
    """Say what to type, and leave the thresholds that go with it."""
    axis = "physics" if what.workflow == "runtime" else "framework"
    for need in needs.get(HEADLINE, []):
        percent = f"{100 * need.effect:g}"
        if need.runs is None:
            _say(f"{percent} %", "more repeats than are worth it: quieten this machine, or make the runs longer")
            continue
        file = what.folder / f"thresholds-{percent}.toml"
        write_text_file(f'[min_effect]\n"*" = {need.min_effect}\n', file)
        typed = f"-m workflow={what.workflow} {axis}=A,B repeats={need.runs}"
        _say(f"{percent} %", f"{need.runs} repeats of each side, in turn, such as {typed}, then")
        _say("", f"compare --by {axis} --thresholds {_short(file)} SWEEP")
    beyond = f"{100 * (1 - CAUTION):.0f} % of cases"
    _say("", f"planned with a spread that the true one exceeds in {beyond}, and for all metrics judged together")


def _runs(need: Need) -> str:
    return "-" if need.runs is None else str(need.runs)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _say(head: str, text: str) -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(f"{head:<9} {text}".rstrip(), flush=True)


def _tell(text: str) -> None:
    """Where it is, for a person at a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _short(path: Path) -> str:
    """A path as a person would type it from here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
