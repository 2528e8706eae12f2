"""The verb `matrix`: the jobs of a suite for a CI service or a cluster, valid combinations only."""

from __future__ import annotations

import argparse
import json
import shlex
import sys

from benchmark_app.compose import plan_of
from benchmark_app.explain import HYDRA_ERRORS, explain
from benchmark_app.refusal import refuse
from benchmark_app.sweep.plan import Member
from benchmark_app.sweep.record import Record

ARRAY = """\
#!/bin/bash
#SBATCH --job-name=benchmark_app
#SBATCH --array=0-{last}
#SBATCH --cpus-per-task=1
# Submit it with `sbatch`, and add --partition, --gres, --time and the like. Each task of the array is one run.
commands=(
{commands}
)
eval "${{commands[$SLURM_ARRAY_TASK_ID]}}"
"""


def matrix(arguments: list[str]) -> int:
    """Print the jobs of a suite, or of any sweep; see `--help`.

    Returns:
        Exit status: 0, or 2 where it cannot be composed or has no valid combination.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_app matrix",
        description="Print one job per valid combination of a suite. What a task, an engine or a library declares "
        "unsupported is left out; what is merely not installed here is kept, because the jobs run elsewhere.",
        epilog="Example: matrix suite=nightly seed=1 --format github",
    )
    parser.add_argument("settings", nargs="*", metavar="SETTING=VALUE", help="suite=NAME, and what narrows it")
    parser.add_argument("--format", choices=("github", "slurm", "json"), default="json", help="default: json")
    parser.add_argument("--config-dir", metavar="FOLDER", help="suites and presets of your own")
    args = parser.parse_intermixed_args(arguments)
    options = ["--config-dir", args.config_dir] if args.config_dir else []
    try:
        plan, record = plan_of(["-m", *options, *args.settings])
    except HYDRA_ERRORS as error:
        return refuse(explain(error, args.settings))
    for member in plan.members:
        if member.status == "refused":
            return refuse(member.reason)
    jobs = [member for member in plan.members if member.case is not None]
    if not jobs:
        reasons = dict.fromkeys(member.reason for member in plan.members)
        return refuse(f"no combination is valid: {'; '.join(reasons)}")
    print(FORMATS[args.format](jobs, record), end="")
    left_out: dict[str, list[str]] = {}
    for member in plan.members:
        if member.case is None:
            left_out.setdefault(member.reason, []).append(" ".join(member.overrides))
    for reason, (first, *others) in left_out.items():
        print(f"left out: {first}{f' and {len(others)} more' if others else ''}: {reason}", file=sys.stderr)
    return 0


def _command(member: Member, record: Record) -> str:
    """A sweep of this one case: so its result has the same folder, presets and status as with all the others."""
    suite = [f"suite={record.suite}"] if record.suite else []
    return shlex.join(["python", "-m", "benchmark_app", "-m", *record.options, *suite, *member.overrides])


def _plain(jobs: list[Member], record: Record) -> list[dict[str, object]]:
    return [
        {"case": job.case.name, "overrides": job.overrides, "command": _command(job, record)}
        for job in jobs
        if job.case is not None
    ]


def _github(jobs: list[Member], record: Record) -> str:
    """One line for `strategy.matrix: ${{ fromJSON(…) }}`."""
    include = [{"case": job["case"], "command": job["command"]} for job in _plain(jobs, record)]
    return json.dumps({"include": include}, separators=(",", ":")) + "\n"


def _slurm(jobs: list[Member], record: Record) -> str:
    commands = "\n".join(f"  {shlex.quote(_command(job, record))}" for job in jobs)
    return ARRAY.format(last=len(jobs) - 1, commands=commands)


def _json(jobs: list[Member], record: Record) -> str:
    return json.dumps(_plain(jobs, record), indent=2) + "\n"


FORMATS = {"github": _github, "slurm": _slurm, "json": _json}
