"""Taking recorded steps again: what `python -m benchmark_app replay` does once a dump was found in order."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import warp as wp

from benchmark_app.physics.base import name_rows

from .cfg import EnvCfg
from .dump import DumpError
from .make import make_env
from .nan_guard import AFTER_RESET, ENGINE, NanGuard, versions
from .torch_env import TorchEnv

__all__ = ["Again", "reenact", "versions"]

RECORDED = ("joint_pos", "joint_vel", "actions", "episode", "steps")
OF_FLOATING_ROBOTS = ("root_pose", "root_vel")
NO_EPISODE = torch.iinfo(torch.int64).min


@dataclass(frozen=True)
class Again:
    """What came of taking a failing step again.

    Attributes:
        reproduced: The same tensor was bad in the same rows.
        sentence: The same for a person, with the rows' numbers of the recorded run.
    """

    reproduced: bool
    sentence: str


class Witness(NanGuard):
    """A guard that writes nothing, and remembers what it was told.

    Attributes:
        suspects: Bad rows of each tensor that has some; None while all is well.
    """

    suspects: dict[str, list[int]] | None = None

    def _write(self, env: TorchEnv, reason: str, suspects: dict[str, list[int]], rows: list[int]) -> None:
        self.suspects = suspects


def reenact(cfg: EnvCfg, facts: dict[str, Any], history: Path) -> Again:
    """Rebuild the task on the CPU with the recorded rows alone, and take their recorded steps again.

    Every step starts from the robot's state recorded for it, so that nothing drifts away from the run; steps before the
    failing one are taken for the sake of what the task itself carries from step to step.

    Args:
        cfg: Task settings.
        facts: Content of `dump.json`, checked.
        history: `history.npz`.

    Raises:
        DumpError: The arrays are damaged or not the task's, or the task cannot be built; the message says which.
    """
    recorded = _load(history)
    wp.config.log_level = wp.LOG_WARNING  # no banner above the answer
    physics = facts["physics"]
    try:
        env = make_env(cfg, physics["name"], len(facts["rows"]), "cpu", physics["settings"])
    except Exception as error:  # a task is a user's code and may fail in any way
        raise DumpError(f"the task cannot be built: {type(error).__name__}: {error}") from error
    try:
        _check(recorded, env)
        if AFTER_RESET in facts["suspects"]:  # found out by the step after it, which is beside the point
            recorded = {name: array[:-1] for name, array in recorded.items()}
        witness = Witness(Path())
        env.set_nan_guard(witness)
        env.set_autoreset(False)
        env._seed.fill_(facts["seed"])
        last, failure = _act(env, recorded, torch.tensor(facts["episode"]))
    finally:
        env.close()
    return _compare(facts, witness, last, failure)


def _load(path: Path) -> dict[str, torch.Tensor]:
    """The history, oldest step first: `[K, R, …]` of each array."""
    try:
        with zipfile.ZipFile(path) as archive:
            # Stored, not compressed: then nothing unpacked is larger than the file.
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise ValueError("it is compressed, which no dump is")
        with np.load(path, allow_pickle=False) as arrays:
            names = [*RECORDED, *(name for name in OF_FLOATING_ROBOTS if name in arrays)]
            return {name: torch.from_numpy(arrays[name]) for name in names}
    except Exception as error:  # whatever a damaged file makes of its readers
        raise DumpError(f"{path.name} cannot be read ({type(error).__name__}: {error})") from error


def _check(recorded: dict[str, torch.Tensor], env: TorchEnv) -> None:
    widths = {name: tensor.shape[1:] for name, tensor in env.backend.robot_state.items()}
    widths["actions"] = env._actions.shape[1:]
    if odd := set(recorded) ^ {*RECORDED, *widths}:
        floats = "floats" if env.backend.root_pose is not None else "does not float"
        raise DumpError(f"{', '.join(sorted(odd))}: the robot of the task {floats}, that of the dump is another")
    for name, found in recorded.items():
        expected = (*recorded["steps"].shape[:1], env.num_envs, *widths.get(name, ()))
        kind = torch.float32 if name in widths else torch.int64
        if found.dtype is not kind or found.shape != expected:
            raise DumpError(f"{name}: expected {kind} {list(expected)}, got {found.dtype} {list(found.shape)}")


def _act(env: TorchEnv, recorded: dict[str, torch.Tensor], last_episode: torch.Tensor) -> tuple[bool, Exception | None]:
    """Take the recorded steps; return whether the last of them was reached, and the error that ended them."""
    steps = len(recorded["steps"])
    everyone = torch.ones(env.num_envs, dtype=torch.bool)
    playing = torch.full((env.num_envs,), NO_EPISODE)
    reached = steps == 0
    try:
        for step in range(steps):
            reached = step == steps - 1
            episode = recorded["episode"][step]
            _begin(env, episode, episode != playing)
            env.backend.reset_rows(everyone, *(recorded[name][step] for name in env.backend.robot_state))
            env.observe(env._work)
            env._steps.copy_(recorded["steps"][step])
            state = env.step(recorded["actions"][step])
            # A row that ended begins anew, even if the run saw it go on: it is put where the run was in any case.
            playing = torch.where(state.terminated | state.truncated, NO_EPISODE, episode)
        if not steps or not torch.equal(last_episode, recorded["episode"][-1]):  # it failed in a reset of its own
            _begin(env, last_episode, everyone if not steps else last_episode != recorded["episode"][-1])
    except Exception as error:  # the environment's verdict, or a user's code failing in any way
        return reached, error
    return reached, None


def _begin(env: TorchEnv, episode: torch.Tensor, rows: torch.Tensor) -> None:
    """Start the recorded episodes in some rows: number and seed decide what is random in them."""
    if rows.any():
        env._episode.copy_(torch.where(rows, episode - env.num_envs, env._episode))  # a reset adds N
        env.reset(rows.nonzero().flatten() if env.state is not None else None)


def _compare(facts: dict[str, Any], witness: Witness, last: bool, failure: Exception | None) -> Again:
    rows, suspects = facts["rows"], facts["suspects"]
    found = {name: [rows[i] for i in bad] for name, bad in (witness.suspects or {}).items()}
    cause = next(iter(suspects), None)
    if failure is not None and witness.suspects is None:
        return Again(False, f"the task fails in another way here: {type(failure).__name__}: {failure}")
    if failure is not None and not last:
        return Again(False, f"a step before the recorded one fails here: {failure}")
    if cause is None:
        return Again(failure is not None, f"the engine {'is sound' if failure is None else 'loses correctness'} here")
    expected = [row for row in suspects[cause] if row in rows]
    if cause == AFTER_RESET:
        bad_now = {row for name, bad in found.items() if name.startswith("observation") for row in bad}
        expected = [row for row in expected if row in bad_now] or expected
        found[cause] = [row for row in expected if row in bad_now]
    bad, good = ("unsound", "sound") if cause == ENGINE else ("not finite", "finite")
    where = name_rows(expected)
    if sorted(found.get(cause, [])) != sorted(expected):
        others = "; ".join(f"{name}: not, in {name_rows(rows)}" for name, rows in found.items() if name != cause)
        return Again(False, f"{cause}: {good} here in {where}" + (f"; {others}" if others else ""))
    hint = "; the step was given them: look at the policy" if cause == "actions" else ""
    return Again(True, f"{cause} {bad} in {where}, as recorded{hint}")
