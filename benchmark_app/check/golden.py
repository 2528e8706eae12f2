"""The golden file: what a task's first steps give, so that a change of what a policy sees or earns never goes unseen.

Actions are fixed; episodes are short, so that every row is reset on the way. An engine's numbers are held to a
tolerance that the recording measures: how far they move where the actions move by a rounding error.
"""

from __future__ import annotations

import math
import random
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import SkipTest

import torch

from .findings import require
from .golden_file import Record, compare, read
from .walk import Live, shortened

ROWS, EPISODE, STEPS, SEED = 2, 12, 30, 7
"""Two episodes in each row, and some steps of a third, where the task allows episodes so short."""
BLOCKS = 4
"""Of an image the file holds the means of so many blocks down and across, per channel."""
NUDGE = 1e-5
"""Change of the actions by which the sensitivity is measured; some rounding errors of float32."""
LEAST, FACTOR, MOST = 1e-4, 30.0, 0.05
"""The tolerance is FACTOR times the measured sensitivity, at least LEAST and at most MOST."""


def record(live: Live, versions: dict[str, str]) -> Record:
    """Play the fixed actions."""
    cfg = shortened(live.cfg, EPISODE)
    steps = max(STEPS, 2 * cfg.max_episode_steps + 6)
    with closing(live.build(cfg, ROWS)) as env:
        actions = _actions(env.num_actions, steps).to(env.device)
        found = _play(env, actions)
        nudged = _play(env, actions + NUDGE * torch.sign(actions))
    shown = sorted({0, 1, 2, cfg.max_episode_steps, cfg.max_episode_steps + 1, steps})
    observations = {
        name: [[_rounded(row) for row in found["obs"][at][name].tolist()] for at in shown] for name in found["obs"][0]
    }
    return Record(
        steps=steps,
        episode_steps=cfg.max_episode_steps,
        shown=shown,
        observations=observations,
        rewards=[_rounded(reward.tolist()) for reward in found["reward"]],
        terminated=_places(found["terminated"]),
        truncated=_places(found["truncated"]),
        tolerance=_rounded([min(MOST, max(LEAST, FACTOR * _sensitivity(found, nudged)))])[0],
        versions=versions,
    )


def the_golden_file_is_reproduced(live: Live, path: Path, versions: dict[str, str]) -> str:
    """The first steps of fixed actions give what the golden file says: keys, shapes, observations, rewards, ends."""
    how = "--write-golden --reason TEXT --effect TEXT"
    require(path.is_file(), f"{path.name} is not there; write it: {how}")
    golden = read(path)
    if live.engine not in golden["engines"]:
        raise AssertionError(f"{path.name} has nothing of {live.engine}; add it: {how}")
    wanted = Record(**golden["engines"][live.engine])
    found = record(live, versions)
    if difference := compare(found, wanted):
        others = {name: old for name, old in wanted.versions.items() if versions.get(name, old) != old}
        made = f" (recorded with {', '.join(f'{name} {old}' for name, old in others.items())})" if others else ""
        raise AssertionError(f"{difference}{made}; if that is meant, write it anew and say what scores become: {how}")
    return f"{wanted.steps} steps, within {wanted.tolerance:g}"


def _play(env: Any, actions: torch.Tensor) -> dict[str, list[Any]]:
    env.seed(SEED)
    env.reset()
    first = _seen(env.state.obs)
    found: dict[str, list[Any]] = {"obs": [first], "reward": [], "terminated": [], "truncated": []}
    for action in actions:
        state = env.step(action)
        found["obs"].append(_seen(state.obs))
        for name in ("reward", "terminated", "truncated"):
            found[name].append(getattr(state, name).cpu())
    if not any(bool(ended.any()) for ended in (*found["terminated"], *found["truncated"])):
        raise SkipTest("no row was reset")
    return found


def _seen(obs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Observation groups as rows of numbers; images by the means of their blocks."""
    return {name: (group if group.ndim == 2 else _blocks(group)).cpu() for name, group in obs.items()}


def _blocks(images: torch.Tensor) -> torch.Tensor:
    channels_first = images.permute(0, 3, 1, 2).float()
    return torch.nn.functional.adaptive_avg_pool2d(channels_first, BLOCKS).flatten(1)


def _actions(num_actions: int, steps: int) -> torch.Tensor:
    """Always the same, on any version of anything: Python promises the numbers of `random`."""
    draw = random.Random(SEED).random
    return torch.tensor([[[2 * draw() - 1 for _ in range(num_actions)] for _ in range(ROWS)] for _ in range(steps)])


def _sensitivity(one: dict[str, list[Any]], other: dict[str, list[Any]]) -> float:
    """Largest difference of two runs, as `allowed` measures it."""
    pairs = [(a[name], b[name]) for a, b in zip(one["obs"], other["obs"], strict=True) for name in a]
    pairs += zip(one["reward"], other["reward"], strict=True)
    return max(float(((a - b).abs() / a.abs().clamp(min=1.0)).max()) for a, b in pairs)


def _places(flags: list[torch.Tensor]) -> list[list[int]]:
    return [[step + 1, row] for step, rows in enumerate(flags) for row in rows.nonzero().flatten().tolist()]


def _rounded(values: list[float]) -> list[float]:
    """Seven digits: what float32 holds."""
    return [float(f"{value:.7g}") if math.isfinite(value) else value for value in values]
