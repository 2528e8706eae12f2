"""The verb `check`: verify every claim a task makes. Imports no engine and no torch."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.catalogue.entries import TaskError
from benchmark_app.catalogue.reference import ReferenceFileError
from benchmark_app.physics.catalogue import ENGINES, made_for_others
from benchmark_app.refusal import refuse

from .agreement import engines_agree_on_the_robot
from .claims import Claims, find_task, read_claims
from .engines import PythonError, interpreters, python_of, why_not
from .findings import FAILED, OK, UNCHECKED, Finding, judge
from .job import FILES, Job
from .parent import results_of
from .table import finding_lines, head, summary

_EPILOG = """\
examples:
  check cartpole                                             every engine it declares that can run here
  check cartpole --python ovphysx=.venv-ovphysx/bin/python   ovphysx lives in an environment of its own
  check cartpole --write-golden --reason "…" --effect "…"    record the first steps anew
  check cartpole --write-reference outputs/2026-11-30/*      record finished runs as the reference result
  check my_package.my_task                                   a module of your own; docs/add_a_task.md

exit status: 0 nothing failed, 1 a check failed, 2 nothing was checked because of what was typed.
"""


@dataclass
class Report:
    """What was found of one task.

    Attributes:
        claims: The task.
        quiet: Nothing is printed as it is found.
        findings: In the order in which they came.
        facts: What engines told of the robot, by engine.
    """

    claims: Claims
    quiet: bool
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Note a finding, and show it under its place."""
        if not self.quiet:
            if not self.findings or self.findings[-1].place != finding.place:
                print(finding.place)
            print("\n".join(finding_lines(finding)), flush=True)
        self.findings.append(finding)


def check(arguments: list[str]) -> int:
    """Check tasks; see `--help`.

    Returns:
        Exit status: 0 nothing failed, 1 something did, 2 refused.
    """
    try:
        args = _parser().parse_args(arguments)
        _check_usage(args)
        pythons = interpreters(args.python)
        config_dir = None if args.config_dir is None else Path(args.config_dir)
        claims = [read_claims(find_task(name, config_dir)) for name in args.tasks]
        _check_engines(args, claims, pythons)
        if args.write_reference:
            return _write_reference(args, claims[0], pythons)
        if args.write_golden:
            return _write_golden(args, claims, pythons)
    except (UsageError, PythonError, TaskError, ReferenceFileError) as error:
        return refuse(f"check: {str(error).removeprefix('check: ')}")
    reports = [_report(args, one, pythons) for one in claims]
    findings = [finding for report in reports for finding in report.findings]
    if args.json:
        print(json.dumps([_plain(report) for report in reports], indent=2))
    return int(any(finding.verdict == FAILED for finding in findings))


def _parser() -> Parser:
    parser = Parser(
        prog="python -m benchmark_app check",
        description="Verify every claim a task makes: its declaration, files, robot, and what it does on each engine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="a task's name, or the module of a task of yours")
    parser.add_argument("--engine", nargs="+", metavar="NAME", default=[], help="only these; default: all it declares")
    parser.add_argument("--python", action="append", metavar="[ENGINE=]PATH", default=[], help="interpreter to run in")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    parser.add_argument("--config-dir", metavar="FOLDER", help="a folder of yours with task/NAME.yaml")
    parser.add_argument("--reference", action="store_true", help="run the reference results' commands again (minutes)")
    parser.add_argument("--write-golden", action="store_true", help="record the first steps; needs --reason, --effect")
    parser.add_argument("--reason", metavar="TEXT", help="with --write-golden: why the numbers change")
    parser.add_argument("--effect", metavar="TEXT", help="with --write-golden: what becomes of scores")
    parser.add_argument("--write-reference", nargs="+", metavar="RUN_DIR", help="record finished runs as the reference")
    parser.add_argument("--json", action="store_true", help="print JSON when all is done")
    return parser


def _check_usage(args: argparse.Namespace) -> None:
    if args.config_dir is not None and not Path(args.config_dir).is_dir():
        raise UsageError(f"--config-dir {args.config_dir}: no such folder")
    if args.write_golden and args.write_reference:
        raise UsageError("--write-golden and --write-reference: give one of them")
    for option in ("reason", "effect"):
        text = getattr(args, option)
        if args.write_golden and not (text or "").strip():
            example = {"reason": "the robot is 1 kg lighter", "effect": "returns rise by some 5 %"}[option]
            raise UsageError(f'--write-golden: needs --{option} TEXT, such as --{option} "{example}"')
        if text is not None and not args.write_golden:
            raise UsageError(f"--{option} {text}: belongs to --write-golden")
    if args.write_reference and len(args.tasks) > 1:
        raise UsageError(f"--write-reference: takes one task, {len(args.tasks)} are given")
    if args.write_reference and args.reference:
        raise UsageError("--reference and --write-reference: give one of them")


def _check_engines(args: argparse.Namespace, tasks: list[Claims], pythons: dict[str, str]) -> None:
    """An engine that was asked for by name must be declared, and must run."""
    for engine in args.engine:
        for claims in tasks:
            if engine not in ENGINES or made_for_others(engine, claims.entry.name, claims.declaration.engines):
                declared = ", ".join(claims.declaration.engines)
                raise UsageError(f"--engine {engine}: {claims.entry.name} is declared for {declared}")
        if reason := why_not(engine, args.device, python_of(engine, pythons)):
            raise UsageError(f"--engine {engine}: {reason}")


def _report(args: argparse.Namespace, claims: Claims, pythons: dict[str, str]) -> Report:
    report = Report(claims, quiet=args.json)
    if not args.json:
        print(head(claims))
    _run(_job(args, claims, FILES, "check"), sys.executable, report)
    for engine in args.engine or claims.declaration.engines:
        python = python_of(engine, pythons)
        if reason := why_not(engine, args.device, python):
            report.add(_absent(engine, reason))
        else:
            _run(_job(args, claims, engine, "check"), python, report)
    report.add(judge("all engines", engines_agree_on_the_robot, report.facts))
    if args.reference:
        from .again import run_again

        for finding in run_again(claims, args.engine, pythons, args.config_dir):
            report.add(finding)
    if not args.json:
        print(summary(report.findings))
    return report


def _run(job: Job, python: str, report: Report) -> None:
    for found in results_of(job, python):
        if "facts" in found:
            report.facts[job.place] = found["facts"]
        if "finding" in found:
            report.add(Finding(**found["finding"]))


def _job(args: argparse.Namespace, claims: Claims, place: str, what: str) -> Job:
    # The name decides which file is read, the module which code: a module of the user's is found by itself only.
    task = claims.entry.module if claims.entry.origin == "a module" else claims.entry.name
    folder = None if args.config_dir is None else str(Path(args.config_dir).absolute())
    return Job(task=task, config_dir=folder, place=place, device=args.device, what=what)


def _absent(engine: str, reason: str) -> Finding:
    claim = "The engine is declared and can be run here."
    return Finding(place=engine, check="it can run here", claim=claim, verdict=UNCHECKED, text=reason)


def _measured(job: Job, python: str) -> Any:
    """What a job measures.

    Raises:
        UsageError: It failed.
    """
    for found in results_of(job, python):
        if "finding" in found:
            raise UsageError(f"{job.task} on {job.place}: {found['finding']['text']}")
        return found[job.what]
    raise UsageError(f"{job.task} on {job.place}: the process told nothing")


def _write_golden(args: argparse.Namespace, tasks: list[Claims], pythons: dict[str, str]) -> int:
    from .golden_file import Record, write

    for claims in tasks:
        records, absent = {}, []
        for engine in args.engine or claims.declaration.engines:
            python = python_of(engine, pythons)
            if reason := why_not(engine, args.device, python):
                absent.append(f"  not recorded: {engine} {reason}")
            else:
                records[engine] = Record(**_measured(_job(args, claims, engine, "golden"), python))
        if not records:
            raise UsageError(f"{claims.entry.name}: no engine it declares can run here;{absent[0]}")
        path = claims.entry.golden
        changed = write(path, claims.entry.name, records, args.reason, args.effect)
        same = [engine for engine in records if engine not in changed]
        print("\n".join([f"{path}: wrote {', '.join(changed) or 'nothing'}", *absent]))
        if same:
            print(f"  as before: {', '.join(same)}")
    return 0


def _write_reference(args: argparse.Namespace, claims: Claims, pythons: dict[str, str]) -> int:
    from .runs import RunError, find_runs, write_reference

    def chance(physics: str, device: str) -> dict[str, Any]:
        args.device = device
        measured: dict[str, Any] = _measured(_job(args, claims, physics, "chance"), python_of(physics, pythons))
        return measured

    try:
        runs = find_runs([Path(folder) for folder in args.write_reference], claims.entry.name)
        told = write_reference(claims, runs, chance)
    except RunError as error:
        raise UsageError(f"--write-reference: {error}") from error
    print("\n".join([f"{claims.entry.reference}:", *(f"  {line}" for line in told)]))
    return 0


def _plain(report: Report) -> dict[str, Any]:
    counts = Counter(finding.verdict for finding in report.findings)
    return {
        "task": report.claims.entry.name,
        "gym_id": report.claims.cfg.gym_id,
        **{verdict.replace(" ", "_"): counts[verdict] for verdict in (OK, FAILED, UNCHECKED)},
        "findings": [asdict(finding) for finding in report.findings],
    }
