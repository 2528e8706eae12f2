"""The verb `parity`: play a task wherever environments can run, and print where they differ."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmark_app.analysis.verbs.usage import Parser, UsageError
from benchmark_app.catalogue.entries import TaskError
from benchmark_app.check.claims import find_task
from benchmark_app.check.walk import shortened
from benchmark_app.envs.cfg import EnvCfg
from benchmark_app.execution.cfg import EXECUTIONS, LOCAL, PROCESS, ExecutionCfg, is_gymnasium
from benchmark_app.execution.make import make_execution_env
from benchmark_app.physics import find_engine
from benchmark_app.refusal import refuse

from .compare import Played, Verdict, compare, play

EPISODE_STEPS = 60
MOST_ROWS = 4096
_EPILOG = """\
examples:
  parity cartpole                                        in this process, in two processes, and served
  parity cartpole --physics ovphysx --python PATH        the same, with the others in another interpreter
  parity ant --executions local process --workers 3

Observations must be the same to 1e-6; rewards, flags, steps and episodes exactly.
exit status: 0 all did the same, 1 something differs or failed, 2 refused.
"""


@dataclass(frozen=True)
class Where:
    """One place to run in.

    Attributes:
        name: Its name in the table.
        execution: Its settings.
    """

    name: str
    execution: ExecutionCfg


def parity(arguments: list[str]) -> int:
    """Compare executions; see `--help`.

    Returns:
        Exit status: 0 all did the same, 1 something differs or failed, 2 refused.
    """
    try:
        args = _parser().parse_args(arguments)
        places = _places(args)
        entry = find_task(args.task, None if args.config_dir is None else Path(args.config_dir))
        cfg = shortened(entry.cfg(), EPISODE_STEPS)
        if not is_gymnasium(cfg.module):
            find_engine(args.physics)
    except (UsageError, TaskError, ValueError) as error:
        return refuse(f"parity: {str(error).removeprefix('parity: ')}")
    simulated = "Gymnasium" if is_gymnasium(cfg.module) else args.physics
    print(f"{cfg.name} ({cfg.gym_id}) on {simulated}, {args.num_envs} rows, episodes of {cfg.max_episode_steps} steps")
    print(_LINE.format("execution", "verdict", "steps", "episodes", "largest difference of an observation", "seconds"))
    base: Played | None = None
    alike = True
    for place in places:
        begin = time.monotonic()
        try:
            played = _played(cfg, place, args)
        except Exception as error:  # whatever an engine or a task makes of it
            if base is None:
                return refuse(f"parity: {place.name}: {error}")
            print(_LINE.format(place.name, "FAILED", "", "", "", ""))
            print(f"      {type(error).__name__}: {error}", flush=True)
            alike = False
            continue
        verdict = compare(base or played, played)
        _tell(place.name, verdict, time.monotonic() - begin, first=base is None)
        alike = alike and not verdict.difference
        base = base or played
    assert base is not None, "there are two places at least"
    if not base.exact:
        print(f"{simulated} does not promise the same numbers in other company: only the first states are compared.")
    return int(not alike)


_LINE = "  {:<12} {:<9} {:>6} {:>9}   {:<37} {:>7}"


def _tell(name: str, verdict: Verdict, seconds: float, *, first: bool) -> None:
    """Print the line of a place, and what differs under it."""
    word = "played" if first else "DIFFERS" if verdict.difference else "bitwise" if verdict.bitwise else "close"
    largest = "" if first else f"{verdict.largest:.1e} (allowed {verdict.allowed:.0e})"
    print(_LINE.format(name, word, verdict.steps, verdict.episodes, largest, f"{seconds:.1f}"))
    if verdict.difference:
        print(f"      {verdict.difference}")
    sys.stdout.flush()


def _played(cfg: EnvCfg, place: Where, args: argparse.Namespace) -> Played:
    if not is_gymnasium(cfg.module):
        import warp as wp

        wp.config.log_level = wp.LOG_WARNING  # no banner in the table
    env = make_execution_env(cfg, args.physics, args.num_envs, args.device, execution=place.execution)
    with closing(env):
        return play(env)


def _places(args: argparse.Namespace) -> list[Where]:
    if not 1 <= args.num_envs <= MOST_ROWS:
        raise UsageError(f"--num-envs {args.num_envs}: must be from 1 to {MOST_ROWS}")
    if not 1 <= args.workers <= args.num_envs:
        raise UsageError(f"--workers {args.workers}: must be from 1 to --num-envs {args.num_envs}")
    if args.python is not None and shutil.which(args.python) is None:
        raise UsageError(f"--python {args.python}: no such program; give the path of a Python interpreter")
    if args.config_dir is not None and not Path(args.config_dir).is_dir():
        raise UsageError(f"--config-dir {args.config_dir}: no such folder")
    found = []
    for name in dict.fromkeys(args.executions):
        if name not in EXECUTIONS:
            raise UsageError(f"--executions {name}: must be some of {', '.join(EXECUTIONS)}")
        execution = ExecutionCfg(
            name=name,
            num_workers=args.workers if name == PROCESS else None,
            python=args.python if name != LOCAL else None,
        )
        found.append(Where(execution.label, execution))
    if len(found) < 2:
        raise UsageError(f"--executions {' '.join(args.executions)}: takes two or more to compare")
    return found


def _parser() -> Parser:
    parser = Parser(
        prog="python -m benchmark_app parity",
        description="Play the same seeds and actions wherever environments can run, and say where they differ.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("task", metavar="TASK", help="a task's name, or the module of a task of yours")
    parser.add_argument("--physics", default="newton_mjwarp", metavar="ENGINE", help="default: newton_mjwarp")
    parser.add_argument("--executions", nargs="+", default=list(EXECUTIONS), metavar="NAME", help="default: all three")
    parser.add_argument("--num-envs", type=int, default=4, metavar="N", help="rows (default 4)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="processes of process (default 2)")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    parser.add_argument("--python", metavar="PATH", help="interpreter for process and served")
    parser.add_argument("--config-dir", metavar="FOLDER", help="a folder of yours with task/NAME.yaml")
    return parser
