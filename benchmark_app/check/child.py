"""The checks of one place, in a process of its own, because engines keep global state.

A job is plain data: the task, the place and what to do there. Everything found goes line by line, as JSON, to the
parent, so that what was found before an engine brings the process down is not lost.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .claims import Claims, find_task, read_claims
from .findings import Finding, judge
from .job import FILES, Job

CONTRACT_STEPS = 60
"""Enough for most robots to fall by themselves, and short of most episodes' end."""
CHANCE_EPISODES, CHANCE_ROWS, CHANCE_SEED = 100, 20, 1000


def main(job: Job, send: Callable[[dict[str, Any]], None]) -> None:
    """Do a job.

    Args:
        job: What to do.
        send: Takes each thing found: `{"finding": …}`, `{"facts": …}`, `{"golden": …}` or `{"chance": …}`.
    """
    claims = read_claims(find_task(job.task, None if job.config_dir is None else Path(job.config_dir)))

    def tell(finding: Finding) -> None:
        send({"finding": asdict(finding)})

    if job.place == FILES:
        _check_files(claims, tell)
    elif job.what == "check":
        _check_engine(claims, job, tell, send)
    else:
        _measure(claims, job, send)


def _check_files(claims: Claims, tell: Callable[[Finding], None]) -> None:
    from .composed import COMPOSED
    from .paper import PAPER
    from .reference import RECORDED
    from .robot import ROBOT

    for check in PAPER:
        tell(judge(FILES, check, claims))
    files = _robot_files(claims)
    for robot_check in ROBOT:
        tell(judge(FILES, robot_check, files))
    for check in (*COMPOSED, *RECORDED):
        tell(judge(FILES, check, claims))


def _robot_files(claims: Claims) -> Any:
    from importlib import import_module

    from .robot import Robot, RobotFiles

    scene = import_module(claims.cfg.module).load_env().scene(claims.cfg, 1)

    def read(reader: str, path: str, package: str) -> Robot | str:
        try:
            robot: Robot = getattr(import_module(f".{reader}", __package__), reader)(Path(path))
        except ImportError as error:
            return f"needs {package} here ({error})"
        return robot

    usd = None if scene.usd is None else read("read_usd", scene.usd, "usd-core")
    return RobotFiles(declaration=claims.declaration, mjcf=read("read_mjcf", scene.mjcf, "mujoco"), usd=usd)


def _check_engine(
    claims: Claims, job: Job, tell: Callable[[Finding], None], send: Callable[[dict[str, Any]], None]
) -> None:
    from .built import BUILT
    from .contract import RULES
    from .golden import the_golden_file_is_reproduced
    from .played import PLAYED
    from .walk import shortened, take_walk

    live = _live(claims, job)
    walk = take_walk(live)
    send({"facts": asdict(walk.facts)})
    for check in PLAYED:
        tell(judge(job.place, check, walk))
    for live_check in BUILT:
        tell(judge(job.place, live_check, live))
    tell(judge(job.place, the_golden_file_is_reproduced, live, claims.entry.golden, _versions(job.place)))
    short = shortened(claims.cfg, CONTRACT_STEPS)
    for rule in RULES:
        tell(judge(job.place, rule, lambda num_envs: live.build(short, num_envs)))


def _measure(claims: Claims, job: Job, send: Callable[[dict[str, Any]], None]) -> None:
    from .chance import random_episodes
    from .golden import record

    live = _live(claims, job)
    if job.what == "golden":
        send({"golden": asdict(record(live, _versions(job.place)))})
    else:
        send({"chance": random_episodes(live, CHANCE_EPISODES, CHANCE_ROWS, CHANCE_SEED)})


def _live(claims: Claims, job: Job) -> Any:
    from benchmark_app.envs.make import make_env

    from .walk import Live

    return Live(
        cfg=claims.cfg,
        declaration=claims.declaration,
        engine=job.place,
        build=lambda cfg, num_envs: make_env(cfg, job.place, num_envs, job.device),
    )


def _versions(engine: str) -> dict[str, str]:
    """Versions of the engine's packages."""
    from benchmark_app.physics import availability
    from benchmark_app.profiling.host.interpreter import this_interpreter

    found = this_interpreter(availability.distributions(engine)).versions
    return {name: version for name, version in found.items() if version is not None}


def run(job_text: str, fd: int) -> int:
    """Be the child process: a job as JSON, and the file descriptor to write to."""
    with open(fd, "w", encoding="utf-8") as pipe:

        def send(found: dict[str, Any]) -> None:
            pipe.write(json.dumps(found) + "\n")
            pipe.flush()

        main(Job(**json.loads(job_text)), send)
        sys.stdout.flush()
    return 0
